"""The C contestants, compiled into a folder of their own where there is a compiler."""

import os
import shutil
import subprocess

_SOURCES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "c")
_PROGRAMS = ("last", "lines", "prompt", "roundtrip", "spawn", "terminal", "throughput", "volume", "writer")


def compile_all(folder: str) -> tuple[dict[str, str], str]:
    """Return each program's file by its name, those that could be compiled, and a word on the compiler."""
    compiler = next(filter(None, map(shutil.which, ("cc", "gcc", "clang"))), None)
    if compiler is None:
        return {}, "no C compiler found"
    made: dict[str, str] = {}
    for name in _PROGRAMS:
        file = os.path.join(folder, name)
        source = os.path.join(_SOURCES, f"{name}.c")
        done = subprocess.run(
            [compiler, "-O2", "-o", file, source, "-lutil"], capture_output=True, text=True, check=False
        )
        if done.returncode == 0:
            made[name] = file
        else:
            print(f"bench/c/{name}.c does not compile here:\n{done.stderr}")
    version = subprocess.run([compiler, "--version"], capture_output=True, text=True, check=False).stdout
    return made, version.partition("\n")[0]
