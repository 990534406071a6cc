"""The same holds for a caller that is nobody in particular."""

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbox.work.boxes import SOURCE, folder_elsewhere, need

NOBODY = 65534
SYSTEM = "/usr/bin/python3"


@pytest.fixture(params=["tmp", "elsewhere"])
def told(request: pytest.FixtureRequest) -> Iterator[dict[str, list[object]]]:
    """What an ordinary user's commands came to."""
    if os.geteuid() != 0:
        pytest.skip("only root can be somebody else; the other tests are this one then")
    need("setpriv")
    if not Path(SYSTEM).exists():
        pytest.skip("there is no Python that everybody may run")
    with folder_elsewhere() as folder:
        folder.chmod(0o755)
        shutil.copytree(SOURCE, folder / "source", ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copy(Path(__file__).parent / "driver.py", folder)
        work = Path("/tmp" if request.param == "tmp" else folder) / f"work-{folder.name}"
        work.mkdir()
        try:
            os.chown(work, NOBODY, NOBODY)
            become = ["setpriv", "--reuid", str(NOBODY), "--regid", str(NOBODY), "--clear-groups"]
            out = subprocess.run(
                [*become, SYSTEM, "-B", str(folder / "driver.py"), str(folder / "source"), str(work)],
                cwd="/",
                env={
                    "PATH": "/usr/bin:/bin",
                    "HOME": "/nonexistent",
                    "AGENT_EXEC_TEST": os.environ["AGENT_EXEC_TEST"],
                },
                capture_output=True,
                text=True,
                timeout=100,
                check=False,
            )
            assert (out.returncode, out.stderr) == (0, ""), out.stderr
            yield json.loads(out.stdout)
        finally:
            shutil.rmtree(work)


def test_an_ordinary_user_s_commands(told: dict[str, list[object]]) -> None:
    rights = " ".join(sorted(["0000000000000000", "1", "2"])) + " "
    expected: dict[str, object] = {
        "first": [0, "first\n", "", False],
        "who": [0, "65534\n 65534 65534 1\n", "", False],
        "write": [0, "kept\n", "", False],
        "kept": [0, "kept\n", "", False],
        "tmp": [0, "x\nhere\ns\n", "", False],
        "streams": [0, "a\nb\n", "e\n", False],
        "terminal": [0, "/dev/pts/0\r\n24 80\r\nx\r\n", "", False],
        "script": [0, "in\r\n", "", False],
        "outside": [0, "fine\n", "", False],
        "pool": [0, "[1, 2]\n", "", False],
        "rights": [0, rights, "", False],
        "namespaces": [0, "none\n", "", False],
        "server": [0, "connected\n", "", False],
        "many": [0, "50\n", "", False],
        "reading": [0, "kept\nr\n", "", False],
        "git": [0, "m\n", "", False],
        "timeout": ["timeout", "SIGTERM"],
        "deaf": ["timeout", "SIGKILL"],
        "leaked": [3, True],
        "input": str(8 << 20),
        "at once": ["0", "1", "2", "3", "4", "5"],
        "signals": True,
        "descriptors": True,
    }
    assert told == expected
