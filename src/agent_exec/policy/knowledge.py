"""What is known of programs that can be told by their words to run, load or write something else."""

from agent_exec.policy.guards import Guard, verbed, whole

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agent_exec.policy.sight import Looker

_PAGER = Guard(
    hard="--lesskey-file --lesskey-src --lesskey-content",
    soft="--log-file --LOG-FILE",
    letters="k",
    soft_letters="oO",
    valued="bhjpPtTxyzD",
    marks="+ !",
)
_COMPILER = Guard(
    runs="-wrapper",
    hard="-specs --config -run -no-integrated-cpp --ld-path -ccc-gcc-name",
    starts="-B @ -fuse-ld -Xclang -ccbin",
    marks="plugin -load",
)
_SORT = Guard(
    runs="--compress-program", soft="--output --temporary-directory", soft_letters="oT", valued="tkS"
)
_TROFF = Guard(hard="--unsafe", letters="U", valued="TPLmMrdowWfFnIKDN")
_FD = Guard(hard="--exec --exec-batch", letters="xX", valued="eEdtScojC")
_APT = Guard(hard="--option --config-file", letters="oc", valued="tS")
_NPM = Guard(
    runs="--script-shell --editor --browser --viewer --shell --git --call",
    hard="--node-options --init-module --userconfig --globalconfig --node-gyp --python",
    soft="--prefix",
    letters="c",
    soft_letters="C",
    verbs="exec x explore edit env",
    soft_verbs="config c set pkg set-script init create innit dlx node link rebuild",
    fine="--global --save --save-dev --silent --ignore-scripts --yes --json --no-audit",
)
_YARN = Guard(
    runs="--script-shell --shell-emulator --call",
    hard="--use-yarnrc --node-options --config",
    soft="--dir --cwd",
    soft_letters="C",
    verbs="exec dlx x node",
    soft_verbs="config set create init link",
)
_CONTAINER = Guard(
    soft="--config --host", soft_verbs="run exec build compose buildx plugin context create cp"
)
_VERSIONS = verbed("exec x run shell which-run")
_DIFF3 = Guard(runs="--diff-program", soft="--output", soft_letters="o")
_CAPTURE = Guard(letters="z", soft_letters="w", valued="iscCBrFWGEMyjmTVZ")
_TEX = Guard(hard="-shell-escape -enable-write18 -shell-restricted -output-directory", marks="\\")
_CPIO = Guard(
    runs="--rsh-command --rmt-command", soft="--file", soft_letters="FIO", valued="CEHMR", marks=":"
)
_RUST = Guard(hard="--codegen --sysroot --runtool", starts="-C -Z @", marks="linker= runner=")

