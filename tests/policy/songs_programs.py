"""Adversarial commands of shells, wrappers, git, tar and make; each has been heard to run the canary.

A line is a line for bash, with ⏎ for its newlines.
"""

SETUPS: dict[str, str] = {
    "files": "printf '#!/bin/sh\\ncanary\\n' > x; chmod +x x; echo 'BEGIN{system(\"canary\")}' > p.awk; echo "
    "canary > s.sh; chmod +x s.sh",
    "xargs": "echo canary > f",
    "find": "touch a b",
    "git": "git init -q . && git config user.email a@b && git config user.name n && echo a>f && git add f "
    "&& git commit -qm one && echo b>>f && git commit -qam two && git branch other HEAD~1 && git "
    "init -q evil && git -C evil config alias.st '!canary' && git -C evil config core.fsmonitor "
    "canary && mkdir -p hooks && printf '#!/bin/sh\\ncanary\\n' > hooks/pre-commit && chmod +x "
    "hooks/pre-commit && git clone -q . sub && git init -q bare --bare && git -C evil config "
    "core.sshcommand canary",
    "git merging": "git init -q . && git config user.email a@b && git config user.name n && echo a>f && git add f "
    "&& git commit -qm one && echo b>>f && git commit -qam two && git branch other HEAD~1 && git "
    "checkout -q other && echo c>>f && git commit -qam three && (git merge -q master || git merge -q"
    " main || true) 2>/dev/null",
    "tar": "mkdir d; echo x > d/a; echo y > b; tar cf t.tar d b; printf '%s\\n' --checkpoint=1 "
    "--checkpoint-action=exec=canary b > list; printf '#!/bin/sh\\ncanary' > e; chmod +x e",
    "make": "printf 'all:\\n\\ttrue\\ntest:\\n\\ttrue\\n' > Makefile; printf 'all:\\n\\tcanary\\n' > e.mk; mkdir d; "
    "cp e.mk d/Makefile; printf '#!/bin/sh\\ncanary' > sh1; chmod +x sh1; cp sh1 canary.sh",
}

