"""Harm to ourselves: commands that would end this process, or one it descends from."""

import pytest

from agent_exec.host import own_processes
from agent_exec.model.identity import Ancestor
from agent_exec.policy.facts import Facts
from agent_exec.policy.policy import Policy
from agent_exec.policy.rule import Rule

ANCESTORS = (
    Ancestor(400, "python3", line="python3 agent.py", parent=300, group=400, session=300, user="me"),
    Ancestor(300, "bash", line="-bash", parent=1, group=300, session=300, user="me"),
    Ancestor(1, "init", line="/sbin/init", parent=0, group=1, session=1, user="root"),
)
FREE = Policy([Rule([], "allow")])


@pytest.mark.parametrize(
    "line",
    [
        "kill 400",
        "kill 300 999",
        "kill -9 400",
        "kill -s TERM 300",
        "kill -KILL -- 300",
        "kill -- -300",
        "kill -TERM -400",
        "kill -9 -1",
        "kill -1",
        "kill -- -1",
        "kill $PPID",
        'kill -9 "$PPID"',
        "kill ${PPID}",
        "sudo kill 300",
        "/bin/kill 400",
        "env kill 400",
        "sh -c 'kill 400'",
        "echo 300 | xargs kill 400",
        "true && kill 400",
        "pkill python3",
        "pkill bas",
        "pkill -f agent.py",
        "pkill -9 -x bash",
        "pkill -i PYTHON",
        "pkill -u me",
        "pkill -g 300",
        "pkill -s 300",
        "pkill -P 300",
        "pkill -v nothing-of-the-kind",
        "pkill .",
        'pkill "$x"',
        "killall bash",
        "killall -9 python3",
        "killall -r 'pyth.*'",
        "killall -u me",
        "killall5",
        "find . -exec kill 400 \\;",
        "timeout 5 pkill bash",
        "kill 1",
        "kill -9 1",
        "kill -s KILL 1",
        "kill -TERM -- 1",
        "kill 0001",
        "kill 999 1",
        "kill -s KILL -1",
        "kill -9 -- -1",
        "kill -KILL -1",
        "sudo kill -9 1",
        "pkill -P 1",
        "pkill init",
        "killall init",
        "shutdown -h now",
        "sudo reboot",
        "poweroff",
        "halt -f",
        "init 0",
        "telinit 6",
        "systemctl reboot",
        "systemctl --force poweroff",
        "systemctl kill user@1000.service",
        "systemctl kill -s KILL user.slice",
        "systemctl --user exit",
        "systemctl stop session-3.scope",
        "loginctl terminate-user me",
        "loginctl kill-session 3",
        "fuser -k /",
        "fuser -km /home",
        "fuser --kill .",
        "kill -9 -0 1",
        "kill -- -$PPID",
        'kill "${PPID:-1}"',
        "killall -ume",
        "killall --user=me",
        "pkill -u 0 .",
        "loginctl poweroff",
        "pkill -- -x",
        "shutdown 'now -c or not'",
    ],
)
def test_our_own_are_not_ended(line: str) -> None:
    verdict = FREE.judge(line, Facts("/", ANCESTORS))
    assert (verdict.kind, verdict.basis) == ("deny", "guard"), verdict
    assert "end" in verdict.reason


@pytest.mark.parametrize(
    "line",
    [
        "kill 999",
        "kill -9 999",
        "kill -1 999",
        "kill -l",
        "kill -l 9",
        "kill %1",
        "kill 0",
        "kill -0 400",
        "pkill firefox",
        "pkill -x pytho",
        "pkill -u other bash",
        "pkill -g 7",
        "killall firefox",
        "killall -9 firefox",
        "echo kill 400",
        "pgrep bash",
        "kill -0 1",
        "systemctl status",
        "systemctl restart nginx",
        "systemctl kill nginx.service",
        "loginctl list-sessions",
        "shutdown -c",
        "shutdown --help",
        "git init",
        "fuser 8080/tcp",
        "fuser -k 8080/tcp",
    ],
)
def test_others_are_a_matter_of_rules(line: str) -> None:
    assert FREE.judge(line, Facts("/", ANCESTORS)).kind == "allow"


def test_without_knowledge_of_us_there_is_no_harm() -> None:
    assert FREE.judge("kill 400").kind == "allow"


def test_the_host_identifies_our_processes() -> None:
    import os

    found = own_processes()
    assert found[0].pid == os.getpid()
    assert found[0].parent == os.getppid()
    assert found[0].group == os.getpgid(0)
    assert found[0].session == os.getsid(0)
    assert os.getppid() in [one.pid for one in found[1:]] or os.getppid() <= 1
    assert found[-1].pid == 1 or os.getpid() == 1
    assert all(one.name for one in found if one.pid != 1)
    assert "python" in found[0].line