LOOKERS: "dict[str, Looker]" = {
    **dict.fromkeys(
        """
    vi vim vim.tiny vim.basic vim.nox vim.gtk3 nvim view rview rvim vimdiff gvim rgvim nvi elvis emacs
    emacsclient nano pico micro kak hx helix jed joe mg ne mcedit editor sensible-editor select-editor
    vipw vigr visudo sudoedit crontab-e mc ranger nnn vifm tig lazygit gitk w3m lynx links elinks
    sqlite3 sqlite psql mysql mariadb mongo mongosh redis-cli ftp lftp sftp mail mailx mutt neomutt
    rename prename perl-rename file-rename exim sendmail nmap
    """.split(),
        whole("can run commands"),
    ),
    **dict.fromkeys("less pager zless bzless xzless zstdless sensible-pager most pg".split(), _PAGER),
    "more": Guard(marks="+ !"),
    "man": Guard(
        runs="--pager --html",
        hard="--troff --gxditview --config-file --preprocessor --prompt",
        letters="PHCr",
        valued="MLmSseERTp",
    ),
    **dict.fromkeys("gcc cc g++ c++ c89 c99 cpp clang clang++ gfortran tcc nvcc icc".split(), _COMPILER),
    **dict.fromkeys(
        "ld ld.bfd ld.gold ld.lld ar nm strip ranlib objdump".split(), Guard(starts="-plugin --plugin @")
    ),
    **dict.fromkeys(["sort", "gsort"], _SORT),
    **dict.fromkeys(["split", "gsplit"], Guard(runs="--filter")),
    **dict.fromkeys(["install", "ginstall"], Guard(runs="--strip-program", fine="--strip")),
    **dict.fromkeys(["diff3", "sdiff"], _DIFF3),
    **dict.fromkeys("groff troff nroff pic groffer gtroff gpic".split(), _TROFF),
    **dict.fromkeys(["fd", "fdfind"], _FD),
    "rg": Guard(runs="--pre --hostname-bin"),
    "ag": Guard(runs="--pager"),
    "ack": Guard(runs="--pager", hard="--output --ackrc"),
    "fzf": Guard(runs="--preview", hard="--bind --execute --become --listen"),
    "rsync": Guard(
        runs="--rsh", hard="--rsync-path --daemon --config", letters="e", valued="fBTM", marks=":"
    ),
    "scp": Guard(letters="SoFDJ", valued="ciPlX"),
    "ssh-copy-id": Guard(letters="oF", valued="ip"),
    "ssh-keygen": Guard(letters="Dw", valued="aBbCEFfIMmNnOPRrSstVWYz"),
    "ssh-add": Guard(letters="sSe"),
    "zip": Guard(runs="-TT --unzip-command", letters="T", valued="bntRix"),
    **dict.fromkeys(["cpio", "mt", "pax", "bsdcpio"], _CPIO),
    "wget": Guard(
        runs="--use-askpass",
        hard="--execute --config",
        soft="--output-document --post-file --body-file --output-file --directory-prefix",
        letters="e",
        soft_letters="OoaP",
        valued="OoaPiBtTwQUlADRIX",
        fine="-O- -qO-",
    ),
    "curl": Guard(
        hard="--engine --config",
        soft="--output --remote-name --remote-name-all --upload-file --dump-header --cookie-jar --trace "
        "--trace-ascii --stderr --etag-save --libcurl --output-dir",
        letters="K",
        soft_letters="oOTDcJ",
        valued="AbCcDdEeFHhmPQrtuUwxXyYzoTK",
        fine="--data --data-binary --compressed --connect-timeout",
    ),
    "openssl": Guard(
        hard="-engine -provider -provider-path -config -engine_impl", verbs="engine", soft="-out -keyout"
    ),
    "gpg": Guard(
        hard="--photo-viewer --show-photos --exec-path --agent-program --pinentry-program "
        "--dirmngr-program --options --homedir --keyserver-options",
        soft="--output",
        soft_letters="o",
    ),
    "dmesg": Guard(letters="H", hard="--human"),
    **dict.fromkeys(["tcpdump", "tshark", "dumpcap"], _CAPTURE),
    "ip": Guard(hard="-batch", verbs="exec exe ex e -b -ba -bat -batc -force"),
    **dict.fromkeys(["docker", "podman", "nerdctl"], _CONTAINER),
    "kubectl": Guard(
        runs="--exec-command", soft="--kubeconfig", soft_verbs="exec run debug cp edit plugin config"
    ),
    "helm": Guard(runs="--post-renderer", soft_verbs="plugin"),
    **dict.fromkeys(["apt", "apt-get", "apt-cache", "aptitude", "apt-config", "apt-mark"], _APT),
    "dpkg": Guard(
        runs="--pre-invoke --post-invoke --status-logger",
        soft="--root --instdir --admindir --install --unpack --configure",
        soft_letters="i",
    ),
    **dict.fromkeys(
        ["rpm", "rpmbuild", "dnf", "yum", "zypper"],
        Guard(runs="--pipe", hard="--eval --define --macros --rcfile --load --setopt --root", letters="ED"),
    ),
    **dict.fromkeys(["npm", "cnpm"], _NPM),
    **dict.fromkeys(["yarn", "pnpm", "yarnpkg"], _YARN),
    "pip": Guard(
        runs="--python --editor",
        soft="--editable --index-url --extra-index-url --config-settings --global-option --build-option",
        soft_letters="ei",
        soft_verbs="install wheel download config",
    ),
    "gem": Guard(hard="--editor --config-file", verbs="open exec", soft_verbs="install update build"),
    "bundle": verbed("exec open console"),
    "uv": verbed("run x", hard="--with --config-file"),
    **dict.fromkeys("poetry pipenv hatch pdm rye pixi".split(), verbed("run shell")),
    **dict.fromkeys("mise asdf rbenv pyenv nvm volta rustup fnm nodenv jenv corepack".split(), _VERSIONS),
    **dict.fromkeys("aws-vault doppler chamber op infisical".split(), verbed("exec run")),
    **dict.fromkeys("snap flatpak coverage memray kernprof".split(), verbed("run")),
    "libtool": Guard(starts="--mode=e --mode=fi"),
    "go": Guard(
        runs="-exec -toolexec -vettool",
        hard="-overlay -modfile -ldflags -gccgoflags -compiler -pkgdir -cgo",
        soft="-C",
        verbs="generate run tool",
        soft_verbs="env install get -w",
    ),
    "cargo": Guard(
        hard="--config --codegen",
        soft="--manifest-path",
        starts="-Clinker -Zunstable -Z",
        marks="linker= runner=",
        soft_letters="C",
        soft_verbs="run install fix xtask",
        fine="--codegen-units",
    ),
    **dict.fromkeys(["rustc", "rustdoc"], _RUST),
    "cmake": Guard(
        hard="--toolchain --open",
        verbs="--",
        starts="-P -E -C",
        soft="--install",
        marks="COMPILER LAUNCHER _PROGRAM _COMMAND TOOLCHAIN LINKER OVERRIDE CMAKE_PROJECT_ MODULE_PATH",
        fine="-DCMAKE_EXPORT_COMPILE_COMMANDS=ON -DCMAKE_EXPORT_COMPILE_COMMANDS=1",
    ),
    "ctest": Guard(hard="--build-and-test --script --dashboard --script-new-process", letters="SD"),
    **dict.fromkeys(["ninja", "samu"], Guard(soft_letters="fC", valued="jkldtw")),
    **dict.fromkeys(
        ["rake", "just", "scons", "ant", "invoke"],
        Guard(
            hard="--execute --execute-print --execute-continue --require --eval --shell "
            "--shell-arg --command --set --config",
            soft="--rakefile --justfile --working-directory --file --buildfile --site-dir --directory",
            letters="epErcR",
            soft_letters="fCdI",
        ),
    ),
    "hg": Guard(
        hard="--config --ssh --remotecmd --debugger --profile --style --tool",
        soft="--repository --cwd",
        letters="e",
        soft_letters="R",
        verbs="extdiff",
    ),
    "svn": Guard(
        runs="--diff-cmd --diff3-cmd --editor-cmd --merge-cmd", hard="--config-option --config-dir --external"
    ),
    **dict.fromkeys("tex latex pdftex pdflatex xelatex lualatex luatex xetex".split(), _TEX),
    "latexmk": whole("can run commands"),
    "pandoc": Guard(
        runs="--filter", hard="--lua-filter --pdf-engine --defaults", letters="FLd", soft="--output"
    ),
    "prove": Guard(runs="--exec", hard="--rc --plugin --source", letters="eIMP", valued="jao"),
    "dpkg-architecture": Guard(runs="--command", letters="c", valued="aAtTqi"),
    **dict.fromkeys(["opt", "llc"], Guard(starts="-load --load -fpass-plugin")),
    "pylint": Guard(hard="--init-hook --load-plugins --rcfile"),
    "certbot": Guard(marks="-hook"),
    "msmtp": Guard(hard="--passwordeval --file", letters="C"),
    "mdadm": Guard(hard="--program", letters="p"),
}
