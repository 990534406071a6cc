"""Looks for shell lines that the judge lets pass although a real shell runs a denied program for them.

    .venv/bin/python tools/fuzz_policy.py --seed 1 --lines 100000

Lines are generated from a grammar that joins its pieces in odd ways, and by
mutation of the lines in tests/policy. Each is judged by the broadest policy
(all is allowed but `canary`) and by the smallest (only `canary` is denied).
What passes is run by bash, dash and zsh, in a folder that is thrown away, under
limits, with a `canary` that leaves a mark. A line that passed and left the
mark is a failure. The same seed gives the same lines.
"""

import argparse
import os
import random
import re
import resource
import select
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parent.parent
CANARY = "canary"
SECONDS = 3
"""How long a line may run."""
PROGRAMS = """
    sh bash dash zsh ls cat true false head tail wc sort uniq tr cut seq sleep basename dirname date env
    timeout nice nohup xargs find sed awk grep printf echo test expr tee touch mkdir diff cmp comm paste
    fold rev tac stdbuf setsid
""".split()
NOBODY = 61934
"""Who runs the lines when root runs this: the limit of processes does not hold for root."""
_UNSAFE = re.compile(
    r"kill|ulimit|sudo|sleep|while :|~|\.\./"
    r"|/(?!dev/null\b|dev/std|bin/(?:sh|bash|echo|true)\b)(?=[\w*?\[{$])"
)
"""What is not run outside of a box: signals, and paths that lead out of the folder."""


def _of(text: str) -> list[str]:
    """Return the pieces of a text: ␣ stands for a blank, ⇥ for a tab, ⏎ for a newline, ∅ for nothing."""
    meant = str.maketrans({"␣": " ", "⇥": "\t", "⏎": "\n", "∅": ""})
    return [piece.translate(meant) for piece in text.split()]


PLAIN = _of("a b x f -n -e -- 1 - = a=b é x.y %s + : @ ^ ! in") + [CANARY] * 6
NAMES = _of("echo ls true : printf cat test [ f env command time ! x xargs")
JOINTS = [" "] * 30 + _of(r"␣␣ ⇥ ∅ ∅ ∅ \⏎ ␣\⏎ ⏎ # ␣# ; & | ''") + ["\r", "\v", "\u00a0"]
ENDS = ["; "] * 8 + _of("␣&&␣ ␣||␣ ␣|␣ ⏎ ␣&␣ ; & | ⏎⏎ ␣;⏎ && || ␣|&␣ ⏎#c⏎ ␣#␣c⏎")
VALUES = _of(r"""$x ${x} $1 $@ "$@" ${x:-b} ${#x} $# ${x%a} ${x/a/b} $! """)
SPREADS = _of("{a,b} {1..2} { } * ? [a] [ ] {a a} {}")
ESCAPES = _of(r"\a \⏎ \␣ \' \" \# # \\ $ \; \( =( ()")
QUOTED = _of(r"""canary a ∅ a␣b $x $(canary) `canary` # \ ⏎ ;canary; ' " """)
QUOTES = _of(r"""'{}' '{}' "{}" "{}" $'{}' $"{}" '\''{}'\'' "\"{}" $'\'{}' """)
TAILS = [""] * 6 + _of(r"#a a # () 'b' $x [0] =1 \⏎ ; { \ ")
REDIRECTIONS = _of("> > >> < >& <& >| <> <<< &> >&- <&- 2>&1 >&2 &>>")
MARKS = _of(r"""EOF 'EOF' "EOF" \EOF E'O'F EOF -EOF 'E␣F' $x""")
BODIES = _of(r"∅ canary⏎ $(canary)⏎ `canary`⏎ a\⏎ ⇥EOF⏎ EOF␣⏎ $x⏎")
RESTS = _of(r"∅ ∅ ∅ ∅ ;␣canary ␣|␣cat ␣canary ␣#c ␣&&␣ls ) ␣\ ")
GROUPS = _of("{␣ ;␣} ( ) (␣ ␣) { } {⏎ ⏎} (( )) (( )␣) !␣ ∅")
PATTERNS = _of("""x * (x a|b x* @(x) "x" in esac # $x [x)] x␣""")
FUNCTIONS = _of("f()␣{␣ f␣()␣{␣ function␣f␣{␣ f()⏎{␣ f()␣(␣ function␣f()␣{␣ f(){␣")
SCRAPS = _of(
    r"""
    canary canary canary ; & | && || |& ;; ;& ( ) { } [ ] [[ ]] (( )) $( $(( ${ } ` ' " $' $" \ # ##
    < > >> >| <> >& <& &> &>> <<< << <<- <<EOF <<'EOF' EOF <( >( ! = += x= x=( x=() x+=() x[0]=
    x=()# a=(1)# declare␣-a␣ declare␣ local export readonly typeset unset eval exec time coproc
    {fd}> {fd}<&- 2>&- >&- <&- >&-x 2>&1 &>f >f <f 1>&2 in do done then fi if elif else while until
    for select case esac function f() () * ? @( !( +( ?( *( $x ${x} ${x:-} ${x:-canary} ${!x} ${x@P}
    $$ $! $? $# $@ "$@" $* -- - -c -v -x 0 1 1< EXIT trap set shopt alias \\ \' \" \` \$ '' "" 'a␣b'
    "a␣b" $'a\'b' $"a" {a,b} {1..3} a{ }b true false : test let builtin command env xargs sh eval␣
    $(canary) `canary` <(canary) ␣ ␣ ␣ ⏎ ⏎ ⇥ \⏎ ␣# ⏎EOF⏎ ␣] [␣ {␣ ␣} ;␣} ␣) (␣
    """
)


