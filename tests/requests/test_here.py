"""The facts that a command is judged by: whether it may end processes, and so whether ours must be known."""

import pytest

from agent_exec.requests.opening import dangerous_to_us, facts_here


@pytest.mark.parametrize(
    "line",
    [
        *("kill 1", "/bin/kill 1", "k'i'll 1", "k\\ill 1", "(kill 1)", "x=1;kill 2", "$(kill 1)", "pkill x"),
        *(
            "env -S'kill 1'",
            "su -c'kill 1'",
            "{ killall5;}",
            "reboot",
            "sudo systemctl poweroff",
            "fuser -k .",
        ),
        *("init 6", "init  0", "/sbin/init\t1", "sh -c 'init s'"),
    ],
)
def test_a_command_that_may_end_processes(line: str) -> None:
    assert dangerous_to_us(line)
    assert dangerous_to_us(tuple(line.split()))
    assert facts_here(line).ancestors


@pytest.mark.parametrize("line", ["ls skills/x", "git init", "cat __init__.py", "init", "npm init 2"])
def test_a_command_that_only_resembles_one(line: str) -> None:
    assert not dangerous_to_us(line)
    assert facts_here(line).ancestors == ()
