"""Slots of groups: never more are held than there are, none is lost, and they go by priority, then by age."""

import os
import shutil
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from agent_exec.jobs import open_jobs
from cli import Answer, Cli
from jobs.seen import Gate, at_once, kill_and_wait, lose_supervisor, printed, supervisor_of
from jobs.test_after import ended, held
from support import wait_until

BUILD = """
cd "$0"; mkdir "now.$$"; set -- now.*; echo $# >> seen; sleep 0.03; rmdir "now.$$"
"""
CALLER = """
import sys
from agent_exec.jobs import open_jobs
jobs = open_jobs(sys.argv[1], rules=None)
for number in range(int(sys.argv[2])):
    print(jobs.run(sys.argv[3:], needs="build:2", observe=0)["job_id"], flush=True)
"""


@pytest.fixture
def gates(tmp_path: Path) -> list[Gate]:
    return [Gate(tmp_path / f"gate{number}") for number in range(3)]


def group(cli: Cli, name: str = "build", slots: int = 1) -> None:
    assert cli("group", "set", name, "--slots", slots)["ok"]


def started(cli: Cli, job_id: str) -> bool:
    return bool(printed(cli, job_id))


def holders(cli: Cli, name: str = "build") -> list[str]:
    return next(one["held_by"] for one in cli("group", "list")["groups"] if one["name"] == name)


def run(cli: Cli, gate: Gate, *words: object) -> str:
    return str(cli("run", "--no-wait", *words, "--", *gate.job())["job_id"])


def test_a_job_waits_for_a_slot(cli: Cli, gates: list[Gate]) -> None:
    group(cli)
    first = run(cli, gates[0], "--needs", "build")
    second = held(cli, "--group", "build", "--", "echo", "second")
    assert cli("status", second)["waiting_for"] == [{"kind": "needs", "group": "build", "slots": 1}]
    assert cli("status", second)["needs"] == {"build": 1}
    (entry,) = cli("plan")["jobs"]
    assert entry["waiting_for"] == [
        {"kind": "needs", "group": "build", "slots": 1, "held_by": [first], "ahead": 0}
    ]
    assert cli("group", "list")["groups"] == [
        {"name": "build", "slots": 1, "held": 1, "held_by": [first], "waiting": [second]}
    ]
    gates[0].open()
    assert ended(cli, second)["stdout"] == "second\n"
    assert cli("group", "list")["groups"][0]["held"] == 0


def test_slots_go_by_priority_then_by_age(cli: Cli, gates: list[Gate], tmp_path: Path) -> None:
    group(cli)
    first = run(cli, gates[0], "--needs", "build")
    line = f'echo "$0" >> "{tmp_path}/order"'
    ids = [
        held(cli, "--needs", "build", "--priority", priority, "--", "sh", "-c", line, str(priority))
        for priority in (0, -5, 7, 0, 7)
    ]
    assert [job["job_id"] for job in cli("plan")["jobs"]] == [ids[n] for n in (2, 4, 0, 3, 1)]
    gates[0].open()
    for one in (first, *ids):
        ended(cli, one)
    assert (tmp_path / "order").read_text().split() == ["7", "7", "0", "0", "-5"]


def test_what_a_job_ahead_lacks_is_kept_for_it(cli: Cli, gates: list[Gate]) -> None:
    """A job that needs much is not overtaken for ever by small ones; what it does not need is free."""
    group(cli, "build", 3)
    group(cli, "gpu", 1)
    first = run(cli, gates[0], "--needs", "build:2")
    big = held(cli, "--needs", "build:3", "--", "echo", "big")
    small = held(cli, "--needs", "build:1", "--", "echo", "small")
    assert cli("run", "--needs", "gpu", "--", "echo", "other")["stdout"] == "other\n"
    assert cli("status", small)["state"] == "created"
    gates[0].open()
    ended(cli, first)
    assert ended(cli, big)["stdout"] == "big\n"
    assert ended(cli, small)["stdout"] == "small\n"
    assert cli("status", big)["started_at"] <= cli("status", small)["started_at"]


def test_jobs_that_need_several_groups_cannot_block_each_other(cli: Cli, gates: list[Gate]) -> None:
    for name in ("a", "b"):
        group(cli, name)
    first = run(cli, gates[0], "--needs", "a")
    both = [held(cli, "--needs", needs, "--", "true") for needs in ("a,b", "b:1,a:1", "b,a")]
    gates[0].open()
    for one in (first, *both):
        assert ended(cli, one)["state"] == "exited"


def test_no_slot_is_held_while_a_job_waits_for_another(cli: Cli, gates: list[Gate]) -> None:
    group(cli)
    first = cli.start(*gates[0].job(after="exit 0"))
    second = held(cli, "--needs", "build", "--after", first, "--", "echo", "second")
    assert cli("run", "--needs", "build", "--", "echo", "third")["stdout"] == "third\n"
    gates[0].open()
    assert ended(cli, second)["stdout"] == "second\n"


