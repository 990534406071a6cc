"""The event log: every change of a job once, in order, for any number of readers, whatever is killed."""

import json
import os
import signal
import subprocess
import sys
import threading
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agent_exec import Cancel
from agent_exec.jobs import open_jobs
from agent_exec.jobs.events import FOLDER, KEPT, SEGMENT, append
from agent_exec.jobs.events.reading import EventReader
from agent_exec.jobs.store import Store
from agent_exec.model.errors import InvalidArgument
from cli import Cli
from jobs.seen import supervisor_of
from support import exists, wait_until


def kinds(events: list[dict[str, Any]]) -> list[str]:
    return [one["kind"] for one in events]


def contents(folder: Path) -> dict[str, bytes]:
    return {str(one): one.read_bytes() for one in sorted(folder.rglob("*")) if one.is_file()}


class Follower:
    """`agent-exec events --follow` in a process of its own; its lines as they come."""

    def __init__(self, cli: Cli, *words: object) -> None:
        self._process = subprocess.Popen(
            cli.argv("events", "--follow", *words), cwd=cli.cwd, env=cli.env, stdout=subprocess.PIPE
        )
        assert self._process.stdout is not None
        self._out = self._process.stdout

    def next(self) -> dict[str, Any]:
        line: dict[str, Any] = json.loads(self._out.readline())
        return line

    def until(self, kind: str) -> list[dict[str, Any]]:
        found = [self.next()]
        while found[-1]["kind"] != kind:
            found.append(self.next())
        return found

    def stop(self) -> tuple[int, bytes]:
        self._process.send_signal(signal.SIGINT)
        rest = self._out.read()
        self._out.close()
        return self._process.wait(), rest


@pytest.fixture
def followers(cli: Cli) -> Iterator[list[Follower]]:
    made: list[Follower] = []
    yield made
    for one in made:
        one.stop()


def test_the_life_of_a_job_is_in_the_log_once_it_is_over(cli: Cli) -> None:
    job = cli("run", "--tag", "build", "--", "sh", "-c", "exit 3")["job_id"]
    answer = cli("events")
    created, started, ended = answer["events"]
    assert kinds(answer["events"]) == ["created", "started", "ended"]
    assert {one["job_id"] for one in answer["events"]} == {job}
    assert created["command"] == ["sh", "-c", "exit 3"]
    assert created["tags"] == ["build"]
    assert started["pid"] > 1
    assert (ended["state"], ended["exit_code"]) == ("exited", 3)
    assert [one["id"] for one in answer["events"]] == [
        f"{job}.1.{kind}" for kind in ("created", "started", "ended")
    ]
    assert answer["more"] is False
    assert cli("events")["events"] == answer["events"], "and reading takes nothing away"


def test_a_cursor_goes_on_exactly_where_an_answer_ended(cli: Cli) -> None:
    jobs = [cli("run", "--", "true")["job_id"] for _ in range(3)]
    everything = cli("events")["events"]
    found: list[dict[str, Any]] = []
    words: list[str] = []
    more = True
    while more:
        answer = cli("events", "--limit", 2, *words)
        found += answer["events"]
        words = ["--since", answer["cursor"]]
        more = answer["more"]
    assert found == everything
    assert [one["job_id"] for one in found] == [job for job in jobs for _ in range(3)]
    assert cli("events", *words)["events"] == []
    cli("run", "--", "true")
    assert kinds(cli("events", *words)["events"]) == ["created", "started", "ended"]
    now = cli("events", "--since", "now")
    assert now["events"] == []
    assert cli("events", "--since", now["cursor"])["events"] == []


def test_events_are_chosen_by_job_and_by_kind(cli: Cli) -> None:
    first, second = (cli("run", "--", "true")["job_id"] for _ in range(2))
    assert {one["job_id"] for one in cli("events", "--job", second[-8:])["events"]} == {second}
    chosen = cli("events", "--kind", "ended,lost", "--kind", "created")["events"]
    assert kinds(chosen) == ["created", "ended"] * 2
    cli("delete", first)
    assert kinds(cli("events", "--job", first)["events"]) == ["created", "started", "ended"]


def test_what_is_no_cursor_no_kind_and_no_job_is_refused(cli: Cli) -> None:
    cli("run", "--", "true")
    for words in (["--since", "x"], ["--since", "1-fffff"], ["--since", "77-0"], ["--kind", "exploded"]):
        answer = cli("events", *words)
        assert (answer.code, answer["error"]["code"]) == (1, "invalid_argument"), words
    assert cli("events", "--job", "ZZZZZZZZ")["error"]["code"] == "job_not_found"
    assert cli.raw("events", "more").returncode == 2
    assert cli.raw("events", "--until", "1s").returncode == 2


