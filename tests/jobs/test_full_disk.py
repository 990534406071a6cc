"""A disk without room: a clear error or a stated loss, never a lie, and no job is held up.

The disk is a small one in memory, in a mount namespace that a sleeping
process keeps; the program enters it for each verb.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from cli import Cli
from jobs.seen import Gate, log_bytes, supervisor_of
from support import exists, python, wait_until

COUNT = "import sys\nfor at in range(int(sys.argv[1])): sys.stdout.write('%09d\\n' % at)\n"
MAKE = 'mount -t tmpfs -o "$1" none "$0" && mkdir "$0/work" && echo ready && exec sleep 600'


class Disk(Cli):
    """The program with its store on a disk of its own."""

    def __init__(self, mount: Path, keeper: int) -> None:
        super().__init__(mount / "jobs", mount / "work")
        self._enter = [
            "nsenter",
            "-t",
            str(keeper),
            "-m",
            *([] if os.getuid() == 0 else ["-U", "--preserve-credentials"]),
        ]
        self.seen = Path(f"/proc/{keeper}/root{mount}")
        """The disk as this process can see it."""

    def argv(self, *words: object) -> list[str]:
        inside = ["sh", "-c", 'cd "$0" && exec "$@"', str(self.cwd)]
        return [*self._enter, *inside, *super().argv(*words)]

    def raw(self, *words: object, **settings: object) -> subprocess.CompletedProcess[bytes]:
        return super().raw(*words, **{"cwd": Path("/"), **settings})  # type: ignore[arg-type]

    def folder(self, job_id: str) -> Path:
        return self.seen / "jobs" / job_id

    def fill(self, name: str = "filler", *, leave: int = 0) -> Path:
        """Take all room that is left, but so many bytes."""
        path = self.seen / name
        with path.open("wb", buffering=0) as file:
            try:
                while True:
                    file.write(b"\0" * 4096)
            except OSError:
                pass
        if leave:
            os.truncate(path, path.stat().st_size - leave)
        return path

    def names(self) -> set[str]:
        """Return all names on the disk."""
        return {str(path.relative_to(self.seen)) for path in self.seen.rglob("*")}

    def close(self) -> None:
        for entry in (self.seen / "jobs").glob("?" * 26):
            self.raw("kill", entry.name, "--signal", "KILL")


@pytest.fixture
def disk(nothing_left: str, tmp_path: Path) -> Iterator[Callable[[str], Disk]]:
    """Gives a disk with such options; skips where the machine has none to give."""
    disks: list[Disk] = []
    keepers: list[subprocess.Popen[bytes]] = []

    def make(options: str) -> Disk:
        unshare = ["unshare", "-m", *([] if os.getuid() == 0 else ["-r"])]
        if not shutil.which("unshare") or not shutil.which("nsenter"):
            pytest.skip("no unshare and nsenter on this machine")
        mount = tmp_path / f"disk{len(disks)}"
        mount.mkdir()
        keeper = subprocess.Popen([*unshare, "sh", "-c", MAKE, str(mount), options], stdout=subprocess.PIPE)
        keepers.append(keeper)
        assert keeper.stdout is not None
        said = keeper.stdout.readline()
        keeper.stdout.close()
        if not said:
            pytest.skip("no mount namespace to be had")
        disks.append(Disk(mount, keeper.pid))
        return disks[-1]

    yield make
    for one in disks:
        one.close()
    for keeper in keepers:
        keeper.kill()
        keeper.wait()


def _numbers(start: int, end: int) -> bytes:
    lines = b"".join(b"%09d\n" % at for at in range(start // 10, end // 10 + 1))
    return lines[start % 10 : start % 10 + end - start]


def test_a_job_is_not_made_on_a_full_disk_and_nothing_of_it_is_left(disk: Callable[[str], Disk]) -> None:
    cli = disk("size=256k")
    cli.seen.joinpath("note").write_text("")
    command = ["touch", cli.cwd / "ran"]
    assert cli("run", "--", "true")["ok"]
    cli.fill()
    before = cli.names()
    out = cli("run", "--", *command)
    assert (out.code, out["ok"], out["error"]["code"]) == (1, False, "store_failed")
    assert "No space left" in out["error"]["message"]
    assert cli.names() == before
    out = cli("run", "--stdin", "x" * 10_000, "--", *command)
    assert (out.code, out["error"]["code"]) == (1, "store_failed")
    assert cli.names() == before
    assert not (cli.seen / "work" / "ran").exists()
    assert len(cli("list", "--all")["jobs"]) == 1, "and what is there can be read"


def test_a_store_is_not_made_on_a_full_disk(disk: Callable[[str], Disk]) -> None:
    cli = disk("size=64k")
    cli.fill()
    assert cli("run", "--", "true")["error"]["code"] == "store_failed"
    assert cli("list", "--all")["jobs"] == []


def test_wherever_the_making_of_a_job_fails_nothing_of_it_is_left(disk: Callable[[str], Disk]) -> None:
    """A disk with room for ever one name more: each step of the making fails once."""
    cli = disk("size=1m,nr_inodes=40")
    first = str(cli("run", "--", "true")["job_id"])
    fillers: list[Path] = []
    while True:
        try:
            path = cli.seen / f"filler{len(fillers)}"
            path.touch()
        except OSError:
            break
        fillers.append(path)
    refused = 0
    while True:
        before = cli.names()
        out = cli("run", "--", "true")
        if out["ok"]:
            break
        assert out["error"]["code"] == "store_failed", out
        assert cli.names() == before
        refused += 1
        fillers.pop().unlink()
    assert refused >= 6, "two indexes, the folder, and what is in it"
    assert out["state"] == "exited"
    assert cli("status", first)["state"] == "exited"


def test_output_beyond_the_disk_is_counted_and_later_output_is_kept_once_there_is_room(
    disk: Callable[[str], Disk], tmp_path: Path
) -> None:
    cli = disk("size=2m")
    filler = cli.fill(leave=400 << 10)
    gate = Gate(tmp_path / "gate")
    total = 4_000_000
    code = (
        COUNT
        + "sys.stdout.flush(); open(sys.argv[2]).read(); sys.stdout.write('later\\n' * 1000); sys.exit(3)"
    )
    job_id = cli.start(*python(code, total // 10, gate.path))
    supervisor = supervisor_of(cli, job_id)
    reached = []

    def waits_at_the_gate() -> bool:
        try:
            reached.append(os.open(gate.path, os.O_WRONLY | os.O_NONBLOCK))
        except OSError:
            return False
        return True

    wait_until(waits_at_the_gate)  # so it was not held up
    out = cli("status", job_id)
    assert (out["state"], out["supervisor"]) == ("running", "alive")
    filler.unlink()
    os.close(reached[0])
    out = cli("wait", job_id)
    assert (out["state"], out["exit_code"]) == ("exited", 3)
    assert out["output_complete"] is False
    kept = log_bytes(cli.folder(job_id))
    assert out["stdout_total_bytes"] == total + 6000
    assert out["stdout_dropped_bytes"] == total + 6000 - kept > 0
    assert out["stdout"] == "later\n" * 50
    shown = cli("tail", job_id, "--tail-lines", 0, "--max-bytes", 6000)
    assert shown["stdout"] == "later\n" * 1000
    assert shown["stdout_range"] == [total, total + 6000]
    first = (cli.folder(job_id) / "stdout.log").read_bytes()
    assert 0 < len(first) < total
    assert first == _numbers(0, len(first))
    after = cli("tail", job_id, "--cursor", f"{job_id[-10:]}-{len(first):x}-0")
    assert after["stdout_skipped_bytes"] == after["stdout_range"][0] - len(first) > 0
    wait_until(lambda: not exists(supervisor))


@pytest.mark.parametrize("quota", [0, 1 << 20, 64 << 10])
def test_how_a_job_ends_is_recorded_on_a_disk_that_is_full_to_the_last_byte(
    disk: Callable[[str], Disk], quota: int
) -> None:
    """The room for it was taken when the job was made: its last line begins where a block of the disk ends."""
    cli = disk("size=512k")
    code = COUNT + "sys.stdout.flush(); sys.stderr.write('failing\\n' * 10000); sys.exit(5)"
    job = ["--max-log-bytes", quota, "--", *python(code, 100_000)]
    first = str(cli("run", "--no-wait", *job, "")["job_id"])
    assert cli("wait", first)["exit_code"] == 5
    used = _before_the_last_line(cli, first)
    cli("delete", first)
    cli.fill(leave=64 << 10)
    out = cli("run", "--wait", *job, "x" * (4080 - used))
    job_id = str(out["job_id"])
    assert 4064 < _before_the_last_line(cli, job_id) <= 4096
    assert (out["state"], out["exit_code"], out["output_complete"]) == ("exited", 5, False)
    for stream, total in (("stdout", 1_000_000), ("stderr", 80_000)):
        kept = log_bytes(cli.folder(job_id), stream)
        assert out[f"{stream}_total_bytes"] == total
        assert out[f"{stream}_dropped_bytes"] == total - kept
    found = cli("status", job_id)
    assert (found["state"], found["exit_code"]) == ("exited", 5)
    assert found["command"][-2] == "100000"
    assert cli("gc", "--older-than", "0s")["deleted"] == 1


def _before_the_last_line(cli: Disk, job_id: str) -> int:
    """Return how much of a job's record was written before it had ended."""
    *lines, _ = (cli.folder(job_id) / "record.jsonl").read_bytes().rstrip(b"\0").splitlines()
    assert len(lines) == 2, "what it is, and that it runs"
    return sum(len(line) + 1 for line in lines)


