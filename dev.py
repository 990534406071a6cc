"""Every task of a developer, on any machine with Python 3.11 or later: see CONTRIBUTING.md.

Usage: python3 dev.py COMMAND

  run … -- COMMAND    run agent-exec itself, for example: run -- echo hello
  check               format, lint, types, import contracts, freshness of generated docs: no tests
  unit PATH …         only these tests; further arguments go to pytest
  test [ARGUMENTS]    check, then the tests; arguments go to pytest
  fix                 format, apply the linter's fixes, and generate docs anew
  bench [ARGUMENTS]   measure, and write bench/RESULTS.md
  setup               only what each command does first: install into .venv in this folder, and nowhere else
"""

import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent
VENV = ROOT / ".venv"
BIN = VENV / ("Scripts" if sys.platform == "win32" else "bin")
PYTHON = str(BIN / "python")
PROGRAM = str(BIN / "agent-exec")
STAMP = VENV / "stamp"

# The fast ones first.
GATES = {
    "format": ["-m", "ruff", "format", "--check", "."],
    "lint": ["-m", "ruff", "check", "."],
    "types": ["-m", "mypy"],
    # With a cache of its own: what another platform has left there would be of no use.
    "types on Windows": [
        *("-m", "mypy", "--platform", "win32", "--cache-dir", ".mypy_cache/win32"),
        *("--exclude", "host/posix|sandbox/linux", "src"),
    ],
}
# The tests contain these, so `test` does not run them twice.
ALSO_TESTED = {
    "contracts": [
        "-c",
        "import sys; from importlinter.cli import lint_imports_command as lint; sys.exit(lint())",
    ],
    "docs": ["tools/cli_reference.py", "--check"],
}
FIXES = (
    ["-m", "ruff", "check", "--fix", "."],
    ["-m", "ruff", "format", "."],
    ["tools/cli_reference.py"],
)


def main(words: list[str]) -> int:
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # or each worker compiles all tests on each run
    # One worker more than processors: many tests wait for a program, or for a time to pass.
    os.environ.setdefault("PYTEST_XDIST_AUTO_NUM_WORKERS", str((os.cpu_count() or 1) + 1))
    match words:
        case ["run", *_]:
            set_up()
            return subprocess.run([PROGRAM, *words], check=False).returncode
        case ["check"]:
            set_up()
            return passed(GATES | ALSO_TESTED)
        case ["unit", _, *_]:
            set_up()
            return call([PYTHON, "-m", "pytest", *words[1:]])
        case ["test", *arguments]:
            set_up()
            return passed(GATES, ["-m", "pytest", *arguments])
        case ["fix"]:
            set_up()
            return max(call([PYTHON, *words]) for words in FIXES)
        case ["bench", *arguments]:
            set_up()
            return call([PYTHON, "-m", "bench", *arguments])
        case ["setup"]:
            set_up()
            return 0
        case _:
            sys.stderr.write(__doc__ or "")
            return 2


def passed(gates: dict[str, list[str]], tests: list[str] | None = None) -> int:
    """Run every gate, even after a failure; return 1 if any failed, and name it in the last line.

    They run at once, and with a lower priority beside the tests, which print
    as they go; what the gates print comes after that.
    """
    failed = []
    started = {
        name: subprocess.Popen(
            [PYTHON, *words],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            preexec_fn=step_back if tests and sys.platform != "win32" else None,  # noqa: PLW1509 - no threads
        )
        for name, words in gates.items()
    }
    if tests:
        print("== tests", flush=True)
        if call([PYTHON, *tests]):
            failed.append("tests")
    for name, process in started.items():
        output, _ = process.communicate()
        print(f"== {name}\n{output.decode(errors='replace')}", end="", flush=True)
        if process.returncode:
            failed.append(name)
    if failed:
        sys.stderr.write(f"failed: {', '.join(failed)}\n")
    return int(bool(failed))


def step_back() -> None:
    """Lower the priority of this process."""
    os.nice(10)


def set_up() -> None:
    """Make .venv if it is missing or of another Python, and install into it what the project needs now."""
    if sys.version_info < (3, 11):  # noqa: UP036 - this file is what says so
        sys.exit(f"agent-exec needs Python 3.11 or later; this is {sys.version.split()[0]}")
    python = digest(f"{sys.version} {sys.executable} {ROOT}".encode())
    packages = digest(requirements())
    stamp = STAMP.read_text().split() if STAMP.exists() else []
    if stamp == [python, packages]:
        return
    print("setting up .venv", file=sys.stderr, flush=True)
    uv = shutil.which("uv")
    if stamp[:1] != [python]:
        make_environment(uv)
    install(uv)
    call([PYTHON, "-m", "compileall", "-q", "src"])
    STAMP.write_text(f"{python} {packages}")


def make_environment(uv: str | None) -> None:
    """Replace .venv by an empty one of this Python."""
    shutil.rmtree(VENV, ignore_errors=True)
    if uv and not call([uv, "venv", "--quiet", "--seed", "--python", sys.executable, str(VENV)]):
        return
    shutil.rmtree(VENV, ignore_errors=True)
    if call([sys.executable, "-m", "venv", str(VENV)]):
        shutil.rmtree(VENV, ignore_errors=True)
        sys.exit(
            "this Python cannot make virtual environments; install its venv module (Debian: python3-venv)"
        )


def install(uv: str | None) -> None:
    """Install the project and its tools with uv, or with pip, whose settings uv does not know."""
    what = ["--quiet", "--constraint", "constraints.txt", "--editable", ".[dev]"]
    if uv and not call([uv, "pip", "install", "--python", PYTHON, *what]):
        return
    environment = os.environ | {
        "PIP_CONSTRAINT": str(ROOT / "constraints.txt"),  # of the build's own requirements too
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    }
    if subprocess.run(
        [PYTHON, "-m", "pip", "install", *what], cwd=ROOT, env=environment, check=False
    ).returncode:
        sys.exit("the packages could not be installed; is the package index reachable?")


def requirements() -> bytes:
    """Return what decides about the packages in .venv; the settings of tools do not."""
    import tomllib  # not before the version of Python is known

    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    parts = [project.get("build-system"), project.get("project"), project.get("tool", {}).get("hatch")]
    return json.dumps(parts).encode() + (ROOT / "constraints.txt").read_bytes()


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def call(argv: list[str]) -> int:
    return subprocess.run(argv, cwd=ROOT, check=False).returncode


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
