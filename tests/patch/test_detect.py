"""Patches found in commands; what is left to the shell is really run by one. Sections are of the reference."""

import os
import random
import shutil
import subprocess
from pathlib import Path

import pytest

from agent_exec.patch.detect import Intercepted, intercept
from agent_exec.patch.errors import ImplicitPatch
from patch.trees import make, wrapped

BODY = wrapped("*** Add File: f", "+text $HOME `id` \\", "+'\"") + "\n"
CALL = f"apply_patch <<'EOF'\n{BODY}EOF\n"
HERE = Intercepted(None, BODY)

STUB = """#!/bin/sh
printf '%s\\n' "$PWD" "$#" "$@" >>"$SEEN/calls"
cat >"$SEEN/stdin"
printf x >>"$SEEN/stdin"
"""


class Shell:
    """A real shell with an `apply_patch` that only notes how it was called."""

    def __init__(self, folder: Path) -> None:
        self.work = folder / "work"
        self.seen = folder / "seen"
        make(folder, {"bin/apply_patch": STUB, "work/d/keep": "", "work/d d/keep": "", "seen/keep": ""})
        (folder / "bin" / "applypatch").symlink_to("apply_patch")
        (folder / "bin" / "apply_patch").chmod(0o755)
        self.environment = {
            "PATH": f"{folder}/bin:{os.environ['PATH']}",
            "SEEN": str(self.seen),
            "HOME": str(folder),
            "MARK": "mark",
        }

    def run(self, script: str, shell: str = "bash") -> tuple[list[str], str | None, list[str]]:
        """Return how the stub was called, what it read, and what else happened."""
        for path in self.seen.iterdir():
            path.unlink()
        before = self.files()
        out = subprocess.run(
            [shell, "-c", script],
            cwd=self.work,
            env=self.environment,
            capture_output=True,
            stdin=subprocess.DEVNULL,
            check=False,
        )
        calls, stdin = self.seen / "calls", self.seen / "stdin"
        other = [f"made {name}" for name in sorted(self.files() - before)]
        other += [f"said {out.stdout!r}"] if out.stdout else []
        other += [f"ended with {out.returncode}"] if out.returncode else []
        return (
            calls.read_text().splitlines() if calls.exists() else [],
            os.fsdecode(stdin.read_bytes()[:-1]) if stdin.exists() else None,
            other,
        )

    def files(self) -> set[str]:
        return {str(path.relative_to(self.work)) for path in self.work.rglob("*")}


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    return Shell(tmp_path)


@pytest.mark.parametrize("name", ["apply_patch", "applypatch"])
def test_called_directly(name: str) -> None:
    """§2.10: argv `[apply_patch, body]`; the body need not be a patch to be taken for one."""
    assert intercept([name, BODY]) == HERE
    assert intercept([name, "nonsense"]) == Intercepted(None, "nonsense")
    assert intercept([name]) is None
    assert intercept([name, BODY, "more"]) is None
    assert intercept([f"./{name}", BODY]) is None


@pytest.mark.parametrize(
    "argv",
    [
        ["bash", "-lc", CALL],
        ["bash", "-c", CALL],
        ["/usr/bin/zsh", "-lc", CALL],
        ["/bin/sh", "-c", CALL],
        ["C:\\Git\\bash.exe", "-lc", CALL],
        ["powershell", "-Command", CALL],
        ["pwsh.exe", "-NoProfile", "-Command", CALL],
        ["C:\\x\\PowerShell.EXE", "-noprofile", "-command", CALL],
        ["pwsh", "-NoLogo", "-NoProfile", "-Command", CALL],
        ["cmd", "/c", CALL],
        ["C:\\Windows\\System32\\cmd.exe", "/C", CALL],
    ],
)
def test_through_a_shell(argv: list[str]) -> None:
    """§2.10: the shells, and their options."""
    assert intercept(argv) == HERE


