"""What a job prints: complete when it is over, bounded on the disk, and every offset true."""

import os
import subprocess
from pathlib import Path

import pytest

from agent_exec.faces import verbs
from agent_exec.jobs.store import Store
from cli import Cli
from jobs.seen import ENDED, Gate, log_bytes, printed, status_line, supervisor_of
from support import python, wait_until

SIZE = 200 << 10
PRINT = ["sh", "-c", f"yes | head -c {SIZE}"]
COUNT = "import sys\nfor at in range({}, {}): sys.stdout.write('%09d\\n' % at)\n"


def _numbers(start: int, end: int) -> bytes:
    """Return the bytes from one offset to another of an endless list of numbered lines of ten bytes."""
    lines = b"".join(b"%09d\n" % at for at in range(start // 10, end // 10 + 1))
    return lines[start % 10 : start % 10 + end - start]


@pytest.mark.parametrize("share", range(4))
def test_a_finished_job_is_never_seen_without_all_of_its_output(cli: Cli, share: int) -> None:
    """Forty rounds, looked at as fast as can be, from the very start to the end."""
    store = Store(str(cli.root))
    for _ in range(10):
        job_id = cli.start(*PRINT)
        while True:
            found = verbs.Jobs(store).status(job_id)
            shown = verbs.Jobs(store).tail(job_id, tail_lines=0, max_bytes=SIZE)
            if found["state"] in ENDED:
                assert (found["exit_code"], found["output_complete"]) == (0, True)
                assert found["stdout_total_bytes"] == SIZE
            if shown["state"] in ENDED:
                assert len(shown["stdout"]) == SIZE
                assert shown["stdout_range"] == [0, SIZE]
            if found["state"] in ENDED:
                break


def test_run_and_wait_answer_with_all_of_the_output(cli: Cli) -> None:
    for _ in range(5):
        out = cli("run", "--max-bytes", SIZE, "--tail-lines", 0, "--", *PRINT)
        assert (out["state"], out["stdout_total_bytes"], len(out["stdout"])) == ("exited", SIZE, SIZE)
        job_id = cli.start(*PRINT)
        out = cli("wait", job_id, "--max-bytes", SIZE, "--tail-lines", 0)
        assert (out["state"], out["stdout_total_bytes"], len(out["stdout"])) == ("exited", SIZE, SIZE)


def test_output_that_comes_in_the_last_moment_of_a_killed_job_is_kept(cli: Cli) -> None:
    line = "trap 'head -c 50000 /dev/zero; exit 3' TERM; echo up; while :; do sleep 0.01; done"
    job_id = cli.start("sh", "-c", line)
    wait_until(lambda: printed(cli, job_id))
    out = cli("kill", job_id)
    assert (out["state"], out["output_complete"]) == ("killed", True)
    assert cli("status", job_id)["stdout_total_bytes"] == 50003


@pytest.mark.parametrize("quota", [64, 99, 1000, 65536, 1 << 20])
def test_a_quota_keeps_the_first_and_the_newest_output_and_every_offset_true(cli: Cli, quota: int) -> None:
    lines = 20_000 if quota < 1000 else 300_000
    total = lines * 10
    job = python(COUNT.format(0, lines))
    out = cli("run", "--wait", "--max-log-bytes", quota, "--", *job)
    job_id = str(out["job_id"])
    folder = cli.folder(job_id)
    assert (out["state"], out["exit_code"], out["stdout_total_bytes"]) == ("exited", 0, total)
    kept = log_bytes(folder)
    assert kept <= quota
    assert out["stdout_dropped_bytes"] == total - kept, "exactly"
    assert cli("status", job_id)["stdout_dropped_bytes"] == total - kept
    first = (folder / "stdout.log").read_bytes()
    assert first == _numbers(0, len(first))
    assert len(first) == quota - 4 * (quota // 8)
    shown = cli("tail", job_id, "--tail-lines", 0, "--max-bytes", quota)
    start, end = shown["stdout_range"]
    assert end == total
    assert end - start >= quota // 4, "the newest"
    assert shown["stdout"].encode() == _numbers(start, end)
    _walk(cli, job_id, total, kept, step=max(16, quota // 3))


def _walk(cli: Cli, job_id: str, total: int, kept: int, step: int) -> None:
    """Read all that is kept with a cursor from the beginning: what is skipped is said, what is shown is true."""
    cursor = f"{job_id[-10:]}-0-0"
    place = seen = skipped = 0
    while True:
        out = cli("tail", job_id, "--cursor", cursor, "--max-bytes", step)
        start, end = out["stdout_range"]
        gap = out.get("stdout_skipped_bytes", 0)
        assert start == place + gap
        assert out["stdout"].encode() == _numbers(start, end)
        skipped += gap
        seen += end - start
        place = end
        cursor = out["cursor"]
        if not out["more"]:
            break
    assert (place, seen, skipped) == (total, kept, total - kept)


def test_a_cursor_falls_behind_a_job_that_prints_on(cli: Cli, tmp_path: Path) -> None:
    """It was given before the gap came to be."""
    gate = Gate(tmp_path / "gate")
    code = COUNT.format(0, 10) + "sys.stdout.flush(); open(sys.argv[1]).read()\n" + COUNT.format(10, 50_000)
    job_id = str(cli("run", "--no-wait", "--max-log-bytes", 4096, "--", *python(code, gate.path))["job_id"])
    wait_until(lambda: len(printed(cli, job_id)) == 100)
    early = cli("tail", job_id)
    assert early["stdout"].encode() == _numbers(0, 100)
    gate.open()
    cli("wait", job_id)
    out = cli("tail", job_id, "--cursor", early["cursor"])
    assert out["stdout_range"] == [100, 2048]
    assert "stdout_skipped_bytes" not in out
    out = cli("tail", job_id, "--cursor", out["cursor"])
    start, end = out["stdout_range"]
    assert out["stdout_skipped_bytes"] == start - 2048 > 0
    assert (end, out["stdout"].encode()) == (500_000, _numbers(start, end))


def test_a_flood_is_bounded_on_the_disk_and_in_memory_while_it_lasts(cli: Cli) -> None:
    """The job goes on, and its supervisor holds nothing of what has passed."""
    quota = 1 << 20
    job_id = str(
        cli("run", "--no-wait", "--max-log-bytes", quota, "--", "sh", "-c", "yes flood; yes more >&2")[
            "job_id"
        ]
    )
    supervisor = supervisor_of(cli, job_id)

    def total() -> int:
        return int(cli("status", job_id)["stdout_total_bytes"])

    most = 0
    while total() < 300 << 20:
        most = max(most, _used(cli.folder(job_id)))
    memory = int(status_line(supervisor, "VmHWM").split()[0])
    assert most <= quota + (64 << 10), "and the small files of the job"
    assert memory < 48 << 10, f"{memory} KiB"
    assert cli("kill", job_id)["state"] == "killed"


def _used(folder: Path) -> int:
    """Return the bytes in a folder; parts of it come and go."""
    size = 0
    for path in folder.iterdir():
        try:
            size += path.stat().st_size
        except FileNotFoundError:
            continue
    return size


def test_one_endless_line_is_bounded_in_memory(cli: Cli) -> None:
    line = f"head -c {200 << 20} /dev/zero; touch printed; until [ -e seen ]; do sleep 0.01; done"
    job_id = cli.start("sh", "-c", line)
    wait_until((cli.cwd / "printed").exists)
    peak = int(status_line(supervisor_of(cli, job_id), "VmHWM").split()[0])  # the most it has ever had
    assert 0 < peak < 64 << 10, f"{peak} KiB"
    (cli.cwd / "seen").touch()
    assert cli("wait", job_id)["stdout_total_bytes"] == 200 << 20


def _peak(cli: Cli, *words: object) -> int:
    """Return the most memory that a verb has used, in KiB."""
    code = (
        "import resource, subprocess, sys\n"
        "subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, check=True)\n"
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
    )
    out = subprocess.run(python(code, *cli.argv(*words)), env=cli.env, capture_output=True, check=True)
    return int(out.stdout)


def test_a_look_at_a_million_lines_reads_no_more_than_it_shows(cli: Cli) -> None:
    line = "x" * 39
    out = cli("run", "--wait", "--", "sh", "-c", f"yes {line} | head -n 1000000")
    job_id = str(out["job_id"])
    assert (out["stdout_total_bytes"], out["stdout"].count("\n")) == (40_000_000, 50)
    small = _peak(cli, "tail", cli("run", "--", "true")["job_id"])
    for words in (
        [],
        ["--tail-lines", 0],
        ["--merged"],
        ["--cursor", f"{job_id[-10:]}-0-0"],
        ["--grep", "y"],
    ):
        assert _peak(cli, "tail", job_id, *words) - small < 16 << 10, words
    assert _peak(cli, "wait", job_id) - small < 16 << 10


def test_a_search_that_takes_too_long_is_refused(cli: Cli) -> None:
    job_id = str(
        cli("run", "--wait", "--", "sh", "-c", "yes a | head -n 5000 | tr -d '\\n'; echo b")["job_id"]
    )
    for more in ([], ["--cursor", f"{job_id[-10:]}-0-0"]):
        refused = cli("tail", job_id, "--grep", "^(a|a)*$", *more)
        assert (refused["error"]["code"], "simpler" in refused["error"]["message"]) == (
            "invalid_argument",
            True,
        )


def test_the_order_of_arrival_of_a_long_job_costs_no_memory(cli: Cli) -> None:
    """Its index is long; what is asked for is at its end, and nothing of the other stream is."""
    job_id = str(cli("run", "--", "echo", "last")["job_id"])
    index = cli.folder(job_id) / "arrivals"
    record = index.read_bytes()
    assert len(record) == 16
    index.write_bytes((b"\0" * 8 + (2**62).to_bytes(8, "little")) * (1 << 20) + record)
    small = _peak(cli, "tail", job_id)
    assert _peak(cli, "tail", job_id, "--merged") - small < 8 << 10
    (piece,) = cli("tail", job_id, "--merged")["merged"]
    assert (piece["stream"], piece["text"]) == ("stdout", "last\n")


def test_what_cannot_be_read_of_a_log_is_no_reason_to_fail(cli: Cli) -> None:
    job_id = str(cli("run", "--", "seq", "1000")["job_id"])
    path = cli.folder(job_id) / "stdout.log"
    os.truncate(path, 100)
    out = cli("wait", job_id)
    assert (out["state"], out["output_complete"]) == ("exited", False), "the record knows how much came"
    assert out["stdout_total_bytes"] == 3893
    assert out["stdout_dropped_bytes"] == 3793
    path.unlink()
    out = cli("tail", job_id)
    assert (out["ok"], out["stdout"], out["stdout_dropped_bytes"]) == (True, "", 3893)