@pytest.mark.parametrize("words", [["--signal", "TERM"], ["--signal", "KILL"]])
def test_a_job_can_be_killed_and_deleted_on_a_full_disk(
    disk: Callable[[str], Disk], words: list[str]
) -> None:
    cli = disk("size=512k")
    job_id = cli.start("sleep", "600")
    cli.fill()
    out = cli("kill", job_id, *words)
    assert (out["state"], out["terminated_signal"]) == ("killed", f"SIG{words[1]}")
    assert cli("delete", job_id)["deleted"] == 1
    assert not cli.folder(job_id).exists()


def test_a_failed_spawn_is_recorded_on_a_full_disk(disk: Callable[[str], Disk]) -> None:
    cli = disk("size=512k")
    cli.fill(leave=12 << 10)
    out = cli("run", "--", "./" + "x" * 200)
    assert (out["state"], out["reason"]) == ("failed", "spawn_failed")
    assert cli("status", out["job_id"])["message"] == out["error"]["message"]


def test_events_that_a_full_disk_does_not_take_harm_no_job_and_the_gap_is_shown(
    disk: Callable[[str], Disk],
) -> None:
    cli = disk("size=512k")
    quick, slow = (cli.start("sleep", "600") for _ in range(2))
    log = cli.seen / "jobs" / ".events" / "1"
    filler = cli.fill()
    with log.open("ab", buffering=0) as last:
        try:
            while True:
                last.write(b"\n")  # the rest of its last block
        except OSError:
            pass
    assert cli("kill", quick)["state"] == "killed"
    of_it = [one["kind"] for one in cli("events", "--job", quick)["events"]]
    assert of_it == ["created", "started", "gap", "ended"]
    assert cli("events", "--since", cli("events", "--limit", 0)["cursor"])["events"] == []
    filler.unlink()
    assert cli("kill", slow)["state"] == "killed"
    told = cli("events", "--limit", 0)["events"]
    assert [one["kind"] for one in told if one.get("job_id") == slow] == ["created", "started", "ended"]
    assert [one["kind"] for one in told if one.get("job_id") == quick] == ["created", "started", "ended"]


