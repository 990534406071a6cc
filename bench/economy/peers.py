"""The plain tasks through servers of others that run one shell line a call, where they are installed."""

import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from bench.economy.agent import Agent
from bench.economy.ours import Task, is_build, is_failure, is_masked, is_news, is_three


@dataclass(frozen=True)
class Peer:
    """A server: its program, the variables it needs, and its tool for one line."""

    program: str
    variables: Mapping[str, str]
    run: Callable[[Agent, str], str]

    def words(self) -> list[str] | None:
        """Return how it is started; None if it is not installed."""
        found = shutil.which(self.program)
        return None if found is None else [found]

    def tasks(self) -> dict[str, Task]:
        """Return the plain tasks by this server."""
        return {
            "4 one failure in 15 MB": self._failure,
            "5 25 s build: result and warnings": lambda agent: is_build(self.run(agent, "python3 build.py")),
            "8 three builds at once, one fails": self._three,
            "9 flaky, at most 5 tries": self._flaky,
            "11 masked failure": lambda agent: is_masked(self.run(agent, "make 2>/dev/null | tail -3")),
            "13 what is new in a chatty log": self._chatty,
        }

    def _failure(self, agent: Agent) -> bool:
        return any(
            is_failure(self.run(agent, line))
            for line in ("python3 suite.py", "python3 suite.py | grep -n -A5 FAILED")
        )

    def _three(self, agent: Agent) -> bool:
        return is_three("".join([self.run(agent, f"python3 part.py {name}") for name in "abc"]))

    def _flaky(self, agent: Agent) -> bool:
        return any("801 passed" in self.run(agent, "python3 flaky.py") for _ in range(5))

    def _chatty(self, agent: Agent) -> bool:
        self.run(agent, "nohup setsid python3 chatty.py >chatty.log 2>&1 & echo $! >pid; sleep 0.3")
        seen = []
        for line in ("disk sda1 is full", "certificate expires in 2 days"):
            with (agent.folder / "news.txt").open("a") as file:
                file.write(f"{line}\n")
            seen.append(self.run(agent, "sleep 0.5; cat chatty.log"))
        self.run(agent, "kill $(cat pid)")
        return is_news(*seen)


def _shell_execute(agent: Agent, line: str) -> str:
    return agent.call("shell_execute", command=["sh", "-c", line], directory=str(agent.folder), timeout=90)


PEERS = {"mcp-shell-server": Peer("mcp-shell-server", {"ALLOW_COMMANDS": "sh"}, _shell_execute)}
