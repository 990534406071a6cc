"""What is seen of a command, looker by looker; and that everyday commands pass under narrow rules."""

import shlex

import pytest

from agent_exec.policy.facts import Facts
from agent_exec.policy.policy import Policy
from agent_exec.policy.programs.effects import EXACT, NEVER, Effects
from agent_exec.policy.programs.inspect import alternatives, inspect
from agent_exec.policy.programs.option_table import rows
from agent_exec.policy.programs.program_table import TABLE
from agent_exec.policy.rule import Rule
from agent_exec.policy.shell.word import Word, known


def see(line: str) -> Effects:
    return inspect(known(shlex.split(line)))


def inner(effects: Effects) -> list[str]:
    return [" ".join("…" if word.text is None else word.text for word in words) for words in effects.inner]


# A command, what it runs in turn ("…" is unknown), and whether it needs no rule of its own.
WRAPPED = [
    ("env a", ["a"], True),
    ("env -i -u X A=1 B=2 a b", ["a b"], True),
    ("env", [], False),
    ("env A=1", [], False),
    ("timeout -k 1 -s KILL 5 a b", ["a b"], True),
    ("timeout --fore 5 a", ["a"], True),
    ("nice a", ["a"], True),
    ("nice -n 5 a", ["a"], True),
    ("nice -5 a", ["a"], True),
    ("nohup setsid a", ["setsid a"], True),
    ("stdbuf -oL -e 0 a", ["a"], True),
    ("taskset -c 0 a", ["a"], True),
    ("busybox a b", ["a b"], True),
    ("xargs a", ["a …"], True),
    ("xargs -n1 -P 4 a b", ["a b …"], True),
    ("xargs -I X a X b", ["a … b"], True),
    ("xargs -I{} a {}", ["a …"], True),
    ("xargs -i a {}", ["a …"], True),
    ("xargs -it a t", ["a …"], True),
    ("xargs --replace a {}", ["a …"], True),
    ("xargs --max-lines a", ["a …"], True),
    ("xargs -I x -I y a x y", ["a … …"], True),
    ("xargs -I x -n1 a x", ["a … …"], True),
    ("xargs", [], False),
    ("sudo -u root a", ["a"], False),
    ("doas a", ["a"], False),
    ("chroot / a", ["a"], False),
    ("unshare -r a", ["a"], False),
    ("ssh-agent a", ["a"], False),
    ("flock -n f a b", ["a b"], False),
    ("find . -exec a {} ;", ["a …"], False),
    ("find . -exec a {} + -execdir b ;", ["a …", "b"], False),
    ("find . -exec a -exec b ;", ["a -exec b", "b"], False),
    ("git bisect run a b", ["a b"], False),
]


@pytest.mark.parametrize(("line", "runs", "transparent"), WRAPPED, ids=[row[0] for row in WRAPPED])
def test_what_a_wrapper_runs_is_seen(line: str, runs: list[str], transparent: bool) -> None:
    effects = see(line)
    assert (inner(effects), effects.transparent) == (runs, transparent)


# A command, the shell lines it runs, and where the last word is that a rule has to reach.
LINED = [
    ("sh -c 'a b'", ["a b"], -1),
    ("bash -euo pipefail -c a", ["a"], -1),
    ("bash -c -- a", ["a"], -1),
    ("watch -n 1 a b", ["a b"], -1),
    ("flock f -c 'a b'", ["a b"], -1),
    ("su root -c a", ["a"], 3),
    ("su - root -s /bin/sh -c a", ["a"], 6),
    ("runuser -l root --session-command=a", ["a"], 3),
    ("sg root 'a b'", ["a b", "a b"], 2),
    ("script -qc a f", ["a"], 3),
    ("tar xf t --to-command=a", ["a"], 3),
    ("tar xf t --to-com a", ["a"], 4),
    ("tar cf t d --checkpoint-action=exec=a", ["a"], 4),
    ("sort --compress-program=a f", ["a"], 1),
    ("sort --comp a f", ["a"], 2),
    ("split f --filter a", ["a"], 3),
    ("rg --pre a x", ["a"], 2),
    ("diff3 --diff-program=a f f f", ["a"], 1),
    ("pip --python a list", ["a"], 2),
    ("dpkg --pre-invoke=a -i x", ["a"], 3),
    ("git -c core.pager=a log", ["a"], 2),
    ("git -c 'alias.x=!a b' x", ["a b"], 3),
    ("git rebase --exec a HEAD~1", ["a"], 4),
    ("git clone --upload-pack=a . x", ["a"], 4),
    ("git submodule foreach a b", ["a b"], 4),
    ("go build --toolexec=a", ["a"], 2),
    ("gcc -wrapper a x.c", ["a"], 2),
    ("npm run x --script-shell a", ["a"], 4),
]


