"""Adversarial commands of interpreters, editors and tools; each has been heard to run the canary.

A line is a line for bash, with ⏎ for its newlines.
"""

SETUPS: dict[str, str] = {
    "building": "echo 'project(x NONE)' > CMakeLists.txt; cmake -B b . > /dev/null; echo canary > f",
    "sed": "printf 'canary\\n' > f; echo '1e canary' > s; echo 1p > ok",
    "awk": "printf 'canary x\\n' > f; echo 'BEGIN{system(\"canary\")}' > p.awk; echo canary > cmd",
    "others": "seq 1 200000 > n; echo x > f; printf '#!/bin/sh\\ncanary' > e; chmod +x e; mkdir d; cp e d/x",
    "interpreters": "echo canary > f; echo 'import os; os.system(\"canary\")' > m.py; cp m.py __main__.py; mkdir pk; "
    "cp m.py pk/__main__.py; echo 'system \"canary\"' > r.rb; echo 'system \"canary\";1' > P.pm; echo "
    "'<?php system(\"canary\");' > x.php; echo 'os.execute(\"canary\")' > x.lua; echo "
    '\'require("child_process").execSync("canary")\' > x.js; echo '
    '\'{"name":"x","version":"1.0.0","scripts":{"test":"canary","ok":"true","b":"true"},"bin":{"x":"x.js"}}\''
    ' > package.json; sed -i \'s/"test":"canary"/"test":"true"/\' package.json',
    "odd": "printf 'canary\\n' > f; mkdir d; echo 'BEGIN{system(\"canary\")}' > p.awk; touch x.t; printf "
    '\'msgid ""\\nmsgstr ""\\nmsgid "a"\\nmsgstr "b"\\n\' > x.po; echo \'{"scripts":{"ok":"true"}}\' > '
    "package.json",
}

