"""The table of programs that their words can tell to run, load or write something else.

A row is names, a colon, and fields with their words; `option_table` says what
each field means. What a row does not say about an option is harmless.
"""

from agent_exec.policy.programs.option_table import parse, rows

TABLE = r"""
vi vim vim.tiny vim.basic vim.nox vim.gtk3 nvim view rview rvim vimdiff gvim rgvim nvi elvis emacs
emacsclient nano pico micro kak hx helix jed joe mg ne mcedit editor sensible-editor select-editor vipw
vigr visudo sudoedit crontab-e mc ranger nnn vifm tig lazygit gitk w3m lynx links elinks sqlite3 sqlite
psql mysql mariadb mongo mongosh redis-cli ftp lftp sftp mail mailx mutt neomutt rename prename
perl-rename file-rename exim sendmail nmap ed red latexmk gdb lldb jdb dlv jrunscript:
    whole can run commands
less pager zless bzless xzless zstdless sensible-pager most pg:
    hard --lesskey-file --lesskey-src --lesskey-content; soft --log-file --LOG-FILE; marks + !; letters k
    soft_letters oO; valued bhjpPtTxyzD
more: marks + !
man:
    runs --pager --html; hard --troff --gxditview --config-file --preprocessor --prompt; letters PHCr
    valued MLmSseERTp
gcc cc g++ c++ c89 c99 cpp clang clang++ gfortran tcc nvcc icc:
    runs -wrapper; hard -specs --config -run -no-integrated-cpp --ld-path -ccc-gcc-name
    starts -B @ -fuse-ld -Xclang -ccbin; marks plugin -load
ld ld.bfd ld.gold ld.lld ar nm strip ranlib objdump: starts -plugin --plugin @
sort gsort: runs --compress-program; soft --output --temporary-directory; soft_letters oT; valued tkS
split gsplit: runs --filter
install ginstall: runs --strip-program; fine --strip
diff3 sdiff: runs --diff-program; soft --output; soft_letters o
groff troff nroff pic groffer gtroff gpic: hard --unsafe; letters U; valued TPLmMrdowWfFnIKDN
fd fdfind: hard --exec --exec-batch; letters xX; valued eEdtScojC
rg: runs --pre --hostname-bin
ag: runs --pager
ack: runs --pager; hard --output --ackrc
fzf: runs --preview; hard --bind --execute --become --listen
rsync: runs --rsh; hard --rsync-path --daemon --config; marks :; letters e; valued fBTM
scp: letters SoFDJ; valued ciPlX
ssh-copy-id: letters oF; valued ip
ssh-keygen: letters Dw; valued aBbCEFfIMmNnOPRrSstVWYz
ssh-add: letters sSe
zip: runs -TT --unzip-command; letters T; valued bntRix
cpio mt pax bsdcpio:
    runs --rsh-command --rmt-command; soft --file; marks :; soft_letters FIO; valued CEHMR
wget:
    runs --use-askpass; hard --execute --config
    soft --output-document --post-file --body-file --output-file --directory-prefix; letters e
    soft_letters OoaP; valued OoaPiBtTwQUlADRIX; fine -O- -qO-
curl:
    hard --engine --config
    soft --output --remote-name --remote-name-all --upload-file --dump-header --cookie-jar --trace
    soft --trace-ascii --stderr --etag-save --libcurl --output-dir; letters K; soft_letters oOTDcJ
    valued AbCcDdEeFHhmPQrtuUwxXyYzoTK; fine --data --data-binary --compressed --connect-timeout
openssl: hard -engine -provider -provider-path -config -engine_impl; soft -out -keyout; verbs engine
gpg:
    hard --photo-viewer --show-photos --exec-path --agent-program --pinentry-program --dirmngr-program
    hard --options --homedir --keyserver-options; soft --output; soft_letters o
dmesg: hard --human; letters H
tcpdump tshark dumpcap: letters z; soft_letters w; valued iscCBrFWGEMyjmTVZ
ip: hard -batch; verbs exec exe ex e -b -ba -bat -batc -force
docker podman nerdctl:
    soft --config --host; soft_verbs run exec build compose buildx plugin context create cp
kubectl: runs --exec-command; soft --kubeconfig; soft_verbs exec run debug cp edit plugin config
helm: runs --post-renderer; soft_verbs plugin
apt apt-get apt-cache aptitude apt-config apt-mark: hard --option --config-file; letters oc; valued tS
dpkg:
    runs --pre-invoke --post-invoke --status-logger
    soft --root --instdir --admindir --install --unpack --configure; soft_letters i
rpm rpmbuild dnf yum zypper:
    runs --pipe; hard --eval --define --macros --rcfile --load --setopt --root; letters ED
npm cnpm:
    runs --script-shell --editor --browser --viewer --shell --git --call
    hard --node-options --init-module --userconfig --globalconfig --node-gyp --python; soft --prefix
    verbs exec x explore edit env
    soft_verbs config c set pkg set-script init create innit dlx node link rebuild; letters c
    soft_letters C; fine --global --save --save-dev --silent --ignore-scripts --yes --json --no-audit
yarn pnpm yarnpkg:
    runs --script-shell --shell-emulator --call; hard --use-yarnrc --node-options --config
    soft --dir --cwd; verbs exec dlx x node; soft_verbs config set create init link; soft_letters C
pip:
    runs --python --editor
    soft --editable --index-url --extra-index-url --config-settings --global-option --build-option
    soft_verbs install wheel download config; soft_letters ei
gem: hard --editor --config-file; verbs open exec; soft_verbs install update build
bundle: run exec open console
uv:
    run run x
    hard --with --with-editable --with-requirements --config-file --python --directory --project
    hard --env-file --index --default-index --index-url --extra-index-url --find-links --script
    hard --build-constraint --config-setting --keyring-provider; starts -p -w
poetry pipenv hatch pdm rye pixi: run run shell
mise asdf rbenv pyenv nvm volta rustup fnm nodenv jenv corepack: run exec x run shell which-run
aws-vault doppler chamber op infisical: run exec run
snap flatpak coverage memray kernprof: run run
libtool: starts --mode=e --mode=fi
go:
    runs -exec -toolexec -vettool; hard -overlay -modfile -ldflags -gccgoflags -compiler -pkgdir -cgo
    soft -C; verbs generate run tool; soft_verbs env install get -w
cargo:
    hard --config --codegen; soft --manifest-path; soft_verbs run install fix xtask
    starts -Clinker -Zunstable -Z; marks linker= runner=; soft_letters C; fine --codegen-units
rustc rustdoc: hard --codegen --sysroot --runtool; starts -C -Z @; marks linker= runner=
cmake:
    hard --toolchain --open; soft --install; verbs --; starts -P -E -C
    marks COMPILER LAUNCHER _PROGRAM _COMMAND TOOLCHAIN LINKER OVERRIDE CMAKE_PROJECT_ MODULE_PATH
    fine -DCMAKE_EXPORT_COMPILE_COMMANDS=ON -DCMAKE_EXPORT_COMPILE_COMMANDS=1
ctest:
    hard --build-and-test --script --dashboard --script-new-process --overwrite --test-command
    hard --build-makeprogram --extra-submit --test-action --test-model --http1.0
    soft --test-dir --output-log --output-junit; letters SDTM; soft_letters O; valued jRELICA
pytest py.test ptw pytest-watch:
    hard --override-ini --config-file --rootdir --confcutdir --tx --pythonwarnings --doctest-glob --pdbcls
    hard --plugins --rsyncdir --import-mode --cov-config --pyargs
    soft --basetemp --junitxml --junit-xml --log-file --debug --report-log --pastebin --cov-report
    starts @; letters pcoW; valued kmrnd
    harmless --cov(?:=[\w./-]*)?|--pdb|--co|--cov-report[ =]term(?:-missing)?(?::skip-covered)?
    harmless --import-mode[ =](?:importlib|append|prepend)|-p ?no:[\w.-]+
    harmless (?:-W|--pythonwarnings)[ =]?(?:ignore|default|error|once|always)(?:::\w*)?
mypy dmypy:
    hard --python-executable --config-file --custom-typeshed-dir --custom-typing-module --shadow-file
    hard --install-types --find-plugins
    soft --junit-xml --cache-dir --any-exprs-report --html-report --txt-report --xml-report; starts @
tox nox:
    hard --override --conf --root --runner --discover --plugin --noxfile --extra-python --force-python
    hard --default-venv-backend --force-venv-backend --pythons --python
    soft --workdir --result-json --envdir; verbs exec e devenv --; starts @; letters xcfP; valued enskt
jest mocha vitest ava tap c8 nyc karma cypress playwright:
    hard --config --globalSetup --globalTeardown --setupFiles --setupFilesAfterEnv --testEnvironment --env
    hard --runner --testRunner --transform --preset --reporters --reporter --resolver
    hard --snapshotSerializers --watchPlugins --prettierPath --rootDir --root --roots --modulePaths
    hard --filter --projects --haste --testResultsProcessor --testSequencer --moduleNameMapper
    hard --dependencyExtractor --globals --browser --environment --pool --require --package --opts --ui
    hard --loader --import --file --node-option --dir --experimental-loader --workspace; letters cruRn
    valued tgfow
    harmless --(?:watch|run|dir|test)(?:=\w*)?
    harmless (?:--reporters?|-R)[ =](?:dot|spec|verbose|json|tap|list|min|default|line)
eslint eslint_d stylelint webpack vite rollup esbuild babel:
    hard --config --rulesdir --plugin --parser --parser-options --format --formatter --init
    hard --resolve-plugins-relative-to --plugin-search-dir --config-lookup --custom-syntax
    hard --config-basedir; soft --output-file --cache-location --cache-file; letters cf; soft_letters o
    harmless (?:-f|--format)[ =](?:json|stylish|compact|unix|html|junit|verbose|string)
prettier: hard --config --plugin --plugin-search-dir --parser; fine --parser=typescript
gradle gradlew:
    hard --init-script --build-file --settings-file --include-build --project-dir --gradle-user-home
    hard --project-cache-dir --system-prop; letters IbcgpD; valued xtP
mvn mvnw mvnd:
    hard --file --settings --global-settings --toolchains --builder --define --install-settings; marks :
    letters fstDgb; valued lPTpr
    harmless -D(?:skipTests|skipITs|maven\.test\.skip|test|it\.test)(?:=[\w.*#,-]*)?
    harmless -D(?:style\.color|failIfNoTests)(?:=[\w.*#,-]*)?
    harmless -T ?[0-9.]+C?|-pl [\w.:,/-]+|-fae|-fn|-ff|-B|-ntp
bazel bazelisk:
    runs --run_under --workspace_status_command
    hard --bazelrc --output_user_root --output_base --install_base --override_repository --override_module
    hard --action_env --test_env --repo_env --host_action_env --define --python_path --shell_executable
    hard --crosstool_top --extra_toolchains --extra_execution_platforms --package_path --server_javabase
    hard --host_jvm_args --strategy --spawn_strategy --remote_executor --remote_cache --registry
    hard --inject_repository --aspects --script_path --java_runtime_version --compiler --copt --linkopt
    hard --workspace_rc --system_rc --home_rc --test_arg --credential_helper; verbs run mobile-install
gh:
    hard --editor --recover --web --shell
    verbs alias extension extensions ext config codespace cs copilot --
    soft_verbs api browse secret variable auth ssh-key gpg-key; letters w; valued RLqtbBaAlmFHs
terraform tofu terragrunt:
    hard -chdir -plugin-dir -from-module -backend-config -get-plugins -lockfile
    soft -out -state -var-file; verbs console
    soft_verbs init apply destroy import state login workspace taint force-unlock
pre-commit: hard --config --repo; verbs try-repo; soft_verbs install; letters c
flake8 sphinx-build: hard --config --append-config; letters cDC
rspec phpunit: hard --require --options --bootstrap; letters rcIO
dotnet: hard --logger; verbs exec run tool watch script msbuild vstest fsi
gunicorn uvicorn hypercorn celery flask waitress-serve timeit cprofile profile trace runpy code zipapp:
    whole loads the code that its words name
nose nosetests nose2: hard --plugin --config; letters cp
ninja samu: soft_letters fC; valued jkldtw
rake just scons ant invoke:
    hard --execute --execute-print --execute-continue --require --eval --shell --shell-arg --command --set
    hard --config
    soft --rakefile --justfile --working-directory --file --buildfile --site-dir --directory
    letters epErcR; soft_letters fCdI
hg:
    hard --config --ssh --remotecmd --debugger --profile --style --tool; soft --repository --cwd
    verbs extdiff; letters e; soft_letters R
svn: runs --diff-cmd --diff3-cmd --editor-cmd --merge-cmd; hard --config-option --config-dir --external
tex latex pdftex pdflatex xelatex lualatex luatex xetex:
    hard -shell-escape -enable-write18 -shell-restricted -output-directory; marks \
pandoc: runs --filter; hard --lua-filter --pdf-engine --defaults; soft --output; letters FLd
prove: runs --exec; hard --rc --plugin --source; letters eIMP; valued jao
dpkg-architecture: runs --command; letters c; valued aAtTqi
opt llc: starts -load --load -fpass-plugin
pylint: hard --init-hook --load-plugins --rcfile
certbot: marks -hook
msmtp: hard --passwordeval --file; letters C
mdadm: hard --program; letters p
env:
    wrap 0 sets; valued -u --unset -C --chdir -S --split-string -a --argv0; moves -C --chdir
    flags -i --ignore-environment -0 --null -v --debug - --block-signal --default-signal --ignore-signal
    flags --list-signal-handling; never -S --split-string
sudo:
    wrap 0 own sets; moves -D --chdir -R --chroot -i --login; shell -s --shell -i --login; never -e --edit
    valued -u --user -g --group -h --host -p --prompt -C --close-from -r --role -t --type -T
    valued --command-timeout -U --other-user -D --chdir -R --chroot -a --auth-type -c --login-class
    flags -A --askpass -b --background -B --bell -E --preserve-env -e --edit -H --set-home -i --login -k
    flags --reset-timestamp -K --remove-timestamp -l --list -n --non-interactive -N --no-update -P
    flags --preserve-groups -s --shell -S --stdin -v --validate -V --version --help
watch:
    wrap 0 own joins; valued -n --interval -q --equexit -s --shotsdir; apart -x --exec
    flags -b --beep -c --color -C --no-color -d --differences -e --errexit -g --chgexit -p --precise -r
    flags -t --no-title -w --no-wrap -x --exec
doas: wrap 0 own; valued -u -C -a; flags -n -L
timeout gtimeout:
    wrap 1; valued -k --kill-after -s --signal; flags --foreground --preserve-status -v --verbose -f -p
nice:
    wrap 0; valued -n --adjustment
    flags -0 -1 -2 -3 -4 -5 -6 -7 -8 -9 -10 -11 -12 -13 -14 -15 -16 -17 -18 -19 -20 -21 -22 -23 -24 -25
    flags -26 -27 -28 -29 -30 -31 -32 -33 -34 -35 -36 -37 -38 -39
ionice: wrap 0; valued -c --class -n --classdata; flags -t --ignore
nohup - builtin busybox toybox: wrap 0
setsid: wrap 0; flags -c --ctty -f --fork -w --wait
stdbuf: wrap 0; valued -i --input -o --output -e --error
chrt: wrap 1; valued -T -P -D; flags -b -d -f -i -o -r -R -v
taskset: wrap 1; flags -a -c --cpu-list
time: wrap 0; valued -f --format; flags -p --portability -v --verbose -q --quiet -l
coproc ccache sccache distcc eatmydata nocache: wrap 0 own
command: wrap 0; flags -p
exec: wrap 0; valued -a; flags -c -l
caffeinate: wrap 0; valued -t -w; flags -d -i -m -s -u
chroot: wrap 1 own opens; valued --groups --userspec; flags --skip-chdir
unshare:
    wrap 0 own opens; valued --setuid --setgid -R --root -w --wd --propagation
    flags -m --mount -u --uts -i --ipc -n --net -p --pid -U --user -C --cgroup -T --time -f --fork -r
    flags --map-root-user -c --map-current-user --kill-child --mount-proc
ssh-agent: wrap 0 own; valued -a -E -O -P -t; flags -c -D -d -k -s
su: line -c --command --session-command
runuser: line -c --command --session-command; operands 1
sg: line -c; operands 1
script: line -c --command
parallel ssh mosh rsh systemd-run start-stop-daemon strace ltrace perf valgrind expect unbuffer
rlwrap xvfb-run dbus-run-session dbus-launch firejail bwrap proot fakeroot faketime entr at batch crontab
cron screen tmux socat nc ncat netcat telnet run-parts runcon newgrp pkexec gosu su-exec setuidgid
softlimit chpst daemonize daemon tini dumb-init s6-setuidgid with-contenv direnv nix-shell conda devbox
prlimit choom cgexec capsh setarch linux32 linux64 i386 x86_64 uname26 numactl catchsegv ld.so rr
heaptrack hyperfine nodemon pm2 forever supervisord dotenv chronic ifne pee setpriv nsenter logsave
systemd-inhibit systemd-cat systemd-nspawn systemd-socket-activate machinectl gpg-agent cttyhack openvt
cpulimit trickle sshpass torsocks torify proxychains proxychains4 tsocks autossh sshfs pdsh pssh help2man
aa-exec nsjail minijail0 lxc-attach lxc-execute retry timelimit envdir envuidgid setlock pgrphack fghack
tcpsvd udpsvd tcpserver runsv runsvdir svlogd multilog udhcpc dhclient inetd xinetd bear scan-build xterm
x-terminal-emulator gnome-terminal konsole alacritty kitty foot xinit startx run-mailcap watchexec reflex
zrun vipe vidir mispipe ansible vagrant uftrace luit memusage msgexec msgfilter niceload sem sql nq fq
tsp ts-spooler uclampset autoexpect kibitz xkibitz multixterm dislocate passmass expect_unbuffer
expect_autoexpect expect_kibitz expect_xkibitz expect_multixterm expect_dislocate fstab-decode debconf
debconf-apt-progress scriptlive gprofng gp-collect-app pg_virtualenv wine lli bugpoint
env_parallel parset slogin agetty getty login sulogin gpg-connect-agent dpkg-buildpackage savelog pgbench
fakeroot-sysv fakeroot-tcp sshd telnetd ifup ifdown pppd openvpn logrotate anacron procmail fetchmail
jexec bpftrace stap:
    opaque
python pypy micropython ipython jython graalpy py pythonw:
    code -c; flags -u -B -E -I -s -S -O -OO -q -P -d -b -bb -t; module -m
    asking --version --help -V -h -VV
pydoc pdb bpython ptpython: code -c -m; module -k -p -w -b
node nodejs tsx ts-node:
    code -e -p -pe --eval --print -r --require --import --loader --experimental-loader
    flags --test --no-warnings --trace-warnings --enable-source-maps; asking --version --help -V -h -v
perl: code -e -E; flags -w -W -X -T -t -l; asking --version --help -V -h -v
ruby irb jruby: code -e -r; flags -w -W; asking --version --help -v -h
erb: code -r; flags -x -n -v
php php-cli phar: code -r -B -R -E -F --run; flags -q -n; asking --version --help -v -h -m
lua luajit texlua: code -e -l; asking -v
rscript r: code -e; flags --vanilla --slave --no-save -q
julia: code -e -E -L --eval --print --load
java: code -jar; asking --version --help -version -help
deno bun: code -e --eval -p --print -r --preload; run run eval exec x test
npx bunx pnpx uvx pipx: code -c --call; run run; flags -y --yes -q --quiet
osascript guile racket scheme sbcl clisp ecl ghci runghc ocaml swift scala groovy kotlin iex elixir erl
octave gnuplot maxima gp m4 dc ex qjs d8 jshell clojure bb janet raku crystal nim pike:
    code -e -c -E -f --eval --exec -x
tclsh wish jimsh: code -e; asking
tar gtar bsdtar:
    runs --to-command --use-compress-program --checkpoint-action --info-script --new-volume-script
    runs --rsh-command --rmt-command; marks :; letters IF; valued fCTXbgHKLNV
    fine --to-stdout --checkpoint
make gmake bmake:
    hard --eval; soft --file --makefile --directory --include-dir; letters E; soft_letters fCI; valued oW
"""

PROGRAMS = parse(TABLE)
INTERPRETERS = frozenset(name for names, row in rows(TABLE) if "code" in row for name in names)