@pytest.mark.parametrize(("line", "runs", "need"), LINED, ids=[row[0] for row in LINED])
def test_what_a_shell_would_run_is_seen(line: str, runs: list[str], need: int) -> None:
    effects = see(line)
    assert (effects.lines, effects.need) == (runs, need)


# A command, the word that a rule has to reach, and whether it asks even where no rule is concerned;
# or where code in a language of its own comes from.
NEEDS = [
    ("ls -l", -1, False),
    ("sh x.sh", 1, False),
    ("sh", NEVER, True),
    ("bash -s", NEVER, True),
    ("bash -c +x a", NEVER, True),
    ("bash -c - a", NEVER, True),
    ("bash -rcfile f -i", NEVER, True),
    ("bash -o history -c a", NEVER, True),
    ("zsh -c a", NEVER, True),
    ("chroot /", NEVER, True),
    ("unshare -m", NEVER, True),
    ("sudo -s", NEVER, True),
    ("sudo -i $X", NEVER, True),
    ("su", NEVER, True),
    ("env -S a", NEVER, True),
    ("strace a b", 2, True),
    ("logsave o a", 2, True),
    ("python3 x.py --flag", 1, False),
    ("python3 -c 1 x", 2, "words"),
    ("python3 -m pytest -q", 2, False),
    ("python3 -Bc 1", 2, "words"),
    ("python3 --version", -1, False),
    ("python3", EXACT, "input"),
    ("python3 -q", 1, "input"),
    ("python3 - x", 1, "input"),
    ("psql", EXACT, "words"),
    ("tmux", EXACT, True),
    ("perl -ne 1 f", 3, "words"),
    ("ex -V", 1, "words"),
    ("tclsh --version", 1, "words"),
    ("node -p 1", 2, "words"),
    ("pydoc3 x", 1, False),
    ("awk '{print $1}' f", -1, False),
    ("awk 'NR>1 {print}' f", -1, False),
    ("awk '{print > 1}' f", 1, True),
    ("awk -F: '{print|1}' f", 2, True),
    ("awk -f p f", 3, True),
    ("sed -n 1p f", -1, False),
    ("sed s/a/b/e f", 1, True),
    ("sed -i s/a/b/ f", 1, False),
    ("sed -i '' 's/a/b/w x' f", 3, True),
    ("sed -f s f", 3, True),
    ("find . -delete", 2, False),
    ("find . -exec", NEVER, True),
    ("tar -Ia cf t d", 2, True),
    ("tar cIf a t d", 4, True),
    ("tar -xfI", -1, False),
    ("make -sf m", 2, False),
    ("make -sE x", 2, True),
    ("make X=1 all", 1, True),
    ("make '$(shell a)'", 1, True),
    ("git status", -1, False),
    ("git x", 1, False),
    ("git -C d status", 2, False),
    ("git grep -F -Oa b", 4, True),
    ("git rebase -m -xa b", 4, True),
    ("git merge-index a -a", 3, True),
    ("git config user.name", -1, False),
    ("git config --get-all x.y", -1, False),
    ("git config user.name x", 3, False),
    ("git config alias.x !a", 3, False),
    ("git fetch ext::a", 2, True),
    ("git -c color.ui=never log", -1, False),
    ("vim.tiny f", 1, "words"),
    ("curl -XPOST -HContent-Type:x u", -1, False),
    ("curl -so f u", 2, False),
    ("wget -qO- u", -1, False),
    ("wget -e x=y u", 2, True),
    ("apt-get -yo X=y update", 2, True),
    ("cmake -DCMAKE_C_COMPILER=a .", 1, True),
    ("pip install x", 1, False),
    ("uv run pytest -q", 2, True),
    ("npm exec a", 2, True),
    ("x86_64-linux-gnu-gcc-12 -wrapper a", 2, True),
    ("ld-linux-x86-64.so.2 a", 1, True),
    ("man -P a ls", 2, True),
    ("zip -T x.zip f", 2, True),
]