def test_a_slot_is_free_when_a_command_without_a_supervisor_has_ended(cli: Cli, gates: list[Gate]) -> None:
    """Its supervisor is killed by force; the command goes on, and keeps its slot until it ends."""
    group(cli)
    first = run(cli, gates[0], "--needs", "build")
    wait_until(lambda: started(cli, first))
    second = held(cli, "--needs", "build", "--", "echo", "second")
    third = held(cli, "--needs", "build", "--", "echo", "third")
    lose_supervisor(cli, first)
    assert cli("status", second)["state"] == "created"
    gates[0].open()
    assert ended(cli, second)["stdout"] == "second\n"
    assert ended(cli, third)["stdout"] == "third\n"


def test_a_killed_waiting_job_is_passed_over(cli: Cli, gates: list[Gate]) -> None:
    group(cli)
    first = run(cli, gates[0], "--needs", "build")
    shot, killed, last = (held(cli, "--needs", "build", "--", "echo", "run") for _ in range(3))
    kill_and_wait(supervisor_of(cli, shot))
    assert cli("kill", killed)["state"] == "killed"
    gates[0].open()
    ended(cli, first)
    assert ended(cli, last)["stdout"] == "run\n"
    assert cli("status", shot)["reason"] == "supervisor_lost"
    assert cli("group", "list")["groups"][0]["held"] == 0


def test_a_killed_holder_that_had_not_started_frees_its_slot(cli: Cli, gates: list[Gate]) -> None:
    """A chain of two that wait, whose first and then its holder are killed by force, in both orders."""
    group(cli)
    first = run(cli, gates[0], "--needs", "build")
    chain = [held(cli, "--needs", "build", "--", "echo", "run") for _ in range(3)]
    kill_and_wait(*(supervisor_of(cli, one) for one in (*chain[:2], first)))
    cli("kill", first, "--signal", "KILL")
    assert ended(cli, chain[2])["stdout"] == "run\n"


def test_more_slots_are_used_at_once(cli: Cli, gates: list[Gate]) -> None:
    group(cli)
    ids = [run(cli, gate, "--needs", "build") for gate in gates]
    wait_until(lambda: started(cli, ids[0]))
    group(cli, slots=3)
    wait_until(lambda: all(started(cli, one) for one in ids))
    assert holders(cli) == ids
    group(cli, slots=1)  # what is held stays held
    for gate in gates[:2]:
        gate.open()
    wait_until(lambda: holders(cli) == ids[2:])
    late = held(cli, "--needs", "build", "--", "echo", "late")
    gates[2].open()
    assert ended(cli, late)["stdout"] == "late\n"


def test_a_group_that_is_needed_is_not_taken_away(cli: Cli, gates: list[Gate]) -> None:
    group(cli, slots=2)
    first = run(cli, gates[0], "--needs", "build:2")
    waiting = held(cli, "--needs", "build:2", "--", "true")
    for words in (("remove", "build"), ("set", "build", "--slots", "1")):
        refused = cli("group", *words)
        assert (refused["error"]["code"], refused.code) == ("invalid_state", 1)
        assert refused["error"]["details"]["job_id"] in (first, waiting)
    cli("kill", waiting)
    gates[0].open()
    ended(cli, first)
    assert cli("group", "remove", "build")["groups"] == []
    assert cli("group", "remove", "build")["error"]["code"] == "group_not_found"


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("--needs", "gpu"), "group_not_found"),
        (("--needs", "build:3"), "invalid_argument"),
        (("--needs", "build:0"), "invalid_argument"),
        (("--needs", "build:x"), "invalid_argument"),
        (("--needs", "build,build"), "invalid_argument"),
        (("--needs", "a b"), "invalid_argument"),
        (("--needs", "build", "--priority", "high"), "invalid_argument"),
        (("--needs", "build", "--priority", "1001"), "invalid_argument"),
        (("--priority", "1"), "invalid_argument"),
    ],
)
def test_needs_that_can_never_be_met_are_refused(cli: Cli, words: tuple[str, ...], code: str) -> None:
    group(cli, slots=2)
    refused = cli("run", *words, "--", "true")
    assert (refused["error"]["code"], refused.code) == (code, 1)
    assert cli("list", "--all")["jobs"] == []


@pytest.mark.parametrize(
    "words", [("set", "build"), ("set", "--slots", 1), ("list", "x"), ("list", "--slots", 1), ("wipe",), ()]
)
def test_group_says_how_it_is_used(cli: Cli, words: tuple[object, ...]) -> None:
    out = cli.raw("group", *words)
    assert (out.returncode, out.stdout) == (2, b"")


@pytest.mark.parametrize(("name", "slots"), [("a/b", 1), ("", 1), ("build", 0), ("build", 10**9)])
def test_a_group_has_a_name_and_a_number_of_slots(cli: Cli, name: str, slots: int) -> None:
    assert cli("group", "set", name, "--slots", slots)["error"]["code"] == "invalid_argument"
    assert cli("group", "list")["groups"] == []


