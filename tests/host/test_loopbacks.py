"""Loopback networks that boxes share, as the process that holds them has them: borrowed, closed, not forked."""

import os
import sys

import pytest

if sys.platform == "win32":
    pytest.skip("boxes are made by Linux", allow_module_level=True)

from agent_exec.host.posix.process import loopbacks


def unmade() -> list[int]:
    raise AssertionError("it was made again")


def files() -> list[int]:
    """Return descriptors that stand for a network whose only table of ports is this file."""
    return [os.open(path, os.O_RDONLY) for path in (os.devnull, os.devnull, __file__)]


def test_a_network_is_made_once_and_lent_as_copies() -> None:
    try:
        first = loopbacks.borrow_loopback("one", files)
        second = loopbacks.borrow_loopback("one", unmade)
        assert not set(first) & set(second)
        for fd in (*first, *second):
            os.close(fd)
        (table,) = loopbacks.port_tables("one")
        with open(__file__, "rb") as file:
            assert table == file.read()
        assert loopbacks.port_tables("one") == [table]
        assert loopbacks.port_tables("other") == []
    finally:
        loopbacks.close_loopback("one")
    assert loopbacks.port_tables("one") == []
    loopbacks.close_loopback("one")


def test_a_network_that_cannot_be_made_is_not_kept() -> None:
    def fail() -> list[int]:
        raise OSError(1, "no")

    with pytest.raises(OSError, match="no"):
        loopbacks.borrow_loopback("one", fail)
    assert loopbacks.port_tables("one") == []


def test_a_forked_copy_holds_none() -> None:
    loopbacks.keep_loopback("one", files())
    try:
        pid = os.fork()
        if pid == 0:
            os._exit(len(loopbacks.port_tables("one")))
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
        assert len(loopbacks.port_tables("one")) == 1
    finally:
        loopbacks.close_loopback("one")