LINES: dict[str, str] = {
    "sed": r"""
sed -n e f
sed 's/canary/canary/e' f
sed 's/c/c/ge' f
sed 's/c/c/pe' f
sed -e 's/c/c/e' f
sed --expression='1e canary' f
sed -f s f
sed --file=s f
sed f -e '1e canary'
sed -- '1e canary' f
sed '/c/{e canary⏎}' f
sed 'y/a/b/;s/b/a/g;e' f
sed 's;c;c;e' f
sed -i -e 1ecanary f
sed -i.bak 1ecanary f
sed -E 's/(c)/\1/e' f
sed -une '1e canary' f
sed -n '$e canary' f
sed '0,/c/e canary' f
sed 'p;p;p;e' f
sed ':a;s/x/y/;ta;e' f
sed 'b;e' f; sed -n 'b x⏎:x⏎e' f
sed '#n⏎1e canary' f
sed 'p # x⏎e' f
sed '\,c,e' f
sed 's/\n/x/;e' f
sed 'l 5;e' f
sed 'w out⏎e' f
sed sxcxcxe f
sed s.c.c.e f
sed 's/c/c/m e' f
sed 's/c/c/	;	e' f
sed -l 5 -e 1ecanary f
sed --line-length=5 1ecanary f
sed --separate 1ecanary f
sed --follow-symlinks -i 1ecanary f
""",
    "awk": r"""
gawk 'BEGIN{system("canary")}'
gawk '{print|"canary"}' f
gawk '1 || 0 {print|"canary"}' f
gawk -v c=canary 'BEGIN{system(c)}'
gawk 'function f(){system("canary")} BEGIN{f()}'
gawk 'BEGIN{getline < "cmd"; system($0)}'
gawk '$0=system("canary")' f
gawk --source 'BEGIN{system("canary")}'
mawk '{system($1)}' f
mawk '{"canary"|getline}' f
mawk -vc=canary 'BEGIN{system(c)}'
mawk '{system(c)}' c=canary f
mawk -v 'x="' 'BEGIN{system("canary")}'
mawk '$0=system("canary")' f
busybox awk '{printf "x"|"canary"}' f
busybox awk -f p.awk
busybox awk -F : 'BEGIN{system("canary")}'
busybox awk 'BEGIN{printf("canary\n") | "sh"}'
busybox awk 'NR==1{s="canary"; system(s)}' f
busybox awk '#|⏎BEGIN{print|"canary"}'
gawk -lfilefuncs 'BEGIN{system("canary")}'
""",
    "others": r"""
sort -S1b --compress-program=canary n -o o
split --filter canary f
install --strip-program canary -s f g
zip x.zip f -T -TTcanary
rsync -e canary f host::x
ssh -oProxyCommand=canary h
scp -oProxyCommand=canary f h:x
sftp -oProxyCommand=canary h
env LESSOPEN='canary %s' less f
vim -es -c '!canary' -c q f
vim.tiny -es -c '!canary' -c q f
ex -s -c '!canary' -c q f
echo '!canary' | ex -V
echo '!canary' | ex -
vim -es -S <(echo '!canary') -c q
vim.basic -es -c '!canary' -c q f
EDITOR=canary sensible-editor f
echo 'r !canary' | ed f
diff3 --diff-program=canary f f f
diff3 --diff-p=canary f f f
sdiff --diff-program=canary f f
sdiff --diff-pr canary f f
echo 'syscmd(canary)' | m4
sqlite3 :memory: '.system canary'
echo 'shell canary' | gdb -q
socat - EXEC:canary
/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2 --preload '' /bin/sh -c canary
logsave o canary
logsave o sh -c canary
logsave -a o canary
run-parts d
wget http://127.0.0.1:1 --use-askpass=../programs/canary
groff -U -T ascii <<<'.pso canary'
groff -U <<<'.sy canary'
troff -U <<<'.sy canary'
nroff -U <<<'.sy canary'
pic -U <<< '.PS⏎sh X canary X⏎.PE'
gcc -x c /dev/null -wrapper canary
cc -wrapper canary -E -x c /dev/null
c++ -wrapper canary -E -x c /dev/null
g++ -wrapper canary -E -x c /dev/null
c99 -wrapper canary -E -x c /dev/null
cpp -wrapper canary /dev/null
x86_64-linux-gnu-gcc -wrapper canary -E -x c /dev/null
ln -s ../programs/canary as; COMPILER_PATH=. gcc -c -xc /dev/null
cmake -E time canary
echo 'execute_process(COMMAND canary)' > x.cmake; cmake -C x.cmake .
echo 'project(x C)' > CMakeLists.txt; cmake -DCMAKE_C_COMPILER=$PWD/../programs/canary .
echo 'execute_process(COMMAND canary)' > x.cmake; ctest -S x.cmake
printf 'rule r\n command = canary\nbuild x: r\n' > build.ninja; ninja -f build.ninja
""",
    "interpreters": r"""
perl -e 'system "canary"'
perl -i.bak -ne 'exec "canary"' f
perl -I. -MP -e 1
perl - < r.rb
perl -c -e 'BEGIN{system("canary")}'
PERL5OPT=-MP PERL5LIB=. perl -e1
perl5.36.0 -e 'system "canary"'
python3 -mm
python3 - < m.py
python3 -W ignore m.py
python3 -q < m.py
python3 -m trace -t m.py
python3 -m pydoc m
pydoc3 ./m.py
pydoc3 m
pip --python ../programs/canary list
pip --python=../programs/canary list
pip --pyth ../programs/canary list
pip config edit --editor canary
pip config --editor=canary edit
pip3 --python ../programs/canary list
ruby -I. -r./r.rb -e 1
ruby -W:no-x r.rb
ruby -lane 'system "canary"' f
erb <<<'<% system "canary" %>'
echo '<% system "canary" %>' > e.erb; erb e.erb
rake -e 'system "canary"'
rake -f r.rb
rake -r./r.rb -T
php x.php
echo | php -R 'system("canary");'
php --file x.php
lua < x.lua
lua -l x
node --eval 'require("child_process").execSync("canary")'
node --require=./x.js -e 1
node --test x.js
nodejs x.js
npm exec -c canary
npm c edit --editor canary
npm init -y --init-module=./x.js
npm run env canary
echo script-shell=canary > rc; npm test --userconfig=rc
fish -c 'canary'
""",
    "odd": r"""
script -qc 'luit canary' o
msgexec -i x.po canary
fstab-decode canary
prove --exec canary x.t
prove -e canary x.t
prove --exe=canary x.t
dpkg-architecture -ccanary
dpkg-architecture --command canary
dislocate canary
sed ':a⏎e' f
sed 'a foo\⏎bar⏎e' f
sed '1i foo⏎1e canary' f
sed '# x;e⏎1e canary' f
sed '{p};e' f
sed '0~1e canary' f
sed '$!{$!b⏎};e' f
sed -s -n -e '' -e 1ecanary f
sed -n -- 1ecanary f
sed -nf- f <<<1ecanary
sed -nzse 1ecanary f
sed '}' f -e e
sed 'a' -e e f
sed 'a  ⏎e' f
sed '1i   ' -e '1e canary' f; sed -e '1i   ' -e '1e canary' f
gawk '{print(1>0)|"canary"}' f
mawk -v 'x=1' -f p.awk
wget -O - -e use_askpass=../programs/canary 127.0.0.1:1
tar -cf x.tar -CI -Icanary f
xargs -I{} -a f -l1 env
xargs -a f -ei sh -c
xargs -a f -ti sh -c {}
su - -c "PATH=$PATH canary"
su -mc canary root
su -- root -c canary
su root f
runuser -pu root canary
runuser --user root -- canary
script -q -c canary
script o --comm=canary
flock -x -n f -c canary
flock --exclusive --timeout 3 f canary
bash -o errexit -o pipefail -c canary
bash -o history -c canary
bash -c -euo pipefail -- canary
sh -- f
bash -rc canary
bash +o pipefail -c canary
bash -c "canary" -- -x
""",
    "building": r"""
cmake --build b -- '--eval=$(shell canary)'
cmake --build b -- SHELL=canary
cmake --build b -t all -- --eval '$(shell canary)'
X='Y:=$(shell canary)'; make -C b -- "$X"
X=':=$(shell canary)'; cd b; make "Y$X"
find . -maxdepth 0 -exec nice -5 timeout 3 env A=1 sh -c 'echo | xargs canary' \;
echo | xargs timeout 5 nice env A=1 sh -c canary
nohup nice setsid -w stdbuf -o0 timeout 5 canary
sh -c 'nice sh -c "timeout 5 env sh -c canary"'
find . -maxdepth 0 -exec git -c alias.x=!canary x \;
xargs -a f -I X find . -maxdepth 0 -exec X \;
echo 'canary ;' | xargs find . -maxdepth 0 -exec
echo 1ecanary | xargs -I{} sed {} f
echo e | xargs -I{} sed '1{}canary' f
echo alias.x=!canary | xargs -I{} git -c {} x
setsid -w flock f -c 'nice canary'
exec -a x nice canary
python3 -m timeit 'import os; os.system("canary")'
""",
}
