"""A lock is held as long as its holder lives, and not a moment longer."""

import os
import signal
import sys
from pathlib import Path

import agent_exec
from agent_exec import Command, Engine
from agent_exec.host import FileLock, is_locked
from support import wait_until

HOLDER = """
import sys, time
sys.path.append(sys.argv[1])
from agent_exec.host import FileLock
lock = FileLock(sys.argv[2])
print(lock.acquire(), flush=True)
time.sleep(600)
"""


def test_one_holder_at_a_time(tmp_path: Path) -> None:
    path = str(tmp_path / "lock")
    assert not is_locked(path)
    first, second = FileLock(path), FileLock(path)
    assert first.acquire()
    assert first.acquire(), "again is still"
    assert first.held
    assert is_locked(path)
    assert not second.acquire()
    first.release()
    first.release()
    assert not is_locked(path)
    assert second.acquire(wait=True)
    second.release()


def test_a_killed_holder_holds_nothing_and_its_children_do_not_either(tmp_path: Path) -> None:
    path = str(tmp_path / "lock")
    source = agent_exec.__file__.rpartition("/agent_exec/")[0]
    with Engine() as engine:
        holder = engine.start(Command([sys.executable, "-c", HOLDER, source, path]))
        wait_until(lambda: holder.stdout == b"True\n")
        assert is_locked(path)
        assert not FileLock(path).acquire()
        assert holder.pid is not None
        os.kill(holder.pid, signal.SIGKILL)
        holder.outcome()
        assert not is_locked(path)