def test_reading_events_changes_nothing(cli: Cli) -> None:
    assert cli("events")["events"] == []
    assert not cli.root.exists()
    job = cli.start("sleep", "600")
    os.kill(supervisor_of(cli, job), signal.SIGKILL)
    wait_until(lambda: kinds(cli("events")["events"])[-1] == "lost")
    before = contents(cli.root)
    cli("events")
    assert contents(cli.root) == before


def test_a_killed_supervisor_is_an_event_that_is_shown_once(cli: Cli) -> None:
    job = cli.start("sleep", "600")
    cursor = cli("events")["cursor"]
    supervisor = supervisor_of(cli, job)
    os.kill(supervisor, signal.SIGKILL)
    wait_until(lambda: not exists(supervisor))
    answer = cli("events", "--since", cursor)
    (lost,) = answer["events"]
    assert (lost["id"], lost["kind"], lost["reason"]) == (f"{job}.1.lost", "lost", "supervisor_lost")
    assert cli("events", "--since", answer["cursor"])["events"] == []
    other = cli("run", "--", "true")["job_id"]
    after = cli("events", "--since", answer["cursor"])["events"]
    assert {one["job_id"] for one in after} == {other}


def test_an_end_on_record_is_an_event_though_the_supervisor_was_killed_before_it_wrote_one(cli: Cli) -> None:
    job = cli("run", "--", "sh", "-c", "exit 4")["job_id"]
    log = cli.root / FOLDER / "1"
    whole = log.read_bytes()
    log.write_bytes(b"".join(whole.splitlines(keepends=True)[:2]))
    (cli.root / ".live" / job).touch()  # as the supervisor leaves it when it does not come so far
    answer = cli("events")
    assert kinds(answer["events"]) == ["created", "started", "ended"]
    written = json.loads(whole.splitlines()[2])
    assert answer["events"][2] == written | {"time": answer["events"][2]["time"]}
    assert cli("events", "--since", answer["cursor"])["events"] == []


def test_a_follower_sees_events_as_they_happen_and_nothing_else(cli: Cli, followers: list[Follower]) -> None:
    follower = Follower(cli, "--since", "start")
    followers.append(follower)
    job = cli.start("sleep", "600")
    begun = follower.until("started")
    assert kinds(begun) == ["created", "started"]
    cli("kill", job)
    (ended,) = follower.until("ended")
    assert (ended["state"], ended["signal"]) == ("killed", "SIGTERM")
    assert cli("events", "--since", begun[-1]["cursor"])["events"] == [
        {name: value for name, value in ended.items() if name != "cursor"}
    ]
    followers.remove(follower)
    assert follower.stop() == (0, b"")


def test_a_follower_sees_that_a_supervisor_was_killed(cli: Cli, followers: list[Follower]) -> None:
    follower = Follower(cli, "--kind", "started,lost", "--since", "start")
    followers.append(follower)
    job = cli.start("sleep", "600")
    assert follower.next()["kind"] == "started"
    os.kill(supervisor_of(cli, job), signal.SIGKILL)
    assert follower.next()["id"] == f"{job}.1.lost"


def test_a_follower_ends_after_so_many_events_and_so_long(cli: Cli) -> None:
    cli("run", "--", "true")
    out = cli.raw("events", "--follow", "--since", "start", "--limit", 2)
    assert (out.returncode, len(out.stdout.splitlines())) == (0, 2)
    out = cli.raw("events", "--follow", "--until", "10ms")
    assert (out.returncode, out.stdout) == (0, b"")


