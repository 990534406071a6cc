"""The Windows host can be imported anywhere, mirrors the POSIX host, and names its signals."""

import inspect

import pytest

from agent_exec import host
from agent_exec.host import posix, windows
from agent_exec.host.windows.signals import ending, signal_name, signal_number
from agent_exec.host.windows.spawner import LocalSpawner


def parameters(thing: object) -> list[tuple[str, object]]:
    assert callable(thing)
    return [(one.name, one.kind) for one in inspect.signature(thing).parameters.values()]


@pytest.mark.parametrize("name", host.__all__)
def test_both_hosts_take_the_same_arguments(name: str) -> None:
    assert parameters(getattr(windows, name)) == parameters(getattr(posix, name))


def members(owner: type) -> dict[str, object]:
    """Return what a class offers, inherited or its own."""
    found: dict[str, object] = {}
    for one in reversed(owner.__mro__):
        found |= {name: value for name, value in vars(one).items() if not name.startswith("_")}
    return found


@pytest.mark.parametrize(
    "name", ["Control", "FileLock", "Interrupts", "Poller", "Process", "Report", "Watch"]
)
def test_both_hosts_have_the_same_members(name: str) -> None:
    ours, theirs = members(getattr(windows, name)), members(getattr(posix, name))
    public = set(theirs)
    assert public == set(ours)
    for member in public:
        assert type(ours[member]) is type(theirs[member])
        if inspect.isfunction(theirs[member]):
            assert parameters(ours[member]) == parameters(theirs[member])


@pytest.mark.parametrize("member", ["close", "detach", "process"])
def test_the_engine_finds_what_it_asks_of_a_spawner(member: str) -> None:
    assert parameters(getattr(windows.Spawner, member)) == parameters(getattr(posix.Spawner, member))


@pytest.mark.parametrize("member", ["abandon", "close", "prepare", "process", "start"])
def test_a_supervisor_finds_what_it_asks_of_a_spawner(member: str) -> None:
    assert parameters(getattr(windows.LocalSpawner, member)) == parameters(
        getattr(posix.LocalSpawner, member)
    )
    for slot in ("gone", "stdin"):
        assert slot in members(LocalSpawner)


def test_signals() -> None:
    assert [signal_number(name) for name in ("TERM", "SIGINT", "9", "sigbreak")] == [15, 2, 9, 21]
    assert [signal_number(name) for name in ("SIGHUP", "1", "no")] == [None, None, None]
    assert [signal_name(number) for number in (15, 2, 9, 21, 1)] == [
        "SIGTERM",
        "SIGINT",
        "SIGKILL",
        "SIGBREAK",
        "SIG1",
    ]


def test_exit_codes_are_shown_as_they_are_but_for_traces_of_a_signal() -> None:
    assert ending(0, killed=False) == (0, None)
    assert ending(0xC0000005, killed=True) == (0xC0000005, None)
    assert ending(0xC000013A, killed=False) == (130, "SIGINT")
    assert ending(137, killed=True) == (137, "SIGKILL")
    assert ending(137, killed=False) == (137, None)
