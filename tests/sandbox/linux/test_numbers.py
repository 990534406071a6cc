"""The numbers of system calls are those of the kernel's own headers."""

import os
import re
from pathlib import Path

import pytest

from agent_exec.sandbox.linux import calls

HEADERS = {
    "x86_64": (Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h"), r"#define\s+__NR_(\w+)\s+(\d+)"),
    "aarch64": (Path("/usr/include/asm-generic/unistd.h"), r"#define\s+__NR(?:3264)?_(\w+)\s+(\d+)"),
}
YOUNGER = {"fchmodat2", "open_tree_attr"}  # than most headers
ONLY_X86_64 = {"chmod", "creat", "ioperm", "iopl", "mkdir", "mknod", "modify_ldt", "open"}


@pytest.mark.parametrize("architecture", HEADERS)
def test_the_table_is_the_kernels(architecture: str) -> None:
    file, pattern = HEADERS[architecture]
    if not file.exists():
        pytest.skip("no headers of the kernel here")
    truth = {name: int(number) for name, number in re.findall(pattern, file.read_text())}
    table = calls.table(architecture)
    assert {name: truth[name] for name in table if name in truth} == {
        name: table[name] for name in table if name in truth
    }
    assert set(table) - set(truth) <= YOUNGER
    assert max(table.values()) <= calls.NEWEST


def test_both_architectures_have_all_calls_but_the_old_ones() -> None:
    assert set(calls.table("x86_64")) - set(calls.table("aarch64")) == ONLY_X86_64
    assert not set(calls.table("aarch64")) - set(calls.table("x86_64"))
    for table in map(calls.table, ("x86_64", "aarch64")):
        assert len(set(table.values())) == len(table)


def test_another_machine_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    class Uname:
        machine = "riscv64"

    monkeypatch.setattr(os, "uname", Uname)
    with pytest.raises(calls.UnknownArchitecture, match="riscv64"):
        calls.machine()
    with pytest.raises(calls.UnknownArchitecture):
        calls.table("riscv64")


def test_a_32_bit_program_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agent_exec.sandbox.linux.calls.struct.calcsize", lambda _: 4)
    with pytest.raises(calls.UnknownArchitecture):
        calls.machine()


def test_an_error_names_the_call_and_the_path_and_keeps_the_number() -> None:
    with pytest.raises(FileNotFoundError) as caught:
        calls.openat2("/no/such/thing", os.O_PATH, 0)
    assert caught.value.filename == "/no/such/thing"
    assert caught.value.strerror == "openat2: No such file or directory"


def test_a_link_anywhere_in_a_path_is_refused(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "file").touch()
    (tmp_path / "link").symlink_to("real")
    for bad in ("link", "link/file"):
        with pytest.raises(OSError, match="symbolic links"):
            calls.open_path(str(tmp_path / bad))
    found = (tmp_path / "real").stat()
    os.close(calls.open_path(str(tmp_path / "real"), identity=(found.st_dev, found.st_ino)))
    with pytest.raises(OSError, match="another one has its place"):
        calls.open_path(str(tmp_path / "real"), identity=(found.st_dev, found.st_ino + 1))