def test_an_event_says_how_many_before_it_were_not_written(disk: Callable[[str], Disk]) -> None:
    cli = disk("size=512k")
    from_python = (
        "import sys\nfrom agent_exec.jobs.events import EventWriter\n"
        "writer = EventWriter(sys.argv[1], '0' * 26)\n"
        "for full in (False, True, True, False, False):\n"
        "    sys.stdin.readline()\n"
        "    writer.note('ready', {})\n"
        "    print(writer.write(), flush=True)\n"
    )
    cli("run", "--", "true")
    words = [*cli.argv()[:-1], sys.executable, "-c", from_python, str(cli.root)]
    writer = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
    assert writer.stdin is not None
    assert writer.stdout is not None

    def write() -> str:
        writer.stdin.write("\n")  # type: ignore[union-attr]
        return writer.stdout.readline().strip()  # type: ignore[union-attr]

    assert write() == "True"
    filler = cli.fill()
    log = cli.seen / "jobs" / ".events" / "1"
    size = log.stat().st_size
    with log.open("ab", buffering=0) as last:
        last.write(b"\n" * (4096 - size % 4096))
    assert [write(), write()] == ["False", "False"]
    filler.unlink()
    assert [write(), write()] == ["True", "True"]
    writer.communicate()
    told = [one for one in cli("events", "--kind", "ready")["events"] if one["kind"] == "ready"]
    assert [one.get("missed") for one in told] == [None, 2, None]
    assert [one["id"].rpartition("ready")[2] for one in told] == ["", ".4", ".5"]


def test_a_restart_without_room_is_refused_and_leaves_the_job_as_it_was(disk: Callable[[str], Disk]) -> None:
    cli = disk("size=1m")
    job = cli("run", "--wait", "--", "echo", "one")["job_id"]
    filler = cli.fill()
    refused = cli("restart", job)
    assert (refused.code, refused["error"]["code"]) == (1, "store_failed")
    status = cli("status", job)
    assert (status["state"], status["attempt"]) == ("exited", 1)
    assert cli("tail", job)["stdout"] == "one\n"
    filler.unlink()
    assert cli("restart", job, "--wait")["attempt"] == 2


def test_a_retry_without_room_ends_the_job_with_its_last_attempt(
    disk: Callable[[str], Disk], tmp_path: Path
) -> None:
    cli = disk("size=1m")
    gate = Gate(tmp_path / "gate")
    words = ["--retry", "5,backoff=10ms", "--no-wait", "--"]
    job = cli("run", *words, *gate.job(after="exit 7"))["job_id"]
    wait_until(lambda: cli("tail", job)["stdout"] == "before\n")
    cli.fill()
    gate.open()
    ended = cli("wait", job, "--forever")
    assert (ended["state"], ended["exit_code"], ended["stdout"]) == ("exited", 7, "before\n")
    assert cli("status", job)["attempt"] == 1


def test_nothing_is_created_without_room(disk: Callable[[str], Disk]) -> None:
    cli = disk("size=1m")
    cli("run", "--wait", "--", "true")
    cli.fill()
    before = cli.names()
    refused = cli("create", "--env", "TOKEN=s3cret", "--", "true")
    assert (refused.code, refused["error"]["code"]) == (1, "store_failed")
    assert cli.names() == before
