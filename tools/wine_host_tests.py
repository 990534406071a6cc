"""Runs the host's contract checks on a real Windows CPython under Wine.

Opt-in, for Linux: `python tools/wine_host_tests.py [--rebuild] [check ...]`, with a
Python 3.11, 3.12 or 3.13, whose own version the Windows one will have. Needs the
Debian packages wine64 and gcc-mingw-w64-x86-64, and pip. The first run downloads
65 MB and takes some minutes; what it builds stays in ~/.cache/agent-exec-wine, or
in the folder that $AGENT_EXEC_WINE_CACHE names.

PyPI's panda3d wheels for Windows carry the interpreter's own libraries. The pure
modules of the standard library are those of the Python that runs this, and the
missing python.exe is the few lines of C below.
"""

import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import threading
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CHECKS = ROOT / "tests" / "host" / "contract_checks.py"
CACHE = Path(os.environ.get("AGENT_EXEC_WINE_CACHE") or Path.home() / ".cache" / "agent-exec-wine")
COMPILER = "x86_64-w64-mingw32-gcc"
DOTTED = f"{sys.version_info.major}.{sys.version_info.minor}"
LIBRARY = f"python{sys.version_info.major}{sys.version_info.minor}.dll"
SUPPORTED = ("3.11", "3.12", "3.13")
TIMEOUT = 900

STUB = f"""
#include <windows.h>
int wmain(int argc, wchar_t **argv) {{
    HMODULE python = LoadLibraryW(L"{LIBRARY}");
    if (!python) return 111;
    int (*start)(int, wchar_t **) = (int (*)(int, wchar_t **)) GetProcAddress(python, "Py_Main");
    return start ? start(argc, argv) : 112;
}}
"""


def main() -> int:
    """Build what is missing, run the checks, and return their exit status."""
    arguments = sys.argv[1:]
    problem = missing()
    if problem:
        print(problem, file=sys.stderr)
        return 2
    python = CACHE / f"python-{DOTTED}"
    if "--rebuild" in arguments:
        arguments.remove("--rebuild")
        shutil.rmtree(python, ignore_errors=True)
    if not (python / "python.exe").exists():
        build(python)
    if not (CACHE / "prefix" / "system.reg").exists():
        make_prefix()
    print(f"Windows CPython {DOTTED} under {wine_version()}", flush=True)
    try:
        return wine([str(python / "python.exe"), "-X", "utf8", str(CHECKS), *arguments])
    finally:
        # This ends the processes of our own prefix alone.
        subprocess.run([wineserver(), "-k"], env=environment(), check=False)


def missing() -> str | None:
    """Return what this machine lacks, and how to get it."""
    if DOTTED not in SUPPORTED:
        return f"run this with one of Python {', '.join(SUPPORTED)}; this is {DOTTED}"
    packages = []
    if wine_program() is None:
        packages.append("wine64")
    if shutil.which(COMPILER) is None:
        packages.append("gcc-mingw-w64-x86-64")
    if packages:
        return f"missing: {' and '.join(packages)}. Install with: apt-get install {' '.join(packages)}"
    return None


def build(target: Path) -> None:
    """Put a Windows CPython together, in its place only when it is whole."""
    CACHE.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=CACHE) as folder:
        downloads, python = Path(folder) / "downloads", Path(folder) / "python"
        print(f"building Windows CPython {DOTTED} in {target}", flush=True)
        pip = [sys.executable, "-m", "pip", "download", "-q", "--disable-pip-version-check"]
        wanted = ["--platform", "win_amd64", "--python-version", DOTTED, "--only-binary=:all:", "--no-deps"]
        subprocess.run([*pip, "panda3d", *wanted, "-d", str(downloads)], check=True)
        libraries = python / "DLLs"
        libraries.mkdir(parents=True)
        with zipfile.ZipFile(next(downloads.glob("panda3d*.whl"))) as wheel:
            for name in wheel.namelist():
                leaf = name.rpartition("/")[2]
                if name.startswith("deploy_libs/") and leaf and not leaf.lower().startswith("api-ms-"):
                    (libraries / leaf).write_bytes(wheel.read(name))
        shutil.move(libraries / LIBRARY, python / LIBRARY)
        for library in (*libraries.glob("VCRUNTIME140*"), *libraries.glob("libffi*")):
            shutil.copy(library, python)
        (libraries / "_wmi.pyd").unlink(missing_ok=True)  # Wine 8 has nothing that it could ask
        left_out = shutil.ignore_patterns("site-packages", "lib-dynload", "test", "__pycache__", "config-*")
        shutil.copytree(sysconfig.get_path("stdlib"), python / "Lib", ignore=left_out)
        (python / "Lib" / "site-packages").mkdir()
        stub = Path(folder) / "stub.c"
        stub.write_text(STUB)
        subprocess.run(
            [COMPILER, "-municode", "-O2", str(stub), "-o", str(python / "python.exe")], check=True
        )
        python.rename(target)


def make_prefix() -> None:
    """Make the folder in which Wine keeps its Windows."""
    print("making a Wine prefix", flush=True)
    wine(["wineboot", "-i"])
    wine(["winecfg", "-v", "win10"])
    subprocess.run([wineserver(), "-w"], env=environment(), check=True)


def wine(arguments: list[str]) -> int:
    """Run a Windows program, show what it prints, and return its exit status."""
    program = wine_program()
    assert program is not None
    # Through a pipe: the interpreter refuses some of the files that Wine would hand it as they are.
    with subprocess.Popen(
        [program, *arguments],
        env=environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    ) as process:
        timer = threading.Timer(TIMEOUT, process.kill)
        timer.start()
        assert process.stdout is not None
        try:
            for line in process.stdout:
                print(line.decode("utf-8", "replace").rstrip(), flush=True)
        finally:
            timer.cancel()
    return process.returncode


def wine_version() -> str:
    """Return the version of Wine, such as "wine-8.0"."""
    program = wine_program()
    assert program is not None
    found = subprocess.run([program, "--version"], env=environment(), capture_output=True, check=True)
    return found.stdout.decode().strip()


def wine_program() -> str | None:
    """Find Wine's 64-bit loader, which Debian keeps off the PATH."""
    return shutil.which("wine64") or shutil.which("wine64", path="/usr/lib/wine")


def wineserver() -> str:
    """Find Wine's server, which Debian keeps off the PATH too."""
    return shutil.which("wineserver") or shutil.which("wineserver64", path="/usr/lib/wine") or "wineserver"


def environment() -> dict[str, str]:
    """Return the environment of everything that runs under Wine."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    return inherited | {
        "WINEPREFIX": str(CACHE / "prefix"),
        "WINEDLLOVERRIDES": "mscoree,mshtml=",
        "WINEDEBUG": os.environ.get("WINEDEBUG", "-all"),
        "PYTHONPATH": f"Z:{ROOT / 'src'};Z:{ROOT / 'tests'}".replace("/", "\\"),
        "PYTHONDONTWRITEBYTECODE": "1",
    }


if __name__ == "__main__":
    sys.exit(main())
