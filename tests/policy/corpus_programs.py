"""Commands of programs that know many ways, with what one realistic set of rules says to them."""

from agent_exec.policy.rule import Rule

RULES = [
    Rule(["ls"]),
    Rule(["cd"]),
    Rule(["cat"]),
    Rule(["grep"]),
    Rule(["wc"]),
    Rule(["echo"]),
    Rule(["head"]),
    Rule(["sort"]),
    Rule(["sed"]),
    Rule(["sed", "-i"]),
    Rule(["awk"]),
    Rule(["find"]),
    Rule(["tar"]),
    Rule(["make"]),
    Rule(["pytest"]),
    Rule(["curl"]),
    Rule(["cargo"]),
    Rule(["gcc"]),
    Rule(["rsync"]),
    Rule(["git", ("status", "log", "diff", "show", "add", "commit", "branch", "grep", "rebase", "fetch")]),
    Rule(["npm", ("test", "run", "install", "ci")]),
    Rule(["go", ("build", "test")]),
    Rule(["python3", "-m", "pytest"]),
    Rule(["python3", "manage.py"]),
    Rule(["docker", "ps"]),
    Rule(["sudo"], "ask", reason="powers"),
    Rule(["rm"], "deny", reason="never"),
    Rule(["git", "push"], "deny", reason="not yours"),
]

ALLOWED = r"""
pytest -p no:randomly -q
pytest -p no:cacheprovider -n 4 tests
pytest -W ignore::DeprecationWarning -x
pytest -Werror tests
pytest --cov=src --cov-report=term-missing
pytest -rA -k 'a and not b' -m slow
pytest --pdb -vv --tb=short -l
python3 -m pytest -q -k a tests/test_a.py
python3 -m pytest -p no:randomly
timeout 60 python3 -m pytest -n 2
CI=1 make test
V=1 make -j4
env CI=true NO_COLOR=1 make test
for i in 1 2 3; do make test; done
n=3; make test; echo $n
x=$(git log -1); make test; echo "$x"
LC_ALL=C sort f | wc -l
FOO=bar ls
LANG=C make
cd /work && git status
cd /work; git log --oneline
cd . && git diff
cd src && make test
make test > /dev/null; make all
make test 2>/dev/null && pytest -q
git status && make test && git diff
NODE_ENV=test npm test
PYTHONUNBUFFERED=1 pytest -q
timeout 60 pytest -q
timeout -k 5 60s nice -n 5 env CI=1 pytest -x
env -u CI make -j8 test
nohup make test
stdbuf -oL make
sh -c 'ls | wc -l'
bash -euo pipefail -c 'make test'
find . -name '*.py' -type f
find . -type f -exec grep -l x {} +
find . -type f -exec sh -c 'wc -l "$1"' _ {} \;
find . -name '*.c' | xargs grep -n main
ls | xargs -I{} cat {}
ls | xargs -n 1 -P 4 wc -l
xargs -a list cat
sed -n '1,20p' f
sed -i 's/a/b/' f
sed -e 's/x/y/g' -e '/^#/d' f
sed 's|[^/]*$||' f
awk -F: '$3 > 1000 {print $1}' /etc/passwd
awk '{s+=$1} END {print s}' f
tar czf x.tgz src
tar -xJf Foo.tar.xz -C d --strip-components=1
sort -t, -k2 -u f
git status -s
git log --oneline --stat -5
git diff HEAD~1 -- src
git commit -am "fix: S and O"
git commit -m "$MESSAGE"
git add -- "$file"
git grep -n -F foo
git rebase main
git fetch --prune origin
cargo build --release
cargo test -- --nocapture
go test -run TestX ./...
npm run build
npm install --save-dev typescript
python3 -m pytest -q
python3 manage.py migrate
gcc -O2 -DBUILD -o x x.c
rsync -av --exclude=.git a/ b/
curl -fsS -XPOST -H 'Content-Type: x' https://x/y
docker ps -a
"""

ASKED = r"""
cd src && git status
cd / && git log
env FOO=1 make
export FOO=bar && make
export FOO="$(ls)"; make
CI=$x make
CI='1; x' make
JOBS=4 RM=x make
pytest -p plugin
pytest -c other.ini
pytest $ARGS
python3 -m pytest -p plugin
git diff --name-only | xargs python3 -m pytest
sed -i 's/a/b/' Makefile && make
sed -i 's/a/b/' src/x.py && pytest
set -a; make
timeout 60
timeout 60 node x.js
env LD_PRELOAD=x.so ls
env -S 'ls -l'
env PATH=. ls
sh -c "$X"
bash x.sh
bash -c +x ls
bash --rcfile x -i
ls | xargs sh -c
ls | xargs -I{} sh -c 'cat {}'
ls | xargs -it sh -c t
find . -delete
find . -fprintf x y
find . -exec sh {} \;
find . -exec node x.js \;
sed '1e id' f
sed 's/x/y/e' f
sed 's/x/y/w /etc/passwd' f
sed -f script f
awk 'BEGIN{system("id")}'
awk '{print | "sh"}' f
awk '{print > "f"}' f
awk -f p.awk f
tar xf x.tar --to-command=node
tar cf x.tar --checkpoint-act=exec=node d
tar -Inode -xf x
tar cf host:x d
sort -o f f
sort --compress-prog=node f
git -C d status
git -c core.pager=node log
git -c alias.log=!node log
git grep -Onode foo
git grep -F -Onode foo
git rebase -x node main
git rebase -m --exec=node main
git fetch --upload-pack=node .
git fetch ext::node
git log --output=f
git clone x
git x
make -f evil.mk
make -sf evil.mk
make --eval='$(shell node)'
make SHELL=node
cargo --config 'build.rustc="x"' build
go test --exec=node ./...
go build -toolexec node
npm run x --script-shell=node
npm run env node
python3 -c 1
python3 -m http.server
python3 x.py
python3
gcc -wrapper node x.c
gcc -B. x.c
rsync -e node a b
rsync a host:b
curl -o f https://x
curl -K f
docker run x
sudo ls
sudo -s
su -c ls
strace ls
flock f ls
parallel ls ::: x
vim f
"""

DENIED = r"""
rm -rf x
timeout 5 nice env A=1 rm x
sh -c 'ls; rm x'
ls | xargs rm
ls | xargs -n1 env A=1 rm -f
find . -exec rm {} +
find . -execdir sh -c 'rm {}' \; -exec rm {} \;
busybox rm x
sudo rm x
su - root -s /bin/sh -c 'rm x'
sg root 'rm x'
flock f -c 'rm x'
tar xf x --to-command='rm x'
tar cf x d --checkpoint-action=exec='rm x'
sort --compress-program=rm f
split --filter='rm x' f
git -c alias.x='!rm x' x
git -c core.pager=rm log
git bisect run rm x
git submodule foreach rm x
git rebase --exec 'rm x' main
git push origin main
git -C d push
git --no-pager -c color.ui=never push
diff3 --diff-program=rm a b c
watch rm x
"""
