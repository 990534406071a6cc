"""What is known of programs that can be told by their words to run, load or write something else."""

from agent_exec.policy.programs.option_table import Guard, verbed, whole

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agent_exec.policy.programs.effects import Looker

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
_PYTEST = Guard(
    hard="--override-ini --config-file --rootdir --confcutdir --tx --pythonwarnings --doctest-glob --pdbcls "
    "--plugins --rsyncdir --import-mode --cov-config --pyargs",
    soft="--basetemp --junitxml --junit-xml --log-file --debug --report-log --pastebin --cov-report",
    letters="pcoW",
    valued="kmrnd",
    starts="@",
    harmless=r"--cov(?:=[\w./-]*)?|--pdb|--co|--cov-report[ =]term(?:-missing)?(?::skip-covered)?"
    r"|--import-mode[ =](?:importlib|append|prepend)|-p ?no:[\w.-]+"
    r"|(?:-W|--pythonwarnings)[ =]?(?:ignore|default|error|once|always)(?:::\w*)?",
)
_MYPY = Guard(
    hard="--python-executable --config-file --custom-typeshed-dir --custom-typing-module --shadow-file "
    "--install-types --find-plugins",
    soft="--junit-xml --cache-dir --any-exprs-report --html-report --txt-report --xml-report",
    starts="@",
)
_TOX = Guard(
    hard="--override --conf --root --runner --discover --plugin --noxfile --extra-python --force-python "
    "--default-venv-backend --force-venv-backend --pythons --python",
    soft="--workdir --result-json --envdir",
    letters="xcfP",
    valued="enskt",
    verbs="exec e devenv --",
    starts="@",
)
_JEST = Guard(
    hard="--config --globalSetup --globalTeardown --setupFiles --setupFilesAfterEnv --testEnvironment --env "
    "--runner --testRunner --transform --preset --reporters --reporter --resolver --snapshotSerializers "
    "--watchPlugins --prettierPath --rootDir --root --roots --modulePaths --filter --projects --haste "
    "--testResultsProcessor --testSequencer --moduleNameMapper --dependencyExtractor --globals --browser "
    "--environment --pool --require --package --opts --ui --loader --import --file --node-option --dir "
    "--experimental-loader --workspace",
    letters="cruRn",
    valued="tgfow",
    harmless=r"--(?:watch|run|dir|test)(?:=\w*)?"
    r"|(?:--reporters?|-R)[ =](?:dot|spec|verbose|json|tap|list|min|default|line)",
)
_ESLINT = Guard(
    hard="--config --rulesdir --plugin --parser --parser-options --format --formatter --init "
    "--resolve-plugins-relative-to --plugin-search-dir --config-lookup --custom-syntax --config-basedir",
    soft="--output-file --cache-location --cache-file",
    letters="cf",
    soft_letters="o",
    harmless=r"(?:-f|--format)[ =](?:json|stylish|compact|unix|html|junit|verbose|string)",
)
_GRADLE = Guard(
    hard="--init-script --build-file --settings-file --include-build --project-dir --gradle-user-home "
    "--project-cache-dir --system-prop",
    letters="IbcgpD",
    valued="xtP",
)
_MAVEN = Guard(
    hard="--file --settings --global-settings --toolchains --builder --define --install-settings",
    letters="fstDgb",
    valued="lPTpr",
    marks=":",
    harmless=r"-D(?:skipTests|skipITs|maven\.test\.skip|test|it\.test|style\.color|failIfNoTests)(?:=[\w.*#,-]*)?"
    r"|-T ?[0-9.]+C?|-pl [\w.:,/-]+|-fae|-fn|-ff|-B|-ntp",
)
_BAZEL = Guard(
    runs="--run_under --workspace_status_command",
    hard="--bazelrc --output_user_root --output_base --install_base --override_repository --override_module "
    "--action_env --test_env --repo_env --host_action_env --define --python_path --shell_executable "
    "--crosstool_top --extra_toolchains --extra_execution_platforms --package_path --server_javabase "
    "--host_jvm_args --strategy --spawn_strategy --remote_executor --remote_cache --registry "
    "--inject_repository --aspects --script_path --java_runtime_version --compiler --copt --linkopt "
    "--workspace_rc --system_rc --home_rc --test_arg --credential_helper",
    verbs="run mobile-install",
)
_GH = Guard(
    hard="--editor --recover --web --shell",
    verbs="alias extension extensions ext config codespace cs copilot --",
    soft_verbs="api browse secret variable auth ssh-key gpg-key",
    letters="w",
    valued="RLqtbBaAlmFHs",
)
_TERRAFORM = Guard(
    hard="-chdir -plugin-dir -from-module -backend-config -get-plugins -lockfile",
    soft="-out -state -var-file",
    verbs="console",
    soft_verbs="init apply destroy import state login workspace taint force-unlock",
)
_SERVER = whole("loads the code that its words name")

