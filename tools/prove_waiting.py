"""Proves what is promised of jobs that wait, at a size that is too large for the tests.

`prove_waiting.py graph [N]`: a graph of N jobs (1000), with supervisors killed by
force at random. `prove_waiting.py slots [CALLERS] [BUILDS]`: so many processes (10)
each start so many builds (20) that need one of two slots, with builds killed by
force. Prints a table, and exits with 1 if a promise is broken.
"""

import os
import random
import signal
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from agent_exec.jobs import Jobs, open_jobs

_ENDED = ("exited", "killed", "failed")


def graph(count: int) -> list[str]:
    """Run a graph of jobs, kill supervisors, and return the promises that were broken."""
    chance = random.Random(19)
    with tempfile.TemporaryDirectory(prefix="prove-") as folder:
        marks = Path(folder, "marks")
        marks.touch()
        jobs = open_jobs(str(Path(folder, "jobs")), rules=None)
        line = f'echo "$AGENT_EXEC_JOB_ID" >> {marks}; sleep 0.0$1'
        ids: list[str] = []
        needs: dict[str, list[str]] = {}
        began = time.monotonic()
        killed = 0
        for number in range(count):
            after = chance.sample(ids[-30:], min(len(ids), chance.randint(0, 3)))
            word = chance.choice((":ok", ":any"))
            argv = ["sh", "-c", line, "sh", str(chance.randint(0, 9))]
            told = jobs.run(argv, cwd=folder, after=[one + word for one in after], observe=0)
            ids.append(told["job_id"])
            needs[told["job_id"]] = [one + word for one in after]
            if number % 10 == 9:
                killed += _kill(jobs, chance.choice(ids[-20:]))
        made = time.monotonic() - began
        for one in ids:
            jobs.wait(one, seconds=300)
        found = {one: jobs.status(one) for one in ids}
        lines = marks.read_text().split()
    print(f"{count} jobs, made in {made:.1f} s, over in {time.monotonic() - began:.1f} s; {killed} killed")
    states: dict[str, int] = {}
    for told in found.values():
        name = f"{told['state']} {told.get('reason') or ''}".strip()
        states[name] = states.get(name, 0) + 1
    for name, number in sorted(states.items()):
        print(f"{number:6} {name}")
    return _broken(found, needs, lines)


def _kill(jobs: Jobs, job_id: str) -> int:
    told = jobs.status(job_id)
    if told["state"] in _ENDED:
        return 0
    try:
        os.kill(told["supervisor_pid"], signal.SIGKILL)
    except ProcessLookupError:
        return 0
    return 1


def _broken(found: dict[str, Any], needs: dict[str, list[str]], lines: list[str]) -> list[str]:
    problems = []
    ok = {one for one, told in found.items() if told["state"] == "exited" and told["exit_code"] == 0}
    for one, told in found.items():
        times = lines.count(one)
        if told["state"] not in _ENDED:
            problems.append(f"{one} is {told['state']}: it waits for ever")
        if times > 1 or (one in ok and times != 1):
            problems.append(f"{one} is {told['state']} and ran {times} times")
        wanted = [need.partition(":")[0] for need in needs[one] if need.endswith(":ok")]
        if one in ok and not ok.issuperset(wanted):
            problems.append(f"{one} ran after a job that did not succeed")
        if told.get("reason") == "dependency_failed" and (times or ok.issuperset(wanted)):
            problems.append(f"{one} says dependency_failed, ran {times} times, and all it needs succeeded")
    return problems


def slots(callers: int, builds: int) -> list[str]:
    """Start builds from many processes at once, kill some; return the promises that were broken."""
    with tempfile.TemporaryDirectory(prefix="prove-") as folder:
        os.environ["XDG_DATA_HOME"] = folder  # where groups are, which are not those of this user
        root = str(Path(folder, "jobs"))
        jobs = open_jobs(root, rules=None)
        jobs.set_group("build", slots=2)
        book = Path(folder, "book")
        book.mkdir()
        # Each build leaves a name while it runs, and writes down how many there are.
        line = f"cd {book}; : > run.$$; ls | grep -c '^run' >> ../counts; sleep 0.02; rm run.$$"
        began = time.monotonic()
        children = []
        for number in range(callers):
            pid = os.fork()
            if pid == 0:
                _calls(root, folder, line, builds, number)
            children.append(pid)
        for pid in children:
            os.waitpid(pid, 0)
        for one in jobs.list(limit=0)["jobs"]:
            jobs.wait(one["job_id"], seconds=300)
        told = jobs.list(limit=0)["jobs"]
        counts = [int(word) for word in Path(folder, "counts").read_text().split()]
        # The name of a killed build stays in the book, so only builds that nothing disturbed are counted.
        last = jobs.run(["true"], cwd=folder, needs="build:2", observe=60)
    states = {one["state"] for one in told}
    print(
        f"{callers} processes x {builds} builds in {time.monotonic() - began:.1f} s; "
        f"at most {max(counts)} at once"
    )
    problems = (
        [] if last["state"] == "exited" else ["a slot was lost: a job that needs all of them does not start"]
    )
    if max(counts) > 2:
        problems.append(f"{max(counts)} builds ran at once")
    if not states <= set(_ENDED):
        problems.append(f"some wait for ever: {states}")
    return problems


def _calls(root: str, folder: str, line: str, builds: int, number: int) -> None:
    """Be one caller: start the builds, and kill one waiting supervisor in five."""
    chance = random.Random(number)
    try:
        jobs = open_jobs(root, rules=None)
        for _ in range(builds):
            told = jobs.run(["sh", "-c", line], cwd=folder, needs="build", observe=0)
            if chance.random() < 0.2 and jobs.status(told["job_id"])["state"] == "created":
                _kill(jobs, told["job_id"])
    finally:
        os._exit(0)


def main(words: list[str]) -> int:
    """Prove one of them; 1 if a promise is broken."""
    what, *numbers = words or ["graph"]
    if what == "slots":
        broken = slots(int(numbers[0]) if numbers else 10, int(numbers[1]) if len(numbers) > 1 else 20)
    else:
        broken = graph(int(numbers[0]) if numbers else 1000)
    for problem in broken[:20]:
        print(f"broken: {problem}")
    print(f"{len(broken)} promises broken")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