@pytest.mark.parametrize(
    "argv",
    [
        [],
        ["ls"],
        ["bash"],
        ["bash", CALL],
        ["bash", "-x", CALL],
        ["bash", "-l", "-c", CALL],
        ["bash", "-c", CALL, "argument"],
        ["fish", "-c", CALL],
        ["env", "bash", "-c", CALL],
        ["pwsh", "-File", CALL],
        ["pwsh", "-Command", "-NoProfile", CALL],
        ["cmd", "/k", CALL],
        ["cat", BODY],
        ["bash", "-c", "grep -r apply_patch ."],
        ["bash", "-c", f"cat <<'EOF'\n{BODY}EOF\n"],
    ],
)
def test_other_commands_are_run(argv: list[str]) -> None:
    assert intercept(argv) is None


PLAIN = [
    CALL,
    CALL.rstrip("\n"),
    f"\n \t\n{CALL}\n  \n\t\n",
    CALL.replace("apply_patch", "applypatch"),
    CALL.replace(" <<", "<<"),
    CALL.replace("<<", "<< \t"),
    CALL.replace("'EOF'", "'EOF' \t"),
    CALL.replace("'EOF'", '"EOF"'),
    CALL.replace("EOF", "END_OF.PATCH-1"),
]
MOVED = [
    (f"cd d && {CALL}", "d"),
    (f"cd d&&{CALL}", "d"),
    (f"  cd \t d  &&  {CALL}", "d"),
    (f"cd ./d/../d/ && {CALL}", "./d/../d/"),
    (f"cd 'd d' && {CALL}", "d d"),
    (f'cd "d d" && {CALL}', "d d"),
    (f'cd "d d"&& {CALL}', "d d"),
    (f"cd d &&\n\n  {CALL}", "d"),
]


@pytest.mark.parametrize("name", [name for name in ("bash", "zsh", "sh") if shutil.which(name)])
@pytest.mark.parametrize(("script", "workdir"), [*((script, None) for script in PLAIN), *MOVED])
def test_what_is_found_is_what_the_shell_would_do(
    shell: Shell, script: str, workdir: str | None, name: str
) -> None:
    """§2.10: one call, alone or after one `cd`; the shell does nothing else."""
    found = intercept([name, "-c", script])
    assert found == Intercepted(workdir, BODY)
    calls, stdin, other = shell.run(script, name)
    assert (calls, stdin, other) == ([found.directory(str(shell.work)), "0"], BODY, [])


QUOTED = BODY.replace("'", "'\\''")
DOUBLE = wrapped("*** Add File: f", "+text it's")
WORDS = [
    (f"apply_patch '{QUOTED}'", None, BODY),
    (f"applypatch \t '{QUOTED}' \t\n\n", None, BODY),
    (f"cd 'd d' && apply_patch '{QUOTED}'", "d d", BODY),
    (f"cd d &&\n apply_patch '{QUOTED}'\n", "d", BODY),
    (f'apply_patch "{DOUBLE}"', None, DOUBLE),
]


@pytest.mark.parametrize("name", [name for name in ("bash", "zsh", "sh") if shutil.which(name)])
@pytest.mark.parametrize(("script", "workdir", "patch"), WORDS)
def test_a_patch_may_be_the_word_of_a_call(
    shell: Shell, script: str, workdir: str | None, patch: str, name: str
) -> None:
    found = intercept([name, "-c", script])
    assert found == Intercepted(workdir, patch)
    calls, _, other = shell.run(script, name)
    assert (calls[:2], other) == ([found.directory(str(shell.work)), "1"], [])
    assert calls[2:] == f"{patch}\n".splitlines()


@pytest.mark.parametrize(
    "script",
    [
        f"apply_patch '{QUOTED}' more",
        f"apply_patch '{QUOTED}' >harm",
        f"apply_patch '{QUOTED}'; touch harm",
        f"apply_patch '{QUOTED}'\ntouch harm",
        f"apply_patch '{QUOTED}' <<'EOF'\nEOF\n",
        f"apply_patch'{QUOTED}'",
        f"apply_patch '{QUOTED}",
        f"apply_patch '{QUOTED}'x",
        f"apply_patch '{QUOTED}'$(touch harm)",
        f'apply_patch "{DOUBLE}$HOME"',
        f'apply_patch "{DOUBLE}`touch harm`"',
        f'apply_patch "{DOUBLE}\\x"',
        f"apply_patch $'{QUOTED}'",
        "apply_patch 'no patch at all'",
    ],
)
def test_a_word_that_is_more_than_a_patch_is_left_to_the_shell(script: str) -> None:
    for name in ("bash", "zsh", "sh"):
        assert intercept([name, "-c", script]) is None


