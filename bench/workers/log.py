"""A command's output into a file: log CONTESTANT AGENT_EXEC FOLDER SIZE WRITER..."""

import json
import os
import shlex
import sys
from collections.abc import Callable, Sequence

from agent_exec.jobs.store import jobs_store
from bench.home import settle
from bench.worker import require, serve
from bench.workers.calling import Called

Once = Callable[[], float]


def by_job(program: str, _folder: str, size: int, writer: Sequence[str]) -> Once:
    """Return the seconds that the job itself took, as its record says."""
    store = jobs_store()

    def once() -> float:
        call = [program, "run", "--wait", "--max-log-bytes", "0", "--", *writer]
        told = json.loads(Called(call).printed)
        require(told["exit_code"] == 0 and told["output_complete"], f"the job ended as {told}")
        require(os.path.getsize(told["stdout_log_path"]) == size, "the log has another size")
        job = store.find(told["job_id"])
        settle(job.folder)
        store.remove(job.id, job.facts["cwd"])
        return float(told["duration_ms"]) / 1000

    return once


def by_shell(_program: str, folder: str, size: int, writer: Sequence[str], *, pipe: bool) -> Once:
    """Return the seconds of a shell that has the command write there."""
    file = os.path.join(folder, "output")
    line = f"{shlex.join(writer)} {'| cat ' if pipe else ''}> {shlex.quote(file)}"

    def once() -> float:
        seconds = Called(["/bin/sh", "-c", line]).exited
        with open(file, "rb") as written:
            require(os.fstat(written.fileno()).st_size == size, "the file has another size")
            os.fsync(written.fileno())  # as a supervisor does, so that each finds the disk as the other does
        os.unlink(file)
        return seconds

    return once


def main(contestant: str, program: str, folder: str, size: str, *writer: str) -> None:
    if contestant == "job":
        once = by_job(program, folder, int(size), writer)
    else:
        once = by_shell(program, folder, int(size), writer, pipe=contestant == "cat")
    serve(lambda count: {"seconds": [once() for _ in range(count)]})


if __name__ == "__main__":
    main(*sys.argv[1:])
