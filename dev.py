"""Everything a developer does here, on any machine with Python 3.11 or later: see CONTRIBUTING.md.

Usage: python3 dev.py run … -- COMMAND | test [PYTEST ARGUMENTS] | bench [BENCH ARGUMENTS] | fix | setup

Each verb first installs what it needs into .venv inside this folder, and
nothing anywhere else.
"""

import hashlib
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

# In this order, because a wrong format is told in a second and a failing test in minutes.
GATES = {
    "format": ["-m", "ruff", "format", "--check", "."],
    "lint": ["-m", "ruff", "check", "."],
    "types": ["-m", "mypy"],
    "types on Windows": ["-m", "mypy", "--platform", "win32", "--exclude", "host/posix|sandbox/linux", "src"],
    "imports": [
        "-c",
        "import sys; from importlinter.cli import lint_imports_command as lint; sys.exit(lint())",
    ],
}


def main(words: list[str]) -> int:
    match words:
        case ["run", *_]:
            set_up()
            return subprocess.run([PROGRAM, *words], check=False).returncode
        case ["test", *arguments]:
            set_up()
            return test(arguments)
        case ["fix"]:
            set_up()
            return call([PYTHON, "-m", "ruff", "check", "--fix", "."]) | call(
                [PYTHON, "-m", "ruff", "format", "."]
            )
        case ["bench", *arguments]:
            set_up()
            return call([PYTHON, "-m", "bench", *arguments])
        case ["setup"]:
            set_up()
            return 0
        case _:
            sys.stderr.write(__doc__ or "")
            return 2


def test(arguments: list[str]) -> int:
    """Pass every gate; the tests come last, so that their closing line does too."""
    failed = []
    for name, words in GATES.items():
        print(f"== {name}", flush=True)
        if call([PYTHON, *words]):
            failed.append(name)
    print("== tests", flush=True)
    if call([PYTHON, "-m", "pytest", *arguments]):
        failed.append("tests")
    if failed:
        sys.stderr.write(f"failed: {', '.join(failed)}\n")
    return int(bool(failed))


def set_up() -> None:
    """Install the project and its tools into .venv, unless what is there is what would be installed."""
    if sys.version_info < (3, 11):  # noqa: UP036 - this file is what tells so
        sys.exit(f"agent-exec needs Python 3.11 or later; this is {sys.version.split()[0]}")
    wanted = hashlib.sha256(
        b"\0".join((ROOT / name).read_bytes() for name in ("pyproject.toml", "constraints.txt"))
        + f"{sys.version} {sys.executable} {ROOT}".encode()
    ).hexdigest()
    if STAMP.exists() and STAMP.read_text() == wanted:
        return
    print("setting up .venv", file=sys.stderr, flush=True)
    shutil.rmtree(VENV, ignore_errors=True)
    if call([sys.executable, "-m", "venv", str(VENV)]):
        shutil.rmtree(VENV, ignore_errors=True)
        sys.exit(
            "this Python cannot make virtual environments; install its venv module (Debian: python3-venv)"
        )
    environment = os.environ | {
        "PIP_CONSTRAINT": str(ROOT / "constraints.txt"),
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    }
    install = [PYTHON, "-m", "pip", "install", "--quiet", "--editable", ".[dev]"]
    if subprocess.run(install, cwd=ROOT, env=environment, check=False).returncode:
        sys.exit("the packages could not be installed; is the package index reachable?")
    call([PYTHON, "-m", "compileall", "-q", "src"])
    STAMP.write_text(wanted)


def call(argv: list[str]) -> int:
    return subprocess.run(argv, cwd=ROOT, check=False).returncode


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