def test_without_quotes_the_text_is_taken_as_it_is() -> None:
    """§2.10: literal even if unquoted: what a shell would expand in it is not run."""
    assert intercept(["bash", "-c", CALL.replace("'EOF'", "EOF")]) == HERE


def test_lines_that_end_with_cr_lf() -> None:
    text = CALL.replace("\n", "\r\n")
    assert intercept(["pwsh", "-Command", text]) == HERE
    assert intercept(["bash", "-c", CALL.replace("EOF\n", "EOF\r\n")]) is None


def test_directories_on_windows() -> None:
    assert intercept(["pwsh", "-Command", f"cd C:\\a\\b && {CALL}"]) == Intercepted("C:\\a\\b", BODY)
    assert intercept(["cmd", "/c", f'cd "C:\\a b" && {CALL}']) == Intercepted("C:\\a b", BODY)
    assert intercept(["cmd", "/c", f"cd %TEMP% && {CALL}"]) is None


def test_a_patch_without_a_call() -> None:
    """§2.10: whatever shell, and though it may be damaged: its lines are no commands."""
    for argv in ([BODY], ["bash", "-lc", BODY], ["sh", "-c", f"\n  {BODY}"], ["pwsh", "-Command", BODY]):
        with pytest.raises(ImplicitPatch) as caught:
            intercept(argv)
        assert caught.value.message == (
            'patch detected without explicit call to apply_patch. Rerun as ["apply_patch", "<patch>"]'
        )
    with pytest.raises(ImplicitPatch):
        intercept(["bash", "-c", "*** Begin Patch\n*** Update File: x\n rm -rf y"])


