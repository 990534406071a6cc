"""Many jobs at once, and many verbs on one: none fails, none is lost, none hangs."""

import os
import subprocess
import threading
from collections import Counter
from functools import partial
from pathlib import Path

import pytest

from agent_exec.jobs.removal import collect
from agent_exec.jobs.store import Store
from cli import Cli, check
from jobs.seen import ENDED, Gate, at_once, popen
from support import wait_until


def test_a_hundred_jobs_at_once(cli: Cli, tmp_path: Path) -> None:
    """All run at the same time, each ends as it would alone, and each keeps its own output."""
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    holder = os.open(gate, os.O_RDWR)  # whoever opens it for reading waits no more, but for its end
    try:
        line = 'echo "job $1"; cat "$0"; exit "$1"'
        jobs = at_once([partial(cli.start, "sh", "-c", line, gate, at) for at in range(100)], width=6)
        found = cli("ps", "--all", "--limit", 0)["jobs"]
        assert sorted(job["job_id"] for job in found) == sorted(jobs)
        assert {job["supervisor"] for job in found} == {"alive"}
        assert cli("gc", "--older-than", "0s", "--max-jobs", 0, "--max-bytes", 0)["deleted"] == 0, "all live"
    finally:
        os.close(holder)
    results = at_once([partial(cli, "wait", job, "--forever") for job in jobs], width=6)
    assert [out["exit_code"] for out in results] == list(range(100))
    assert [out["stdout"] for out in results] == [f"job {at}\n" for at in range(100)]
    assert cli("ps", "--all")["jobs"] == []
    assert cli("gc", "--older-than", "0s")["deleted"] == 100


@pytest.mark.parametrize("length", ["short", "long", "deaf"])
def test_twenty_verbs_at_once_on_one_job(cli: Cli, length: str) -> None:
    """Each does its part or says that the job is gone; nobody meets a half of anything."""
    lines = {
        "short": "echo out",
        "long": "echo out; sleep 600",
        "deaf": "trap '' TERM; echo out; while :; do sleep 0.01; done",
    }
    words = [
        ["kill"],
        ["kill", "--signal", "KILL"],
        ["kill", "--signal", "USR2", "--no-wait"],
        ["delete"],
        ["delete"],
        ["wait"],
        ["wait", "--until", "1ms"],
        ["status"],
        ["tail"],
        ["tail", "--merged"],
    ]
    everyone = [["gc", "--older-than", "0s"], ["gc", "--max-jobs", "0"], ["list", "--all"], ["ps", "--all"]]
    for _ in range(4):
        out = cli("run", "--no-wait", "--kill-after", "100ms", "--", "sh", "-c", lines[length])
        job_id = out["job_id"]
        calls = [partial(cli, verb[0], job_id, *verb[1:]) for verb in words + words[:6]]
        calls += [partial(cli, *verb) for verb in everyone]
        assert len(calls) == 20
        codes: Counter[str] = Counter()
        for answer in at_once(calls):
            if answer["ok"]:
                codes["ok"] += 1
                assert answer.get("state", "exited") in ("created", "running", *ENDED)
            else:
                codes[answer["error"]["code"]] += 1
        assert set(codes) <= {"ok", "job_not_found", "invalid_state"}, codes
        cli("kill", job_id, "--signal", "KILL")
        last = cli("delete", job_id)
        assert last["ok"] or last["error"]["code"] == "job_not_found"
        assert not cli.folder(job_id).exists()


def test_a_job_that_many_kill_has_ended_once_and_for_good(cli: Cli) -> None:
    job_id = cli.start("sleep", "600")
    answers = at_once([lambda: cli("kill", job_id)] * 12)
    assert {(out["ok"], out["state"]) for out in answers} == {(True, "killed")}
    ends = {str(cli("status", job_id)["finished_at"]) for _ in range(3)}
    assert len(ends) == 1


def test_all_waiters_learn_of_the_end(cli: Cli, tmp_path: Path) -> None:
    gate = Gate(tmp_path / "gate")
    job_id = cli.start(*gate.job())
    waiters = [popen(cli, "wait", job_id, "--forever") for _ in range(12)]
    bounded = cli("wait", job_id, "--until", "50ms")
    assert (bounded["state"], bounded["supervisor"]) == ("running", "alive")
    assert bounded["waited_ms"] >= 50
    bounded = cli("wait", job_id, "--timeout-ms", "1")
    assert bounded["state"] == "running"
    gate.open()
    for waiter in waiters:
        told = check(waiter.communicate()[0].decode())
        assert (told["state"], told["exit_code"], told["stdout"]) == ("exited", 7, "before\nafter\n")