LINES: dict[str, str] = {
    "env": r"""
env -i PATH=$PATH canary
env -uX canary
env -S'canary x'
env --split-string=canary
env -C / canary
env -- canary
env A=1 B=2 env C=3 canary
env --ignore-signal canary
env A=1 sh -c canary
env -S '${X} canary'
env -Scanary
env -u X -- canary
""",
    "timeout": r"""
timeout --kill-after=1 5 canary
timeout -s TERM 5 canary
timeout --signal=9 5 canary
timeout --preserve-status 5 canary
timeout -vk1 -s9 5 canary
timeout 5 nice env A=1 sh -c 'echo | xargs canary'
""",
    "wrappers": r"""
nice canary
nice -n5 canary
nice --adjustment=5 canary
nice -n -5 canary
nice -10 nice canary
ionice -c3 canary
ionice -t canary
nohup -- canary
setsid -f canary; sleep 0.3
stdbuf -oL canary
stdbuf --out=L -e0 canary
chrt -o 0 canary
taskset 1 canary
taskset --cpu-list 0 canary
/usr/bin/time canary
/usr/bin/time -o f canary
/usr/bin/time -p -- canary
command -- canary
exec -c /usr/bin/env PATH=$PATH canary
builtin command canary
chroot / canary
chroot --userspec=root / canary
echo canary | chroot /
unshare -m canary
unshare -mf canary
setpriv --no-new-privs canary
setarch x86_64 canary
linux64 canary
i386 canary
choom -n 0 canary
runuser -u root canary
runuser root -c canary
su -c canary
su - root -c "PATH=$PATH canary"
su root -s /bin/sh -c canary
su -c canary root
su --session-command=canary
su root --session-command canary
echo canary | su
sg root canary
sg root 'canary x'
sg - root canary
linux64 -R canary
strace -o '|canary' true
""",
    "runners": r"""
flock f canary
flock -n f canary
flock -n f -c 'canary x'
flock -w 5 f canary
flock f --command canary
flock --verbose f canary
flock -F f canary
script -c canary f
script -qc canary /dev/null
script --command=canary f
script --command canary
script -q -e -c 'canary' f
script --comm canary f
ssh-agent canary
ssh-agent sh -c canary
busybox sh -c canary
busybox ash -c canary
busybox env canary
busybox xargs canary
busybox find . -exec canary \;
busybox awk 'BEGIN{system("canary")}'
busybox timeout 5 canary
busybox setsid canary
busybox busybox sh -c canary
echo canary | busybox sh
busybox chroot / canary
busybox unshare canary
busybox setpriv canary
busybox linux64 canary
busybox cttyhack canary
busybox time -f x canary
busybox ash -c -- canary
""",
    "files": r"""
run-parts .
busybox run-parts .
mawk -Wexec p.awk
gawk -E p.awk
gawk --exec p.awk
gawk '@include "p.awk"'
bash s.sh
sh -s < s.sh
bash -rcfile s.sh -i
bash -O extglob s.sh
bash - s.sh
bash --posix s.sh
bash /dev/fd/0 < s.sh
. ./s.sh
cat s.sh | sh
cat s.sh | bash -
dash -e s.sh
zsh -f s.sh
BASH_ENV=s.sh bash -c :
ENV=./s.sh sh -i
/lib64/ld-linux-x86-64.so.2 --argv0 x /bin/sh -c canary
find . -name s.sh -exec sh {} \;
find . -name s.sh | xargs -I{} sh {}
tclsh <<<'exec canary'
tclsh -h <<<'exec canary'
tclsh --version <<<'exec canary'
""",
    "shells": r"""
sh -c canary
bash -xc canary
bash -c -x canary
bash -c +x canary
bash -c - canary
dash -c +x canary
dash -c - canary
bash -e -u -c canary
bash -oc pipefail canary
bash -O extglob -c canary
bash --noprofile --norc -c canary
bash -posix -c canary
sh -c '$0' canary
sh -c 'eval "$1"' x canary
echo canary | bash -s
echo canary | sh -
eval canary
bash -c 'exec canary'
`echo canary`
zsh -c canary
ksh -c canary
fish -C canary -c true
bash -r -c canary
bash -k -c canary
bash -H -c canary
trap canary EXIT
PROMPT_COMMAND=canary bash -i
coproc x { canary; }; wait
bash -c 'f() { "$@"; }; f canary'
sh -ec canary
bash '-c' canary
sh -c +e canary
dash -c -e canary
dash -c +e -- canary
""",
    "xargs": r"""
echo | xargs canary
echo canary | xargs -IX sh -c X
echo canary | xargs -it sh -c t
echo canary | xargs -ix sh -c x
echo canary | xargs -ip sh -c p
echo canary | xargs --repl sh -c {}
echo | xargs --max-lines canary
echo | xargs --max-lines=1 canary
echo | xargs --max-l canary x
echo | xargs -l canary
echo | xargs -eof canary
echo canary | xargs -I a -I b sh -c b
echo canary | xargs -I b -I a sh -c a
echo canary | xargs -i -I a sh -c a
echo canary | xargs env
xargs -a f env
echo canary | xargs -d '\n' env
echo canary | xargs -t env
echo x | xargs -s 1000 canary
echo x | xargs --no-run canary
echo -c canary | xargs sh
printf -- '-exec\ncanary\n;' | xargs -d '\n' find .
echo canary | xargs -IX timeout 5 X
echo canary | xargs python3 -c 'import sys,os;os.system(sys.argv[1])'
""",
    "find": r"""
find . -exec canary {} \;
find . -exec canary {} +
find . -execdir canary {} +
find . -execdir canary \;
yes | find . -okdir canary {} \;
find . -exec env canary \;
find . -exec sh -c canary \;
find . -exec sh -c 'canary {}' \;
find . -type f -name a -exec canary ';'
find . \( -name a -exec canary {} \; \)
find . -name a -o -exec canary \;
find . ! -name a -exec canary \;
find . -exec echo + \; -exec canary \;
find . -exec true \; -exec true \; -exec canary \;
find -exec canary \;
find . -maxdepth 0 -exec timeout 5 canary \;
find . -maxdepth 0 -exec nice -n 5 canary {} +
find -L . -exec canary \;
find -O3 . -exec canary \;
find -D tree . -exec canary \; 2>/dev/null
X=-exec; find . $X canary \;
find . -exec canary ';'
find . -exec canary '{}' +
fdfind . -x canary
fdfind . --exec canary
fdfind . -X canary
fdfind -Hx canary
fdfind -tf -x sh -c canary
fdfind -uxcanary
""",
    "git": r"""
git -c alias.x='!canary' x
git -c alias.x=\!canary x
git -c diff.external=canary diff HEAD~1
git -c core.sshCommand=canary ls-remote ssh://x/y
git -c core.editor=canary commit --amend
git -c core.hooksPath=hooks commit --allow-empty -m x
X='!canary' git --config-env=alias.x=X x
X='!canary' git --config-env alias.x=X x
git grep --open-files-in-pager=canary a
git grep -F -Ocanary a
git grep -F --open-files-in-pager=canary a
git grep --open-files=canary -e a
git difftool -x canary -y HEAD~1
git difftool -y --extcmd=canary HEAD~1
git rebase --exec canary HEAD~1
git rebase --exe=canary HEAD~1
git rebase -m --exec=canary HEAD~1
git rebase -m -x canary HEAD~1
git rebase HEAD~1 -x canary
git -c sequence.editor=true rebase -i -x canary HEAD~1
git bisect start HEAD HEAD~1 && git bisect run canary
git clone -ucanary . x
git clone --upload-pack=canary . x
git clone --upload-pack canary . x
git clone . x -u canary
git clone -b other -u canary . x
git clone -b other --upload-pack=canary . x
git fetch --upload-p canary .
git fetch . --upload-pack=canary
git pull --upload-pack=canary .
git ls-remote --exe=canary .
git fetch-pack --exec=canary . HEAD
git fetch-pack --upload-pack=canary . HEAD
git send-pack --receive-pack=canary . HEAD:x
git send-pack --exec=canary . HEAD:x
git archive --remote=. --exec=canary HEAD
git -c tar.foo.command=canary archive --format=foo HEAD
git -c tar.foo.command=canary archive -o x.foo HEAD
git -c protocol.ext.allow=always ls-remote 'ext::canary x'
env GIT_ALLOW_PROTOCOL=ext git fetch 'ext::canary'
git config alias.x '!canary'; git x
git config alias.x !canary && git x
git -C evil st
git -C evil status
git --git-dir=evil/.git status
cd evil; git st
git -C evil fetch ssh://x/y
GIT_EDITOR=canary git commit --amend
EDITOR=canary git commit --amend
GIT_SEQUENCE_EDITOR=canary git rebase -i HEAD~1
GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=alias.x GIT_CONFIG_VALUE_0='!canary' git x
git -c filter.d.clean=canary -c core.attributesFile=<(echo '* filter=d') add f
git -c diff.tool=c -c difftool.c.cmd=canary difftool -y HEAD~1
git -c core.gitProxy=canary ls-remote git://x/y
git -c remote.x.uploadpack=canary -c remote.x.url=. fetch x
git -c core.hooksPath=hooks hook run pre-commit
git remote add x . ; git config remote.x.uploadpack canary; git fetch x
git config core.editor canary && git commit --amend
git config core.editor canary; git notes edit HEAD
git --no-optional-locks -c alias.x='!canary' x
git --literal-pathspecs grep -Ocanary a
git --no-replace-objects rebase -x canary HEAD~1
git rebase -m --exec=canary 'HEAD~1'
""",
    "git merging": r"""
git merge-index canary -a
git merge-index -o canary f
git merge-index -q canary -a
git -c merge.tool=c -c mergetool.c.cmd=canary mergetool -y
git config mergetool.c.cmd canary; git mergetool -y -t c
""",
    "tar": r"""
tar xf t.tar --to-command=canary
tar xf t.tar --to-com=canary
tar xf t.tar --to-c canary
tar --to-command=canary -xf t.tar
tar -xf t.tar --to-command='canary x'
tar cf x.tar d --checkpoint=1 --checkpoint-act=exec=canary
tar cf x.tar d --checkpoint=1 --checkpoint-a exec=canary
tar cf x.tar --checkpoint=1 --checkpoint-action exec=canary d
tar -I canary -cf x.tar d
tar -cIcanary -f x.tar d
tar -cI canary -f x.tar d
tar cIf canary x.tar d
tar cfI x.tar canary d
tar --use-compress-program=canary -cf x.tar d
tar --use-comp=canary -cf x.tar d
tar --use canary -cf x.tar d
tar -xf t.tar -I canary
tar -cMf x.tar -L 10 --info-script=canary /bin/bash
tar -cMf x.tar -L 10 --new-volume-script=canary /bin/bash
tar -cMf x.tar -L 10 --info-s canary /bin/bash
tar cMLFf 10 canary x.tar /bin/bash
tar cf x.tar d --checkpoint=1 --checkpoint-action=exec='sh -c canary'
tar --to-command=./e -xf t.tar
tar x --to-command=canary < t.tar
tar xf t.tar --to-command=canary --
env TAR_OPTIONS='--to-command=canary' tar xf t.tar
bsdtar --use-compress-program canary -cf x.tar d
bsdtar --use-compress-program=canary -xf t.tar
bsdtar --use-compress canary -cf x.tar d
bsdtar -xf t.tar --use-compress-program=canary
tar cf x.tar d --checkpoint=1 --checkpoint-action=exec=canary
tar -Icanary -cf x.tar d
find d | xargs tar cf x.tar --checkpoint=1 --checkpoint-action=exec=canary
""",
    "make": r"""
make -f e.mk
make -fe.mk
make -sf e.mk
make -sfe.mk
make --file e.mk
make --fi=e.mk
make --makefile=e.mk
make --make=e.mk
make -Cd
make -sC d
make -kC d
make --directory=d
make -E '$(shell canary)'
make -E'$(shell canary)'
make -sE '$(shell canary)'
make --eval='$(shell canary)'
make --ev='$(shell canary)'
make -j2 --eval='$(shell canary)'
make all --eval='$(shell canary)'
make SHELL=canary
make .SHELLFLAGS='-c canary'
make MAKEFLAGS='--eval=$(shell canary)'
make 'X=$(shell canary)'
make 'X ?= $(shell canary)'
make -f- < e.mk
make -e SHELL=canary
make -I d -f d/Makefile
make -rRf e.mk
make -Bf e.mk
make -wC d
make --no-print-directory -C d
make -n --eval='$(shell canary)'
make $'--eval=$(shell canary)'
make -sE 'x:;canary' x
""",
}