# Each would be something else to a shell: what it does then is in the second column.
HOSTILE = [
    (f"{CALL}touch harm", "made harm"),
    (f"{CALL}\n\ntouch harm", "made harm"),
    (f"{CALL}EOF", "ended with 127"),
    (CALL.replace("'EOF'", "'EOF'; touch harm"), "made harm"),
    (CALL.replace("'EOF'", "'EOF' && touch harm"), "made harm"),
    (CALL.replace("'EOF'", "'EOF' || touch harm"), ""),
    (CALL.replace("'EOF'", "'EOF' & touch harm"), "made harm"),
    (CALL.replace("'EOF'", "'EOF' | tee harm"), "made harm"),
    (CALL.replace("'EOF'", "'EOF' >harm"), "made harm"),
    (CALL.replace("'EOF'", "'EOF' 2>harm"), "made harm"),
    (CALL.replace("'EOF'", "'EOF' <d/keep"), "read ''"),
    (CALL.replace("'EOF'", "'EOF' # comment"), ""),
    (CALL.replace("'EOF'", "'EOF' more"), "called with 1"),
    (CALL.replace("'EOF'", "'EOF' $(touch harm)"), "made harm"),
    (CALL.replace("'EOF'", "'EOF' <<'B'") + "second\nB\n", "read 'second\\n'"),
    (CALL.replace("'EOF'", "'A' <<'EOF'").replace("\n", "\nA\n", 1), ""),
    (CALL.replace("'EOF'", "'E'OF"), ""),
    (CALL.replace("'EOF'", "\\EOF"), ""),
    (CALL.replace("'EOF'", "$EOF"), "*"),
    (CALL.replace("'EOF'", "'EOF"), "*"),
    (CALL.replace("<<", "<<-").replace("Patch\nEOF", "Patch\n\tEOF"), ""),
    (CALL.replace("<<", "<<-"), ""),
    (CALL.replace("<<'EOF'", "<<<'EOF'"), "*"),
    (CALL.replace("<<", "3<<"), "read ''"),
    (CALL.replace("<<", "0<<"), ""),
    (CALL.replace("apply_patch", "apply_patch -x"), "called with 1"),
    (CALL.replace("apply_patch", "apply_patch >harm"), "made harm"),
    (CALL.replace("apply_patch", "command apply_patch"), ""),
    (CALL.replace("apply_patch", "exec apply_patch"), ""),
    (CALL.replace("apply_patch", "! apply_patch"), "ended with 1"),
    (CALL.replace("apply_patch", "time apply_patch"), ""),
    (CALL.replace("apply_patch", "PATH=/nowhere apply_patch"), "ended with 127"),
    (CALL.replace("apply_patch", "SEEN=$SEEN apply_patch"), ""),
    (CALL.replace("apply_patch", "'apply_patch'"), ""),
    (CALL.replace("apply_patch", "apply_patch\\"), "*"),
    (CALL.replace("apply_patch", "(apply_patch"), "*"),
    (CALL.replace("apply_patch", "{ apply_patch"), "*"),
    (CALL.replace("apply_patch", "# apply_patch"), "*"),
    (CALL.replace("apply_patch", "apply_patchx"), "*"),
    (CALL.replace("apply_patch", "echo apply_patch"), "said b'apply_patch\\n'"),
    (f"touch harm; {CALL}", "made harm"),
    (f"touch harm\n{CALL}", "made harm"),
    (f"touch harm && {CALL}", "made harm"),
    (f"touch harm | {CALL}", "made harm"),
    (f"apply_patch() {{ touch harm; }}\n{CALL}", "made harm"),
    (f"alias x=y\n{CALL}", ""),
    (f"if true; then\n{CALL}fi", ""),
    (f"x=$({CALL})", ""),
    (f"# comment\n{CALL}", ""),
    (f"cd d; {CALL}", ""),
    (f"cd d || {CALL}", "*"),
    (f"cd d | {CALL}", ""),
    (f"cd d & {CALL}", ""),
    (f"cd d &&& {CALL}", "*"),
    (f"cd d\n{CALL}", ""),
    (f"cd && {CALL}", ""),
    (f"cd - && {CALL}", "*"),
    (f"cd '-' && {CALL}", "*"),
    (f"cd -- d && {CALL}", ""),
    (f"cd -P d && {CALL}", ""),
    (f"cd d d && {CALL}", "*"),
    (f"cd ~ && {CALL}", ""),
    (f"cd ~root && {CALL}", "" if os.access(os.path.expanduser("~root"), os.X_OK) else "*"),
    (f"cd $HOME && {CALL}", ""),
    (f'cd "$HOME" && {CALL}', ""),
    (f"cd $(touch harm; echo d) && {CALL}", "made harm"),
    (f'cd "$(touch harm; echo d)" && {CALL}', "made harm"),
    (f"cd `touch harm; echo d` && {CALL}", "made harm"),
    (f'cd "`touch harm; echo d`" && {CALL}', "made harm"),
    (f"cd <(touch harm) && {CALL}", "*"),
    (f"cd d >harm && {CALL}", "made harm"),
    (f"cd d* && {CALL}", "*"),
    (f"cd ? && {CALL}", ""),
    (f"cd [d] && {CALL}", ""),
    (f"cd {{d,x}} && {CALL}", "*"),
    (f"cd d\\ d && {CALL}", ""),
    (f'cd "d\\x" && {CALL}', "*"),
    (f"cd 'd'' d' && {CALL}", ""),
    (f"cd 'd && {CALL}", "*"),
    (f"cd '' && {CALL}", ""),
    (f"cd #x && {CALL}", "*"),
    (f"cd d && cd .. && {CALL}", ""),
    (f"cd d && touch harm && {CALL}", "made d/harm"),
    (f"cd d && ! {CALL}", "ended with 1"),
    (f"cd d && touch harm\n{CALL}", "made d/harm"),
    (f"cd d && # x\n{CALL}", ""),
    (f"cd d && \\\n{CALL}", ""),
    (f"pushd d && {CALL}", "*"),
    (f"CDPATH=/ cd d && {CALL}", ""),
    (f"! cd d && {CALL}", "*"),
    ("apply_patch", "read ''"),
    ("apply_patch <<'EOF'", "*"),
    ("apply_patch <<'EOF'\n", "*"),
    (f"apply_patch <<'EOF'\n{BODY}", ""),
    (f"apply_patch <<'EOF'\n{BODY} EOF\n", "*"),
    (f"apply_patch <<'EOF'\n{BODY}EOF \n", "*"),
    (f"apply_patch <<'EOF'\n{BODY}EOF; touch harm\n", "*"),
    (f"apply_patch <<'EOF'\n{BODY}EOF\r\n", "*"),
    (f"apply_patch <<'EOF'\nfirst\nEOF\n{BODY}EOF\n", "*"),
    (f"cat >harm <<'EOF'\n{CALL}EOF\n", "made harm"),
    (f"apply_patch <<'EOF'\u00a0\n{BODY}EOF\n", "*"),
    (f"cd\u00a0d && {CALL}", "*"),
    (f"cd d\u00a0&& {CALL}", "*"),
    (f"cd d\x0b&& {CALL}", "*"),
]