class Grammar:
    """Makes lines from a grammar of the shell's; what joins two pieces is now and then a wrong thing."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self._pick = chance.choice
        self._room = 24

    def line(self) -> str:
        """Return a list of commands."""
        made = self._command()
        while self._chance.random() < 0.45:
            made += self._pick(ENDS) + self._command()
        return made

    def _command(self) -> str:
        self._room -= 1
        if self._room < 0 or self._chance.random() < 0.55:
            return self._simple()
        compound = (self._group, self._choice, self._loop, self._case, self._function, self._condition)
        made = self._pick(compound)()
        return made + (self._pick(JOINTS) + self._redirection() if self._chance.random() < 0.15 else "")

    def _gap(self) -> str:
        return self._pick(JOINTS) if self._chance.random() < 0.4 else " "

    def _simple(self) -> str:
        chance, pick = self._chance, self._pick
        pieces = [self._assignment() for _ in range(pick((0, 0, 0, 1, 1, 2)))]
        if not pieces or chance.random() < 0.7:
            pieces.append(pick(NAMES) if chance.random() < 0.85 else self._word())
            pieces += [self._argument() for _ in range(pick((0, 1, 1, 2, 3)))]
        if chance.random() < 0.06:
            pieces.insert(0, pick(_of("time ! coproc exec command builtin eval time␣-p")))
        if chance.random() < 0.08:
            pieces.insert(0, pick(_of("declare export local readonly typeset declare␣-a unset")))
        made = pieces[0]
        for piece in pieces[1:]:
            made += pick(JOINTS) + piece
        return made

    def _argument(self) -> str:
        value = self._chance.random()
        if value < 0.12:
            return self._redirection()
        return self._assignment() if value < 0.18 else self._word()

    def _assignment(self) -> str:
        chance, pick = self._chance, self._pick
        value = self._array() if chance.random() < 0.4 else self._word() if chance.random() < 0.8 else ""
        return pick(_of("x y x[0] x[y] a_b 1x x␣")) + pick(_of("= = = += =␣ ==")) + value

    def _array(self) -> str:
        items = self._gap().join(self._word() for _ in range(self._pick((0, 0, 1, 2))))
        return f"({items}{self._pick(_of('∅ ∅ ␣ ⏎ #c⏎'))}){self._pick(TAILS)}"

    def _word(self) -> str:
        return "".join(self._part() for _ in range(self._pick((1, 1, 1, 1, 2, 2, 3))))

    def _part(self) -> str:
        pick = self._pick
        self._room -= 1
        value = self._chance.random()
        if value < 0.45 or self._room < 0:
            return pick(PLAIN)
        if value < 0.6:
            return pick(QUOTES).format(pick(QUOTED))
        if value < 0.72:
            return pick(VALUES)
        if value < 0.78:
            return f"${{x{pick(_of(':- := - :+ # % / @ [ :'))}{self._word()}}}"
        if value < 0.84:
            return f"$({self.line()}{pick(_of(') ) ␣) ⏎) #c⏎)'))}"
        if value < 0.87:
            return pick(_of("<( >( ` $(( $[ @( !( ?(")) + self._command() + pick(_of(") ` )) ]"))
        return pick(SPREADS) if value < 0.91 else pick(ESCAPES)

    def _redirection(self) -> str:
        pick = self._pick
        if self._chance.random() < 0.2:
            end = pick(_of("EOF EOF EOF ⇥EOF EOF␣ E␣F $x ∅"))
            return f"<<{pick(MARKS)}{pick(RESTS)}\n{pick(BODIES)}{end}\n"
        gap = pick(JOINTS) if self._chance.random() < 0.3 else ""
        return (
            pick(_of("∅ ∅ ∅ 2 1 {fd} x &"))
            + pick(REDIRECTIONS)
            + gap
            + pick([*_of("f f ∅ 1 -"), self._word()])
        )

    def _group(self) -> str:
        at = self._chance.randrange(len(GROUPS) // 2) * 2
        return GROUPS[at] + self.line() + GROUPS[at + 1]

    def _choice(self) -> str:
        pick = self._pick
        otherwise = f"; else {self._command()}" if self._chance.random() < 0.3 else ""
        then = pick(_of(";␣then␣ ⏎then⏎ ;then␣ ␣then␣"))
        return f"if {self._command()}{then}{self._command()}{otherwise}{pick(_of(';␣fi ⏎fi ;fi ␣fi'))}"

    def _loop(self) -> str:
        pick = self._pick
        head = pick([f"for x in {self._word()}", *_of("for␣x for␣x␣in until␣true for␣((;0;)) select␣x␣in")])
        do, done = pick(_of(";␣do␣ ⏎do␣ ;do␣ ␣do␣ ;␣{␣")), pick(_of(";␣done ⏎done ;done ;␣}"))
        return head + do + self.line() + done

    def _case(self) -> str:
        end = self._pick(_of(";;␣esac ;;esac ⏎esac ;&␣esac ;␣esac ;;␣*)␣ls;;␣esac ;;#c⏎esac"))
        return f"case {self._word()} in{self._gap()}{self._pick(PATTERNS)}){self._gap()}{self.line()}{end}"

    def _function(self) -> str:
        return self._pick(FUNCTIONS) + self.line() + self._pick(_of(";␣} ⏎} ␣) ;␣};␣f ⏎}⏎f"))

    def _condition(self) -> str:
        pick = self._pick
        form = pick(("[ {} ]", "[[ {} ]]", "[[{}]]", "test {}", "(({}))"))
        operator = self._gap() + pick(_of("= == =~ -eq < -a && -nt")) + self._gap()
        return form.format(pick(_of("-n␣ -v␣ !␣ ∅ (␣")) + self._word() + operator + self._word())


def mutated(chance: random.Random, corpus: list[str]) -> str:
    """Return a line of the corpus in which pieces were put, cut, replaced or taken from others."""
    line = chance.choice(corpus)
    for _ in range(chance.choice((1, 1, 1, 2, 2, 3))):
        at = chance.randrange(len(line) + 1)
        end = min(len(line), at + chance.choice((0, 0, 0, 0, 1, 1, 2, 4)))
        other = chance.choice(corpus)
        start = chance.randrange(len(other) + 1)
        scrap = other[start : start + chance.randrange(1, 30)]
        new = chance.choice((chance.choice(SCRAPS), chance.choice(SCRAPS), chance.choice(SCRAPS), scrap, ""))
        line = line[:at] + new + line[end:]
    return line


def corpus() -> list[str]:
    """Return the lines of tests/policy that can be run anywhere."""
    tests = str(ROOT / "tests")
    if tests not in sys.path:
        sys.path.insert(0, tests)
    from policy import corpus_programs, corpus_shell, lines_shell

    lines = [line for lines in lines_shell.SINGING.values() for line in lines]
    lines += [line for line, _ in corpus_shell.EVERYDAY]
    lines += [*corpus_shell.ALLOWED, *lines_shell.SEEMING, *corpus_programs.ALLOWED.strip().splitlines()]
    return [line for line in lines if len(line) < 300 and not _UNSAFE.search(line)]


def generate(seed: int, number: int, lines: list[str]) -> str:
    """Return line `number` of a seed; it names the canary."""
    chance = random.Random(f"{seed}:{number}")
    while True:
        line = Grammar(chance).line() if chance.random() < 0.5 else mutated(chance, lines)
        if chance.random() < 0.1:
            line = mutated(chance, [line])
        if CANARY in line and len(line) < 400 and "\0" not in line and not _UNSAFE.search(line):
            return line


class Cage:
    """A folder that is thrown away, with the canary and few other programs, and limits."""

    def __init__(self) -> None:
        self.root = Path(tempfile.mkdtemp(prefix="fuzz-policy-"))
        self.root.chmod(0o711)
        self.programs = self.root / "programs"
        self.home = self.root / "home"
        self.mark = self.root / "marks" / "mark"
        for folder in (self.programs, self.home, self.mark.parent):
            folder.mkdir()
            folder.chmod(0o777)
        for name in PROGRAMS:
            found = shutil.which(name)
            if found is not None:
                (self.programs / name).symlink_to(Path(found).resolve())
        canary = self.programs / CANARY
        canary.write_text(f"#!/bin/sh\n: >> '{self.mark}'\n")
        canary.chmod(0o755)
        self.programs.chmod(0o755)
        self.user = NOBODY if os.geteuid() == 0 else None
        self.processes = 60 + (0 if self.user else _processes())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._clear()
        shutil.rmtree(self.root, ignore_errors=True)

    def runs_canary(self, shell: str, line: str) -> bool:
        """Run a line; True if the canary was run."""
        self.mark.unlink(missing_ok=True)
        reader, writer = os.pipe()
        process = subprocess.Popen(
            [shell, "-c", line],
            cwd=self.home,
            env={"PATH": str(self.programs), "HOME": str(self.home), "LC_ALL": "C.UTF-8"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            pass_fds=(writer,),
            user=self.user,
            group=self.user,
            extra_groups=[] if self.user else None,
            preexec_fn=self._limit,  # noqa: PLW1509 - no thread of this program holds a lock
        )
        os.close(writer)
        try:
            # All that the line started holds the other end.
            select.select([reader], [], [], SECONDS)
        finally:
            os.close(reader)
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except (ProcessLookupError, PermissionError):
                pass
            process.wait()
        if any(self.home.iterdir()):
            self._clear()
        return self.mark.exists()

    def _limit(self) -> None:
        for name, value in (
            (resource.RLIMIT_CPU, SECONDS),
            (resource.RLIMIT_FSIZE, 1 << 16),
            (resource.RLIMIT_CORE, 0),
            (resource.RLIMIT_AS, 1 << 29),
            (resource.RLIMIT_NPROC, self.processes),
        ):
            resource.setrlimit(name, (value, value))

    def _clear(self) -> None:
        for entry in self.home.iterdir():
            if stat.S_ISDIR(entry.lstat().st_mode):
                shutil.rmtree(entry, ignore_errors=True)
            else:
                entry.unlink(missing_ok=True)


def _processes() -> int:
    """Return how many processes this user has, which count for the limit."""
    mine = os.getuid()
    count = 0
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            count += entry.stat().st_uid == mine and len(os.listdir(entry / "task"))
        except OSError:
            continue
    return count


class Tally:
    """How many lines were judged, passed and were run, and those that failed."""

    def __init__(self) -> None:
        self.judged = self.passed = self.sung = 0
        self.failures: list[tuple[str, str, str]] = []


def fuzz(seed: int, lines: int, start: int = 0, *, until: float | None = None) -> "Iterator[Tally]":
    """Judge so many lines, and run those that pass; yield the tally after each line."""
    from agent_exec.policy.facts import Facts
    from agent_exec.policy.policy import Policy
    from agent_exec.policy.rule import Rule

    denied = Rule([CANARY], "deny")
    broadest = Policy([Rule([], "allow"), Rule(write=["/"], verdict="allow"), denied])
    smallest = Policy([denied])
    facts = Facts("/nowhere")
    known = corpus()
    shells = [shell for shell in ("bash", "dash", "zsh") if shutil.which(shell)]
    tally = Tally()
    with Cage() as cage:
        for number in range(start, start + lines):
            if until is not None and time.monotonic() > until:
                return
            line = generate(seed, number, known)
            tally.judged += 1
            how = "allowed" if broadest.judge(line, facts).kind == "allow" else ""
            how = how or ("unmatched" if smallest.judge(line, facts).unmatched else "")
            if how:
                tally.passed += 1
                for shell in shells:
                    if cage.runs_canary(shell, line):
                        tally.failures.append((how, shell, line))
            yield tally


def main() -> int:
    """Fuzz as told by the words of the command line; exit with 1 if a line failed."""
    whole = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=whole)
    parser.add_argument("--seed", type=int, default=0, help="which lines to make (default 0)")
    parser.add_argument("--lines", type=int, default=10_000, help="how many to judge (default 10000)")
    parser.add_argument("--start", type=int, default=0, help="the number of the first one (default 0)")
    parser.add_argument("--seconds", type=float, help="stop after this time, whatever is left")
    options = parser.parse_args()
    until = None if options.seconds is None else time.monotonic() + options.seconds
    tally, shown = Tally(), 0
    for tally in fuzz(options.seed, options.lines, options.start, until=until):
        for how, shell, line in tally.failures[shown:]:
            print(f"{how} by the judge, run by {shell}: {line!r}", flush=True)
        shown = len(tally.failures)
    print(f"{tally.judged} lines judged, {tally.passed} passed and were run, {shown} ran the canary")
    return 1 if shown else 0


if __name__ == "__main__":
    sys.exit(main())
