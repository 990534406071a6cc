"""The plain tasks through a server of others that runs one shell line a call, where it is installed."""

import shutil

from bench.economy.agent import Agent
from bench.economy.ours import Task, is_build, is_failure, is_masked, is_news, is_three

PROGRAM = "mcp-server-commands"


def words() -> list[str] | None:
    """Return how it is started; None if it is not installed."""
    found = shutil.which(PROGRAM)
    return None if found is None else [found]


def run(agent: Agent, line: str) -> str:
    return agent.call("run_command", command=line)


def failure(agent: Agent) -> bool:
    lines = ("python3 suite.py", "python3 suite.py | grep -n -A5 FAILED")
    return any(is_failure(run(agent, line)) for line in lines)


def three(agent: Agent) -> bool:
    return is_three("".join([run(agent, f"python3 part.py {name}") for name in "abc"]))


def flaky(agent: Agent) -> bool:
    return any("801 passed" in run(agent, "python3 flaky.py") for _ in range(5))


def chatty(agent: Agent) -> bool:
    run(agent, "setsid python3 chatty.py >chatty.log 2>&1 </dev/null & echo $! >pid")
    seen = []
    for line in ("disk sda1 is full", "certificate expires in 2 days"):
        with (agent.folder / "news.txt").open("a") as file:
            file.write(f"{line}\n")
        seen.append(run(agent, "sleep 0.5; cat chatty.log"))
    agent.unseen("run_command", command="kill $(cat pid)")
    return is_news(*seen)


TASKS: dict[str, Task] = {
    "4 one failure in 15 MB": failure,
    "5 25 s build: result and warnings": lambda agent: is_build(run(agent, "python3 build.py")),
    "8 three builds at once, one fails": three,
    "9 flaky, at most 5 tries": flaky,
    "11 masked failure": lambda agent: is_masked(run(agent, "make 2>/dev/null | tail -3")),
    "13 what is new in a chatty log": chatty,
}