@pytest.mark.parametrize(("line", "need", "guard"), NEEDS, ids=[row[0] for row in NEEDS])
def test_a_rule_must_reach_what_decides(line: str, need: int, guard: bool | str) -> None:
    effects = see(line)
    assert (effects.need, effects.guard or effects.code or False) == (need, guard)


@pytest.mark.parametrize(
    "program", "tar sort git find sed make less gcc npm curl go xargs env sh python3".split()
)
def test_no_rule_reaches_a_word_that_may_become_an_option(program: str) -> None:
    effects = inspect((Word(program), Word(None, source="$x", single=False)))
    reached = Rule([program], "allow")
    assert effects.need >= 1 or program == "xargs"
    assert Policy([reached]).judge(f"{program} $x", Facts("/w")).kind == "ask"


def test_a_word_that_is_surely_no_option_is_none() -> None:
    for line in (
        'sort ./"$x"',
        'sort -- "$x"',
        'git diff -- "$x"',
        'sed -n 1p ./"$x"',
        'tar cf x.tar ./"$x"',
    ):
        assert Policy([Rule([line.split()[0]], "allow")]).judge(line, Facts("/w")).kind == "allow", line


def test_variables_that_are_set_on_the_way_are_seen() -> None:
    assert see("env A=1 LD_PRELOAD=x a").sets == ["A", "LD_PRELOAD"]
    assert see("sudo A=1 a").sets == ["A"]


def test_another_directory_is_noted() -> None:
    assert see("env -C d a").moved
    assert see("find . -execdir a ;").moved
    assert not see("find . -exec a ;").moved


def test_git_is_also_held_against_rules_without_its_options() -> None:
    [plain] = alternatives(known(["git", "-C", "d", "--no-pager", "push", "x"]))
    assert [word.text for word in plain] == ["git", "push", "x"]
    assert alternatives(known(["git", "push"])) == ()


GIT = [["git", ["status", "log", "diff", "show", "add", "commit", "branch", "config"]]]
# Rules, then commands that they are there for.
EVERYDAY: list[tuple[list[list[str | list[str]]], str]] = [
    (
        GIT,  # type: ignore[list-item]
        """
        git status -s
        git log --oneline -5
        git log --author=x --since=yesterday --stat --graph
        git diff HEAD~1 -- x
        git diff --stat
        git commit -m "msg"
        git commit -am "x y"
        git commit -m "- Say S::x"
        git commit -m "$MESSAGE"
        git add -A
        git branch -a
        git show HEAD:file
        git config --get user.name
        """,
    ),
    (
        [["pytest"], ["make"], ["cat"], ["grep"], ["wc"], ["ls"], ["rm", "x"]],
        """
        timeout 60 pytest -q
        env CI=1 nice -n 5 pytest -q
        make -j8 test
        make -k
        bash -euo pipefail -c 'ls | wc -l'
        ls | xargs -n1 wc -l
        ls | xargs -I{} cat {}
        xargs -a f grep -l x
        nohup make -s test
        """,
    ),
    (
        [["sed"], ["awk"], ["tar"], ["find"], ["grep"], ["sort"]],
        """
        sed -n '1,20p' f
        sed 's/a/b/g' f
        sed -e 's/x/y/' -e '/^#/d' f
        sed -ne '/^[a-z]/p' f
        sed '/^$/d;s|[^/]*$||' f
        sed ':a;N;$!ba;s/\\n/ /g' f
        sed -n '/start/,/end/{p;}' f
        sed '$a foo bar' f
        sed -E 's/([0-9]+)/<\\1>/' f
        awk '{print $1}' f
        awk -F: '{print $1}' /etc/passwd
        awk 'NR==1'
        awk 'NR>1 {print $2}' f
        awk -v x=1 '$1==x || $2==x' f
        tar czf x.tgz d
        tar xf x.tgz -C d
        tar -xzf Foo.tgz --strip-components=1
        find . -name '*.py' -type f
        find . -type f -exec grep -l x {} +
        sort -t: -k2,2n f
        """,
    ),
    ([["sed", "-i"], ["sed", "-n"]], "sed -i 's/a/b/' f\nsed -n 1p f"),
    (
        [
            ["python3", "x.py"],
            ["python3", "-m", "pytest"],
            ["node", "x.js"],
            ["sh", "x.sh"],
            ["uv", "run", "pytest"],
        ],
        "python3 x.py --flag\npython3 -m pytest -q\nnode x.js a\nsh x.sh a\nuv run pytest -q",
    ),
    (
        [
            ["npm", ["test", "install", "run", "ci"]],
            ["cargo"],
            ["go", ["build", "test"]],
            ["docker", "ps"],
            ["pip", "install"],
        ],
        """
        npm test
        npm run build
        npm install --save-dev typescript
        npm ci
        cargo build --release
        cargo test -- --nocapture
        go test ./...
        go build -o bin/x ./cmd/x
        docker ps -a
        pip install requests
        """,
    ),
    (
        [
            ["curl"],
            ["wget"],
            ["rsync"],
            ["gcc"],
            ["cmake"],
            ["rg"],
            ["fd"],
            ["zip"],
            ["less"],
            ["man"],
            ["apt-get"],
        ],
        """
        curl https://x/y
        curl -fsSL -XPOST -H 'Content-Type: x' -d '{}' https://x/y
        wget -qO- https://x/y
        rsync -av --delete a/ b/
        gcc -O2 -DBUILD -Wall -o x x.c
        cmake -S . -B build -DCMAKE_BUILD_TYPE=Release
        cmake --build build -j8
        rg -n foo src
        fd -e py
        zip -r x.zip d
        less f
        man ls
        apt-get install -y jq
        """,
    ),
]
EVERYDAY_LINES = [(rules, line.strip()) for rules, text in EVERYDAY for line in text.strip().splitlines()]


