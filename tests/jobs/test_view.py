"""`tail --view` shows what matters in a job's output, and says what it leaves out."""

import pytest

import agent_exec
from agent_exec.model.errors import InvalidArgument
from cli import Cli

STEPS = "seq -f 'step %g of the build' 3000"
LINES = f"{STEPS}; echo 'src/shop.c:7:3: error: no such price'; {STEPS}"


@pytest.fixture
def job(cli: Cli) -> str:
    return str(cli("run", "--wait", "--", "sh", "-c", f"{LINES}; echo warned >&2; exit 2")["job_id"])


@pytest.mark.parametrize("name", ["auto", "errors", "grep=no such", "grep=error:,1", "range=63000-80000"])
def test_a_view_shows_the_failure_and_the_ranges_that_it_keeps(cli: Cli, job: str, name: str) -> None:
    told = cli("tail", job, "--view", name)
    assert "src/shop.c:7:3: error: no such price" in told["stdout_tail"]
    assert len(told["stdout_tail"]) < 20_000
    view = told["view"]
    assert view["name"] == name
    kept = sum(end - start for start, end in view["stdout_kept"])
    if not name.startswith("range"):
        assert kept + view["stdout_omitted_bytes"] == told["stdout_total_bytes"]
    assert told["truncated"]
    assert "stdout" not in told
    assert told == {**agent_exec.open_jobs(str(cli.root)).tail(job, view=name)}


def test_since_shows_what_came_after_a_cursor(cli: Cli, job: str) -> None:
    cursor = cli("tail", job)["cursor"]
    told = cli("tail", job, "--view", f"since={cursor}")
    assert (told["stdout_tail"], told["stderr_tail"]) == ("", "")
    assert told["cursor"] == cursor


def test_full_head_and_tail_are_within_the_bytes(cli: Cli, job: str) -> None:
    for name, first, last in (("full", True, True), ("head", True, False), ("tail", False, True)):
        told = cli("tail", job, "--view", name, "--max-bytes", "3000")
        text = told["stdout_tail"]
        assert len(text) <= 3000
        assert text.startswith("step 1 ") is first
        assert text.endswith("step 3000 of the build") is last
        assert told["stderr_tail"] == "warned"


@pytest.mark.parametrize("name", ["", "all", "grep=(", "since=x"])
def test_a_view_that_there_is_not_is_refused(cli: Cli, job: str, name: str) -> None:
    with pytest.raises(InvalidArgument):
        agent_exec.open_jobs(str(cli.root)).tail(job, view=name)


@pytest.mark.parametrize("other", [["--grep", "x"], ["--merged"], ["--cursor", "x"], ["--tail-lines", "3"]])
def test_options_that_contradict_a_view_are_refused(cli: Cli, job: str, other: list[str]) -> None:
    done = cli.raw("tail", job, "--view", "auto", *other)
    assert done.returncode == 2
    assert b"contradict each other" in done.stdout + done.stderr