@pytest.mark.parametrize(("script", "does"), HOSTILE)
def test_what_the_shell_would_do_otherwise_is_left_to_it(shell: Shell, script: str, does: str) -> None:
    """§2.10: any extra command, operator, pipe, redirection or expansion is not intercepted.

    `does` is what a shell does of it beside reading the patch; "" where it
    does just that, and being careful costs nothing; "*" where it does not.
    """
    for name in ("bash", "zsh", "sh"):
        assert intercept([name, "-c", script]) is None
    calls, stdin, other = shell.run(script)
    if calls and calls[1] != "0":
        other.append(f"called with {calls[1]}")
    if stdin not in (None, BODY):
        other.append(f"read {stdin!r}")
    if does == "*":
        assert other or len(calls) != 2 or stdin != BODY
    elif does:
        assert does in other
    else:
        assert (other, len(calls), stdin) == ([], 2, BODY)


PIECES = (
    *("cd", "d", "'d d'", "&&", "apply_patch", "<<", "'EOF'", "EOF", "\n", "EOF\n", BODY, " ", " ", "\n"),
    *(
        ";",
        "|",
        "&",
        "touch harm",
        "#",
        "$(touch harm)",
        ">harm",
        "<<-",
        "\\",
        "'",
        '"',
        "-",
        "\t",
        "||",
        "x=1",
    ),
)


@pytest.mark.parametrize("seed", range(4))
def test_no_chance_script_is_taken_wrongly(shell: Shell, seed: int) -> None:
    """Whatever is found in a script made by chance, bash does the same, once, and nothing else."""
    dice = random.Random(seed)
    tried = set()
    right = ["cd", " ", "d", " ", "&&", " ", "apply_patch", " ", "<<", "'EOF'", "\n", BODY, "EOF\n"]
    found = 0
    for _ in range(4000):
        pieces = list(right if dice.random() < 0.5 else right[6:])
        for _ in range(dice.randrange(4)):
            at = dice.randrange(len(pieces))
            if dice.random() < 0.3:
                del pieces[at]
            else:
                pieces[at : at + dice.randrange(2)] = [dice.choice(PIECES)]
            pieces = pieces or [" "]
        script = "".join(pieces)
        if script in tried:
            continue
        tried.add(script)
        try:
            taken = intercept(["bash", "-c", script])
        except ImplicitPatch:
            assert script.lstrip().startswith("*** Begin Patch")
            continue
        if taken is None or script == "".join(right) or script == "".join(right[6:]):
            continue
        found += 1
        calls, stdin, other = shell.run(script)
        if not os.path.isdir(taken.directory(str(shell.work))):  # where we fail, as the shell does
            assert (calls, other) == ([], ["ended with 1"]), script
            continue
        if "<<EOF" in "".join(script.split()):
            stdin, other = taken.patch, []  # the shell would have expanded it, and run what is in it
        assert (calls, stdin, other) == ([taken.directory(str(shell.work)), "0"], taken.patch, []), script
    assert found