@pytest.mark.parametrize(("rules", "line"), EVERYDAY_LINES, ids=[line for _, line in EVERYDAY_LINES])
def test_everyday_commands_pass_under_narrow_rules(rules: list[list[str | list[str]]], line: str) -> None:
    verdict = Policy([Rule(prefix, "allow") for prefix in rules]).judge(line, Facts("/w"))
    assert verdict.kind == "allow", verdict.reason


@pytest.mark.parametrize(
    "command",
    ["strace -f rm x", "npx rm x", "uv run rm x", "parallel -j2 rm", "ssh host rm x", "tmux new -d rm x"],
)
def test_what_others_would_run_can_be_denied(command: str) -> None:
    assert Policy([Rule([], "allow"), Rule(["rm"], "deny")]).judge(command).kind == "deny"
    assert Policy([Rule([], "allow"), Rule(["rm"], "ask", reason="x")]).judge(command).reason == "x"


@pytest.mark.parametrize(
    ("command", "kind"),
    [
        ("git --no-pager log -3", "allow"),
        ("git -c color.ui=never log", "allow"),
        ("git -C x log", "ask"),
        ("git --no-pager -c core.pager=x log", "ask"),
        ("git --no-pager push", "ask"),
    ],
)
def test_harmless_words_before_a_command_of_git_need_no_rule(command: str, kind: str) -> None:
    assert Policy([Rule(["git", "log"], "allow")]).judge(command).kind == kind


FIELDS = {
    "whole": "whole",
    "opaque": "opaque",
    "wrap": "wrap valued flags moves shell never apart",
    "code": "code module flags run asking",
    "line": "line operands",
    "run": "run hard starts",
    "": "runs hard soft letters soft_letters valued verbs soft_verbs starts marks fine harmless",
}


def test_every_row_of_the_table_has_fields_that_its_kind_knows() -> None:
    for programs, row in rows(TABLE):
        kind = next(kind for kind in FIELDS if kind in row or not kind)
        assert programs
        assert row
        assert set(row) <= set(FIELDS[kind].split()), programs


def test_no_program_has_two_rows() -> None:
    named = [program for programs, _ in rows(TABLE) for program in programs]
    assert [program for program in named if named.count(program) > 1] == []