def test_a_queue_that_makes_no_sense_is_none(cli: Cli) -> None:
    group(cli)
    (Path(cli.env["XDG_DATA_HOME"]) / "agent-exec" / "groups" / "queue").write_bytes(
        b"\xff\0 nonsense\nX 1 held build:1 -\n"
    )
    assert cli("run", "--needs", "build", "--", "true")["exit_code"] == 0


def test_many_builds_of_many_callers_never_hold_too_many(cli: Cli, tmp_path: Path) -> None:
    """Two at once, whatever is killed by force: a supervisor that runs, one that waits, one of each caller."""
    group(cli, slots=4)
    ground = tmp_path / "ground"
    ground.mkdir()
    callers = [
        subprocess.Popen(
            [sys.executable, "-c", CALLER, str(cli.root), "6", "sh", "-c", BUILD, str(ground)],
            stdout=subprocess.PIPE,
            text=True,
            env=cli.env,
            cwd=cli.cwd,
        )
        for _ in range(4)
    ]
    ids: list[str] = []
    shot: list[str] = []
    for caller in callers:
        assert caller.stdout is not None
        for line in caller.stdout:
            ids.append(line.strip())
            if len(ids) % 5 == 2:
                pid = cli("status", ids[-1]).get("supervisor_pid")
                try:
                    os.kill(int(pid or 0), signal.SIGKILL)
                    shot.append(ids[-1])
                except ProcessLookupError:
                    continue  # it has ended already
        caller.stdout.close()
        assert caller.wait() == 0
    answers: list[Answer] = at_once([partial(ended, cli, one) for one in ids], width=4)
    assert max(map(int, (ground / "seen").read_text().split())) <= 2
    assert len(ids) == 24
    for answer in answers:
        if answer["job_id"] not in shot:
            assert (answer["state"], answer["exit_code"]) == ("exited", 0)
    assert cli("run", "--needs", "build:4", "--", "echo", "all free")["stdout"] == "all free\n"


def test_jobs_of_other_folders_share_the_slots(cli: Cli, gates: list[Gate], tmp_path: Path) -> None:
    """All agents of a user count, wherever their jobs are kept; a job that is killed by force frees its slot."""
    group(cli)
    other = Cli(tmp_path / "an other\nstore", cli.cwd)
    other.env["XDG_DATA_HOME"] = cli.env["XDG_DATA_HOME"]
    try:
        first = run(other, gates[0], "--needs", "build")
        second = held(cli, "--needs", "build", "--", "echo", "second")
        third = held(other, "--needs", "build", "--", "echo", "third")
        (found,) = cli("group", "list")["groups"]
        assert (found["held_by"], found["waiting"]) == ([first], [second, third])
        assert found["roots"] == dict.fromkeys((first, third), str(other.root))
        assert other("group", "list")["groups"][0]["roots"] == {second: str(cli.root)}
        refused = cli("group", "remove", "build")
        assert f"kill {first} --root {other.root}" in refused["error"]["message"]
        wait_until(lambda: started(other, first))
        kill_and_wait(supervisor_of(cli, second), supervisor_of(other, first))
        assert other("status", third)["state"] == "created", "the command of the first still runs"
        gates[0].open()
        assert ended(other, third)["stdout"] == "third\n"
    finally:
        other.close()


def test_slots_are_free_when_a_folder_of_jobs_is_deleted(cli: Cli, gates: list[Gate], tmp_path: Path) -> None:
    group(cli)
    other = Cli(tmp_path / "other", cli.cwd)
    other.env["XDG_DATA_HOME"] = cli.env["XDG_DATA_HOME"]
    run(other, gates[0], "--needs", "build")
    second = held(cli, "--needs", "build", "--", "echo", "second")
    shutil.rmtree(other.root)
    assert ended(cli, second)["stdout"] == "second\n"


def test_a_folder_of_groups_that_cannot_be_used_is_said(cli: Cli) -> None:
    told = cli("group", "set", "build", "--slots", 1, env={"XDG_DATA_HOME": "/dev/null"})
    assert told["error"]["code"] == "store_failed"
    assert "the folder of groups cannot be used" in told["error"]["message"]
    assert "XDG_DATA_HOME" in told["error"]["message"]


def test_python_callers_set_groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    jobs = open_jobs(str(tmp_path / "jobs"))
    assert jobs.set_group("build", 2)["groups"][0]["slots"] == 2
    assert jobs.run(["echo", "hi"], needs={"build": 2}, priority=3)["stdout"] == "hi\n"
    assert jobs.run(["echo", "hi"], needs=["build:1"])["stdout"] == "hi\n"
    assert jobs.groups()["groups"][0]["held_by"] == []
    assert jobs.remove_group("build")["groups"] == []
