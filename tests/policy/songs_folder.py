"""Adversarial commands that have the folder or the environment run the canary; each line is one for bash."""

_MAKE = (
    "printf 'RM ?= true\\nLINT ?= true\\nINSTALL ?= true\\nTAR ?= true\\nall:\\n\\ttrue\\nclean:\\n\\t$(RM) x\\n"
    "lint:\\n\\t$(LINT)\\ninstall:\\n\\t$(INSTALL) a b\\ndist:\\n\\t$(TAR) cf x\\nv:\\n\\techo $(V)\\n' > Makefile; "
    "echo x > x; gzip -k x; cp x.gz y.gz; "
)
_BARE = (
    "mkdir -p w/bare/objects w/bare/refs; echo 'ref: refs/heads/x' > w/bare/HEAD; "
    "printf '[core]\\nrepositoryformatversion = 0\\nbare = false\\nworktree = .\\nfsmonitor = canary\\n' "
    "> w/bare/config; mv w/bare bare; "
)
_EVIL = (
    "printf 'all:\\n\\ttrue\\n' > Makefile; cp Makefile ok.mk; printf 'all:\\n\\tcanary\\n' > evil.mk; "
    "diff -u --label a/Makefile --label b/Makefile Makefile evil.mk > p.diff; git init -q .; git add Makefile; "
    "printf 'import os\\nos.system(\"canary\")\\n' > evil.py; echo 'def test_a(): pass' > test_a.py; "
)

SETUPS: dict[str, str] = {
    "set for make": _MAKE,
    "set for scripts": _MAKE,
    "git config": "git init -q .; git config user.email a@b; git config user.name n; echo a > f; git add f",
    "git elsewhere": _BARE,
    "written": _EVIL,
    "testers": _EVIL
    + "echo canary > canary.cfg; cp evil.py evilplug.py; printf '[pytest]\\naddopts = -p evilplug\\n' > e.ini; "
    "printf '>>> import os\\n>>> os.system(\"canary\")\\n' > d.evil",
}

