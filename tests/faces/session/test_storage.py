"""The folder of a server's output: its own for as long as it lives, whoever else comes and goes."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import agent_exec
from agent_exec.faces.session import storage
from agent_exec.faces.session.storage import Storage
from agent_exec.host import FileLock

SOURCE = Path(agent_exec.__file__).parent.parent
WORKER = """
import os, sys
from agent_exec.faces.session.storage import Storage
sys.stdin.readline()
for _ in range(60):
    kept = Storage(sys.argv[1])
    marker = os.path.join(kept.folder, "kept")
    open(marker, "x").close()
    os.sched_yield()
    assert os.path.exists(marker), "taken away by another"
    assert os.path.exists(os.path.join(kept.folder, "lock")), "its lock was taken away"
    kept.close()
    assert not os.path.exists(kept.folder)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="yields to others as POSIX does")
def test_twenty_servers_open_and_close_at_once(tmp_path: Path) -> None:
    workers = [
        subprocess.Popen(
            [sys.executable, "-c", WORKER, str(tmp_path / "above")],
            stdin=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": str(SOURCE)},
        )
        for _ in range(20)
    ]
    for worker in workers:
        assert worker.stdin is not None
        worker.stdin.write(b"\n")
        worker.stdin.flush()
    said = [worker.communicate(timeout=120)[1] for worker in workers]
    assert said == [b""] * 20
    assert list((tmp_path / "above").iterdir()) == []


def test_a_folder_that_is_just_made_is_not_taken_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another server opens and sweeps at the worst of moments: after the folder, before its lock."""
    above = str(tmp_path)
    others = 0

    class Late(FileLock):
        """A lock before whose taking another server comes along."""

        def acquire(self, *, wait: bool = False) -> bool:
            nonlocal others
            if wait and others < 3:
                others += 1
                Path(self.path).touch()
                Storage(above).close()
            return super().acquire(wait=wait)

    monkeypatch.setattr(storage, "FileLock", Late)
    mine = Storage(above)
    assert others == 3
    assert os.path.isdir(mine.folder)
    Storage(above).close()
    assert os.listdir(above) == [os.path.basename(mine.folder)]
    assert os.listdir(mine.folder) == ["lock"]
    mine.close()
    assert os.listdir(above) == []


def test_what_the_dead_have_left_is_taken_away(tmp_path: Path) -> None:
    code = (
        "import os, sys; from agent_exec.faces.session.storage import Storage;"
        "kept = Storage(sys.argv[1]); os.mkdir(kept.folder + '/1234'); os._exit(0)"
    )
    subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)], env={**os.environ, "PYTHONPATH": str(SOURCE)}, check=True
    )
    (tmp_path / "server-unfinished").mkdir()  # killed before it had its lock
    (tmp_path / "other").mkdir()
    assert len(list(tmp_path.iterdir())) == 3
    Storage(str(tmp_path)).close()
    assert os.listdir(tmp_path) == ["other"]
