"""Files of /proc that are kept open."""

import os
import sys

import pytest

if sys.platform != "linux":
    pytest.skip("there is no /proc", allow_module_level=True)

from agent_exec.host.posix.procfiles import ProcFiles


def _open() -> int:
    return len(os.listdir("/proc/self/fd"))


def test_a_file_is_read_again() -> None:
    files, before = ProcFiles(), _open()
    assert files.read("/proc/self/comm") == files.read("/proc/self/comm") != b""
    assert _open() == before + 1
    files.close()
    files.close()
    assert _open() == before


def test_a_long_file_is_read_whole() -> None:
    files = ProcFiles()
    with open("/proc/self/maps", "rb") as file:
        assert len(file.read()) > 4096
    assert files.read("/proc/self/maps").endswith(b"\n")
    assert len(files.read("/proc/self/maps")) > 4096
    files.close()


def test_few_are_kept_open() -> None:
    files, before = ProcFiles(), _open()
    for name in ("comm", "stat", "status", "maps", "limits", "io", "cgroup", "mounts", "wchan", "statm"):
        files.read(f"/proc/self/{name}")
    assert _open() == before + 8
    files.close()


def test_all_readers_together_keep_a_bounded_number() -> None:
    many, before = [ProcFiles() for _ in range(400)], _open()
    for files in many:
        assert files.read("/proc/self/comm")
    assert _open() <= before + 256
    for files in many:
        files.close()
    assert _open() == before
    assert ProcFiles.count == 0


def test_a_process_that_is_gone() -> None:
    files = ProcFiles()
    pid = os.posix_spawn("/bin/sleep", ["sleep", "600"], os.environ)
    path = f"/proc/{pid}/stat"
    assert files.read(path)
    files.device(pid, 0)
    os.kill(pid, 9)
    os.waitpid(pid, 0)
    with pytest.raises((FileNotFoundError, ProcessLookupError)):
        files.read(path)
    assert files.device(pid, 0) == 0
    files.close()


def test_memory_of_a_process() -> None:
    files = ProcFiles()
    text = b"a text in memory"
    address = id(text) + bytes.__basicsize__ - 1
    path = f"/proc/{os.getpid()}/mem"
    for _ in range(2):
        assert files.read_at(path, len(text), address) == text
    with pytest.raises(OSError, match="Input/output"):
        files.read_at(path, 8, 0)
    assert files.read_at(path, len(text), address) == text
    files.close()


def test_devices() -> None:
    files = ProcFiles()
    null = os.open(os.devnull, os.O_RDONLY)
    for _ in range(2):
        assert files.device(os.getpid(), null) == os.stat(os.devnull).st_rdev
        assert files.device(os.getpid(), 999999) == 0
    os.close(null)
    files.close()