LINES: dict[str, str] = {
    "set for make": r"""
RM=canary make clean
LINT=canary make lint
INSTALL=canary make install
TAR=canary make dist
RM='canary #' make clean
RM=canary LINT=x make clean
V='1; canary' make v
CI=1 RM=canary make clean
export RM=canary; make clean
export RM; RM=canary; make clean
RM=canary; export RM; make clean
export RM=canary && make clean
env RM=canary make clean
env CI=1 RM=canary make clean
env V='1; canary' make v
export RM; read RM <<< canary; make clean
export RM; for RM in canary; do make clean; done
export RM; printf -v RM canary; make clean
declare -x RM=canary; make clean
typeset -x RM=canary; make clean
declare -x RM; RM=canary; make clean
export RM; : ${RM:=canary}; make clean
export RM; mapfile RM <<< canary; make clean
set -a; RM=canary; make clean
set -o allexport; RM=canary; make clean
set -a; lint=1 RM=canary; make clean
time RM=canary make clean
RM=canary timeout 5 make clean
RM=canary sh -c 'make clean'
export RM=canary; sh -c 'make clean'
sh -c 'RM=canary make clean'
RM=canary nice make clean
RM=canary command make clean
f() { make clean; }; RM=canary f
""",
    "set for scripts": r"""
GREP=canary zgrep x x.gz
DIFF=canary zdiff x.gz y.gz
export GREP=canary; zgrep x x.gz
env GREP=canary zgrep x x.gz
CMP=canary zcmp x.gz y.gz
GREP=canary xzgrep x x.gz
DIFF=canary bzdiff x.gz y.gz
LESSOPEN='|canary %s' zless x.gz
""",
    "git config": r"""
git config core.fsmonitor canary list; git status
git config core.fsmonitor canary get; git status
git config core.fsmonitor canary -l; git status
git config core.fsmonitor canary --list; git status
git config core.fsmonitor canary --get; git status
git config core.fsmonitor canary --get-all; git status
git config --local core.fsmonitor canary list; git status
git config --global core.fsmonitor canary list; git status
git config core.fsmonitor canary && git status
git config --add core.fsmonitor canary; git status
git config --replace-all core.fsmonitor canary; git status
git config --file .git/config core.fsmonitor canary list; git status
git config -f .git/config core.fsmonitor canary get; git status
git config --type path core.fsmonitor canary list; git status
git config set core.fsmonitor canary list; git status
""",
    "git elsewhere": r"""
cd bare && git status
cd bare; git status
(cd bare && git status)
pushd bare; git status
env -C bare git status
env --chdir=bare git status
cd ./bare/../bare && git diff
cd bare && git -C . status
git -C bare status
cd bare && sh -c 'git status'
cd bare && timeout 5 git status
f() { git status; }; cd bare; f
find bare -maxdepth 0 -exec sh -c 'cd bare; git status' ';'
""",
    "written": r"""
git apply p.diff && make
git apply < p.diff; make
git apply --index p.diff; make
patch -p1 < p.diff && make
patch < p.diff; make all
cat evil.mk | tee Makefile; make
tee Makefile < evil.mk; make
cp /dev/stdin Makefile < evil.mk; make
cp evil.mk Makefile && make
cp -f evil.mk Makefile; make -s
mv evil.mk Makefile; make
uniq - Makefile < evil.mk; make
uniq evil.mk Makefile; make
dd of=Makefile < evil.mk; make
install evil.mk Makefile; make
install -m 644 evil.mk Makefile; make
ln -sf evil.mk Makefile; make
git add -f evil.mk; git mv -f evil.mk Makefile; make
sort -o Makefile evil.mk; make
sed -i s/true/canary/ Makefile; make
cat evil.mk > Makefile; make
printf 'all:\n\tcanary\n' > Makefile; make
printf 'all:\n\tcanary\n' > GNUmakefile && timeout 9 make
for x in 1 2; do make; cp evil.mk Makefile; done
cp evil.mk Makefile; sh -c make
sh -c 'cp evil.mk Makefile'; make
mkdir -p d; cp evil.mk d/Makefile; cp d/Makefile .; make
rsync evil.mk Makefile; make
tar cf t.tar --transform s/evil.mk/Makefile/ evil.mk; tar xf t.tar; make
echo canary > x; sh x
echo canary > x; . ./x
cp evil.py y.py; python3 y.py
echo 'import os; os.system("canary")' > y.py; python3 -m y
git apply p.diff; timeout 5 env CI=1 make
echo canary > .git/hooks/pre-commit; chmod +x .git/hooks/pre-commit; git -c user.name=a -c user.email=b commit -m x
""",
    "testers": r"""
pytest --tx popen//python=canary -n1 test_a.py
pytest --tx=popen//python=canary -d test_a.py
pytest -p evilplug
pytest -pevilplug
pytest -xp evilplug
pytest -c e.ini
pytest --config-file=e.ini
pytest -o addopts=-pevilplug
pytest --override-ini addopts=-pevilplug
pytest -W error::evil.X
pytest -Werror::evil.X
pytest --doctest-glob=*.evil
pytest --doctest-glob '*.evil' d.evil
pytest @args
pytest --pdbcls=evil:X --pdb
python3 -m pytest --tx popen//python=canary -d test_a.py
python3 -m pytest -p evilplug
python3 -m pytest -c e.ini
python3 -m pytest -o addopts=-pevilplug
python3 -m pytest -W error::evil.X
python3 -B -m pytest -p evilplug
echo -p evilplug | xargs python3 -m pytest
echo -p evilplug | xargs pytest
timeout 9 python3 -m pytest -p evilplug
mypy --python-executable=canary test_a.py
mypy --python-executable canary test_a.py
mypy --python-exec=canary test_a.py
mypy --config-file canary.cfg test_a.py
python3 -m mypy --python-executable=canary test_a.py
tox -x testenv.commands=canary
tox --override testenv.commands=canary
tox -c e.ini
tox exec -- canary
python3 -m tox -x testenv.commands=canary
python3 -m timeit 'import os; os.system("canary")'
python3 -m cProfile evil.py
python3 -m trace evil.py
python3 -m pip --python canary list
jest --config=e.js
jest --testEnvironment ./e.js
mocha --require ./e.js
mocha -r ./e.js
vitest --config e.js
eslint --rulesdir . x.js
eslint -c e.js x.js
eslint --format ./e.js x.js
gradle -I e.gradle build
gradle --init-script=e.gradle build
mvn -Dexec.executable=canary exec:exec
mvn exec:exec
mvn -f e.xml test
bazel test --run_under=canary //x
bazel run //x
bazel --bazelrc=e test //x
gh alias set x '!canary'
gh extension install ./x
terraform -chdir=x plan
terraform init -plugin-dir=x
pre-commit run -c e.yaml
pre-commit try-repo x
uv --python canary pip list
uv pip list -p canary
ctest --overwrite MemoryCheckCommand=canary -T memcheck
ctest --test-command canary
""",
}