def test_fifty_jobs_at_once_and_five_followers_that_each_see_each_event_once(
    cli: Cli, followers: list[Follower]
) -> None:
    count = 50
    followers += [Follower(cli, "--since", "start") for _ in range(5)]
    script = 'for at in $(seq 10); do "$0" run --wait -- true >/dev/null; done'
    shells = [
        subprocess.Popen(["sh", "-c", script, cli.argv()[0]], cwd=cli.cwd, env=cli.env)
        for _ in range(count // 10)
    ]
    assert [shell.wait() for shell in shells] == [0] * len(shells)
    for follower in followers:
        found = [follower.next() for _ in range(3 * count)]
        of: dict[str, list[str]] = defaultdict(list)
        for one in found:
            of[one["job_id"]].append(one["kind"])
        assert len({one["id"] for one in found}) == 3 * count
        assert list(of.values()) == [["created", "started", "ended"]] * count


WRITE = """
import sys
from agent_exec.jobs.events import append
who, count = sys.argv[2:]
for at in range(int(count)):
    line = '{"id":"%s.%d","kind":"started","job_id":"%s","n":%d,"x":"%s"}\\n' % (who, at, who, at, "x" * 900)
    assert append(sys.argv[1], [line.encode()]) == 0
"""


def test_segments_turn_over_under_load_and_each_reader_sees_each_event_once(tmp_path: Path) -> None:
    writers, each = 4, 1600  # six mebibytes, so six segments
    root = str(tmp_path)
    seen: list[list[tuple[str, int]]] = [[], []]
    done = threading.Event()

    def read(into: list[tuple[str, int]]) -> None:
        reader = EventReader(Store(root))
        while len(into) < writers * each and not done.is_set():
            into += [(one["job_id"], one["n"]) for one in reader.read()]

    readers = [threading.Thread(target=read, args=(into,)) for into in seen]
    for thread in readers:
        thread.start()
    running = [
        subprocess.Popen([sys.executable, "-c", WRITE, root, f"w{number}", str(each)])
        for number in range(writers)
    ]
    assert [one.wait() for one in running] == [0] * writers
    for thread in readers:
        thread.join(30)
    done.set()
    for into in seen:
        assert len(into) == len(set(into)) == writers * each
        for number in range(writers):
            assert [at for who, at in into if who == f"w{number}"] == list(range(each))
    assert seen[0] == seen[1]
    assert len(os.listdir(tmp_path / FOLDER)) >= 6


def lines(count: int, size: int = 1000) -> list[bytes]:
    return [
        f'{{"id":"{at}","kind":"started","job_id":"J","x":"{"x" * size}"}}\n'.encode() for at in range(count)
    ]


def test_the_log_is_bounded_and_a_reader_that_comes_too_late_is_shown_the_gap(tmp_path: Path) -> None:
    root = str(tmp_path)
    append(root, lines(1))
    reader = EventReader(Store(root))
    assert [one["id"] for one in reader.read()] == ["0"]
    cursor = reader.cursor
    for _ in range((KEPT + 3) * SEGMENT // 200_000):
        assert append(root, lines(200)) == 0
    assert len(os.listdir(tmp_path / FOLDER)) == KEPT
    gap, *rest = EventReader(Store(root), cursor).read()
    assert gap["kind"] == "gap"
    assert len(rest) > KEPT * SEGMENT // 2000
    assert len({one["id"] for one in rest}) == 200


def test_an_event_that_a_full_disk_has_cut_off_is_a_gap_and_the_next_is_whole(tmp_path: Path) -> None:
    root = str(tmp_path)
    append(root, lines(1, 10))
    with (tmp_path / FOLDER / "1").open("ab") as log:
        log.write(b'{"id":"torn","kind":"sta')
    reader = EventReader(Store(root))
    assert [one["id"] for one in reader.read()] == ["0"]
    assert list(reader.read()) == []
    append(root, lines(1, 10))
    assert kinds(list(reader.read())) == ["gap", "started"]


def test_events_from_python(tmp_path: Path) -> None:
    jobs = open_jobs(str(tmp_path))
    assert jobs.events()["events"] == []
    cancel = Cancel()
    follower = jobs.follow_events(since="start", cancel=cancel)
    job = jobs.run(["true"])["job_id"]
    assert kinds([next(follower) for _ in range(3)]) == ["created", "started", "ended"]
    cancel.set()
    assert list(follower) == []
    assert jobs.events(job=job, kinds=["ended"])["events"][0]["exit_code"] == 0
    assert len(list(jobs.follow_events(since="start", limit=2))) == 2
    with pytest.raises(InvalidArgument, match="no kind of event"):
        jobs.follow_events(kinds=["none"])


def test_a_job_that_is_ended_before_it_was_started_has_a_beginning_and_an_end(cli: Cli) -> None:
    job = cli("create", "--", "true")["job_id"]
    assert kinds(cli("events", "--job", job)["events"]) == ["created"]
    assert cli("kill", job)["state"] == "killed"
    assert kinds(cli("events", "--job", job)["events"]) == ["created", "ended"]


def test_events_of_further_attempts_have_ids_of_their_own(cli: Cli) -> None:
    job = cli("run", "--", "true")["job_id"]
    cli("restart", job)
    cli("wait", job)
    assert [one["id"].removeprefix(job) for one in cli("events")["events"]] == [
        ".1.created",
        ".1.started",
        ".1.ended",
        ".2.started",
        ".2.ended",
    ]
