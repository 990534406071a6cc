"""Runs commands as another user would: requests in, one JSON line each; answers out, the same.

Started with the folder that holds `agent_exec`, the backend to be used, and the name of the loopback that
its boxes share, if they do. Uses nothing but that and the standard library, because the user it runs as may
read little else.
"""

import json
import os
import resource
import sys
import threading
from typing import Any

sys.path.insert(0, sys.argv[1])

import agent_exec
from agent_exec.engine import engine
from agent_exec.model.errors import AgentExecError
from agent_exec.sandbox.plan.ours import ours
from agent_exec.sandbox.profile import Profile
from agent_exec.sandbox.report.report import block
from agent_exec.sandbox.sandbox import Sandbox, share, shared_sandbox


def profile_of(text: "dict[str, Any]") -> Profile:
    """Return the profile of a request, unless it names another loopback with that of all."""
    name = text.pop("loopback", sys.argv[3])
    return Profile.from_json(text).replace(loopback=name)


def one(request: "dict[str, Any]") -> "dict[str, Any]":
    """Run one command and tell what became of it."""
    profile = request.get("profile")
    try:
        sandbox: Any = None if profile is None else profile_of(profile)
        if request.get("report"):
            sandbox = shared_sandbox().plan(sandbox, engine.shared_spawner(), ours())
        outcome = agent_exec.run(
            request["argv"],
            cwd=request["cwd"],
            env=request.get("env"),
            timeout=request.get("timeout", 30),
            tty=request.get("tty", False),
            sandbox=sandbox,
        )
    except AgentExecError as error:
        return failed(error)
    return {
        "exit_code": outcome.exit_code,
        "signal": outcome.signal,
        "timed_out": outcome.timed_out,
        "out": outcome.stdout_text,
        "err": outcome.stderr_text,
        "pid": outcome.pid,
        "network": [dict(decision) for decision in outcome.network],
        "sandbox": block(sandbox, outcome, request["cwd"]) if request.get("report") else {},
    }


def failed(error: AgentExecError) -> "dict[str, Any]":
    """Return what went wrong."""
    details = {name: str(value) for name, value in error.details.items()}
    return {"error": error.code, "message": error.message, "details": details}


def warm(request: "dict[str, Any]") -> "dict[str, Any]":
    """Have boxes wait."""
    try:
        plan = engine.warm(profile_of(request["profile"]), request["boxes"])
    except AgentExecError as error:
        return failed(error)
    return {"backend": plan.backend, "unenforced": list(plan.unenforced)}


def waiting() -> "list[Any]":
    """Return the helpers that wait for commands, as our side has them."""
    return [keeper for kind in engine.shared_spawner()._idle.values() for keeper in kind]


def end_proxies() -> int:
    """End the ways out of the boxes that wait; tell how many there were."""
    served = [keeper.served for keeper in waiting() if keeper.served is not None]
    for one in served:
        one.close()
    return len(served)


def look(_request: "dict[str, Any]") -> "dict[str, Any]":
    """Return what we have."""
    fds = {}
    for name in os.listdir("/proc/self/fd"):
        try:
            fds[name] = os.readlink(f"/proc/self/fd/{name}")
        except FileNotFoundError:
            continue
    return {
        "fds": fds,
        "threads": [thread.name for thread in threading.enumerate()],
        "waiting": len(waiting()),
    }


def forked(request: "dict[str, Any]") -> "dict[str, Any]":
    """Do something in a forked copy of this process, and return its answer."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            with open(writer, "w") as file:
                json.dump(act(request["request"]), file)
            engine.close_shared()
        finally:
            os._exit(0)
    os.close(writer)
    with open(reader) as file:
        answer: dict[str, Any] = json.load(file)
    os.waitpid(pid, 0)
    return answer


def act(request: "dict[str, Any]") -> "dict[str, Any]":
    """Do what is asked for."""
    return DEEDS[request["do"]](request) if "do" in request else one(request)


def few_descriptors(request: "dict[str, Any]") -> "dict[str, Any]":
    """Have few descriptors from now on, as far as others are concerned."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (request["soft"], hard))
    return {"hard": hard}


DEEDS: "dict[str, Any]" = {
    "warm": warm,
    "end proxies": lambda _request: {"ended": end_proxies()},
    "look": look,
    "fork": forked,
    "few descriptors": few_descriptors,
    "close": lambda _request: engine.close_shared() or {},  # type: ignore[func-returns-value]
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
    share(Sandbox(only=(sys.argv[2],)))
    for line in sys.stdin:
        request = json.loads(line)
        answer: object = many(request) if isinstance(request, list) else act(request)
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


main()
