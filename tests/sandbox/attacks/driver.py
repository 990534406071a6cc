"""Runs commands as another user would: requests in, one JSON line each; answers out, the same.

Started with the folder that holds `agent_exec`. Uses nothing but that and the
standard library, because the user it runs as may read little else.
"""

import json
import sys
import threading
from typing import Any

sys.path.insert(0, sys.argv[1])

import agent_exec
from agent_exec.model.errors import AgentExecError
from agent_exec.sandbox.profile import Profile


def one(request: "dict[str, Any]") -> "dict[str, Any]":
    """Run one command and tell what became of it."""
    profile = request.get("profile")
    try:
        sandbox = None if profile is None else Profile.from_json(profile)
        outcome = agent_exec.run(
            request["argv"],
            cwd=request["cwd"],
            env=request.get("env"),
            timeout=request.get("timeout", 30),
            tty=request.get("tty", False),
            sandbox=sandbox,
        )
    except AgentExecError as error:
        details = {name: str(value) for name, value in error.details.items()}
        return {"error": error.code, "message": error.message, "details": details}
    return {
        "exit_code": outcome.exit_code,
        "signal": outcome.signal,
        "timed_out": outcome.timed_out,
        "out": outcome.stdout_text,
        "err": outcome.stderr_text,
        "pid": outcome.pid,
    }


def many(requests: "list[dict[str, Any]]") -> "list[dict[str, Any]]":
    """Run commands at the same time."""
    answers: list[dict[str, Any]] = [{} for _ in requests]

    def fill(index: int) -> None:
        answers[index] = one(requests[index])

    threads = [threading.Thread(target=fill, args=(index,)) for index in range(len(requests))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return answers


def main() -> None:
    """Serve until the input ends."""
    for line in sys.stdin:
        request = json.loads(line)
        answer: object = many(request) if isinstance(request, list) else one(request)
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


main()
