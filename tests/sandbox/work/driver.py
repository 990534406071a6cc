"""Runs commands for the tests as another user: driver.py FOLDER, with `agent_exec` in that folder.

Not imported: a program. Requests come in and outcomes go out, pickled; the
tests are the only ones who speak to it.
"""

import pickle
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

sys.path.insert(0, sys.argv[1])

import agent_exec


def one(request: "tuple[list[str], dict[str, Any]]") -> object:
    """Run one command; return its outcome, or what was raised."""
    argv, options = request
    try:
        return agent_exec.run(argv, **options)
    except agent_exec.AgentExecError as error:
        return error


while True:
    try:
        requests = pickle.load(sys.stdin.buffer)
    except EOFError:
        break
    with ThreadPoolExecutor(len(requests)) as pool:
        pickle.dump(list(pool.map(one, requests)), sys.stdout.buffer)
    sys.stdout.buffer.flush()