LOOKERS: "dict[str, Looker]" = {
    **dict.fromkeys(
        """
    vi vim vim.tiny vim.basic vim.nox vim.gtk3 nvim view rview rvim vimdiff gvim rgvim nvi elvis emacs
    emacsclient nano pico micro kak hx helix jed joe mg ne mcedit editor sensible-editor select-editor
    vipw vigr visudo sudoedit crontab-e mc ranger nnn vifm tig lazygit gitk w3m lynx links elinks
    sqlite3 sqlite psql mysql mariadb mongo mongosh redis-cli ftp lftp sftp mail mailx mutt neomutt
    rename prename perl-rename file-rename exim sendmail nmap ed red
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
    "uv": verbed(
        "run x",
        hard="--with --with-editable --with-requirements --config-file --python --directory --project "
        "--env-file --index --default-index --index-url --extra-index-url --find-links --script "
        "--build-constraint --config-setting --keyring-provider",
        starts="-p -w",
    ),
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
    "ctest": Guard(
        hard="--build-and-test --script --dashboard --script-new-process --overwrite --test-command "
        "--build-makeprogram --extra-submit --test-action --test-model --http1.0",
        soft="--test-dir --output-log --output-junit",
        letters="SDTM",
        soft_letters="O",
        valued="jRELICA",
    ),
    **dict.fromkeys(["pytest", "py.test", "ptw", "pytest-watch"], _PYTEST),
    **dict.fromkeys(["mypy", "dmypy"], _MYPY),
    **dict.fromkeys(["tox", "nox"], _TOX),
    **dict.fromkeys("jest mocha vitest ava tap c8 nyc karma cypress playwright".split(), _JEST),
    **dict.fromkeys("eslint eslint_d stylelint webpack vite rollup esbuild babel".split(), _ESLINT),
    "prettier": Guard(hard="--config --plugin --plugin-search-dir --parser", fine="--parser=typescript"),
    **dict.fromkeys(["gradle", "gradlew"], _GRADLE),
    **dict.fromkeys(["mvn", "mvnw", "mvnd"], _MAVEN),
    **dict.fromkeys(["bazel", "bazelisk"], _BAZEL),
    "gh": _GH,
    **dict.fromkeys(["terraform", "tofu", "terragrunt"], _TERRAFORM),
    "pre-commit": Guard(hard="--config --repo", letters="c", verbs="try-repo", soft_verbs="install"),
    **dict.fromkeys(["flake8", "sphinx-build"], Guard(hard="--config --append-config", letters="cDC")),
    **dict.fromkeys(["rspec", "phpunit"], Guard(hard="--require --options --bootstrap", letters="rcIO")),
    "dotnet": Guard(hard="--logger", verbs="exec run tool watch script msbuild vstest fsi"),
    **dict.fromkeys("gunicorn uvicorn hypercorn celery flask waitress-serve".split(), _SERVER),
    # Modules of Python that run the code in their words, or the file that these name.
    **dict.fromkeys("timeit cprofile profile trace runpy code zipapp".split(), _SERVER),
    **dict.fromkeys(["nose", "nosetests", "nose2"], Guard(hard="--plugin --config", letters="cp")),
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