def test_a_waiter_learns_that_its_job_was_deleted(cli: Cli) -> None:
    job_id = cli.start("sleep", "600")
    waiter = popen(cli, "wait", job_id, "--forever")
    wait_until(lambda: any("control" in link for link in _links(waiter.pid)))
    cli.folder(job_id).rename(cli.root / "elsewhere")
    told = check(waiter.communicate()[0].decode())
    assert (told["ok"], told["error"]["code"]) == (False, "job_not_found")
    (cli.root / "elsewhere").rename(cli.folder(job_id))


def _links(pid: int) -> list[str]:
    try:
        return [os.readlink(f"/proc/{pid}/fd/{fd}") for fd in os.listdir(f"/proc/{pid}/fd")]
    except OSError:
        return []


def test_a_collection_never_loses_a_job_that_is_being_made(cli: Cli) -> None:
    """Its entries in the indexes come before the job itself, and gc strikes what has no job."""
    store = Store(str(cli.root))
    stop = threading.Event()
    errors: list[BaseException] = []

    def sweep() -> None:
        while not stop.is_set():
            try:
                collect(store, older_than=86400.0)
            except BaseException as error:
                errors.append(error)
                return

    cli("run", "--", "true")
    threads = [threading.Thread(target=sweep) for _ in range(3)]
    for thread in threads:
        thread.start()
    try:
        jobs = at_once([lambda: cli.start("sleep", "600")] * 24, width=3)
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert not errors, errors
    assert {job["job_id"] for job in cli("ps")["jobs"]} == set(jobs)
    assert {job["job_id"] for job in cli("list", "--limit", 0)["jobs"]} >= set(jobs)


def test_an_entry_made_just_before_its_job_is_not_struck_by_gc(cli: Cli) -> None:
    """The same, without chance: at this moment there are the entries alone."""
    store = Store(str(cli.root))
    first = str(cli("run", "--", "true")["job_id"])
    entry = next((cli.root / ".cwd").iterdir()) / first
    cli("delete", first)
    from agent_exec.jobs.store import new_id

    young, old = new_id(), "0" + new_id()[1:]
    old = "00" + old[2:]
    for job_id in (young, old):
        entry.parent.mkdir(exist_ok=True)
        for index in (entry.parent, cli.root / ".live"):
            (index / job_id).touch()
    assert cli("gc")["ok"]
    assert store.live_ids() == [young]
    assert os.listdir(entry.parent) == [young]


def test_deletions_and_collections_at_once_do_not_fail(cli: Cli) -> None:
    jobs = at_once([lambda: str(cli("run", "--", "true")["job_id"])] * 12, width=3)
    calls = [partial(cli, "delete", job) for job in jobs * 2]
    calls += [partial(cli, "gc", "--older-than", "0s"), partial(cli, "delete", "--all")] * 4
    for answer in at_once(calls, width=8):
        assert answer["ok"] or answer["error"]["code"] == "job_not_found", answer
    assert cli("list", "--all")["jobs"] == []
    left = {path.name for path in cli.root.iterdir()} - {".gc.held", ".live", ".cwd", ".events"}
    assert left == set()
    assert os.listdir(cli.root / ".live") == os.listdir(cli.root / ".cwd") == []


def test_a_hundred_short_jobs_one_after_the_other_leave_nothing(cli: Cli, nothing_left: str) -> None:
    script = 'for at in $(seq 60); do "$@" || exit 1; done'
    done = subprocess.run(
        ["sh", "-c", script, "sh", *cli.argv("run", "--no-wait", "--", "true")],
        cwd=cli.cwd,
        env=cli.env,
        stdout=subprocess.PIPE,
        check=True,
    )
    ids = [check(line.decode() + "\n")["job_id"] for line in done.stdout.splitlines()]
    assert ids == sorted(ids)
    for job_id in ids[-3:]:
        assert cli("wait", job_id)["state"] == "exited"
    assert [job["job_id"] for job in cli("list", "--limit", 0)["jobs"]] == ids[::-1]
