"""What a face and the judge cost over the bare engine: faces CONTESTANT PROGRAM."""

import shutil
import sys
import tempfile
from collections.abc import Callable
from time import perf_counter

import agent_exec
from bench.worker import require, serve

RULES = [
    agent_exec.Rule(["git", ["status", "log", "diff"]], "allow"),
    agent_exec.Rule([["true", "ls", "cat", "grep", "cd", "find", "xargs", "head"]], "allow"),
    agent_exec.Rule(["rm"], "deny"),
    *(agent_exec.Rule([f"program{number}", "word"], "allow") for number in range(40)),
]
LINES = {
    "plain": "ls -l src",
    "pipeline": "git status -s && ls -l | head -5",
    "loop": 'for f in *.c; do grep -n main "$f"; done',
    "message": "git commit -m \"$(cat <<'EOF'\nfix: it's done\nEOF\n)\"",
    "long": "cd src && find . -name '*.py' | xargs grep -n foo | head -20 > out.txt 2>&1",
}
Once = Callable[[], object]


def bare(program: str) -> Once:
    return lambda: agent_exec.run([program]).exit_code


def shell(program: str) -> Once:
    return lambda: agent_exec.run(["/bin/sh", "-c", f"'{program}'"]).exit_code


def toolkit(program: str, mode: "agent_exec.toolkit.ShellMode", rules: "agent_exec.Policy | None") -> Once:
    folder = tempfile.gettempdir()
    kit = agent_exec.create_agent_toolkit(folder, {"tools": {"exec_command": "allow"}}, rules=rules)

    def once() -> object:
        return kit.exec_command(".", [program], shell_mode=mode)["data"]["exit_code"]

    return once


def executor(program: str) -> Once:
    lists = agent_exec.CommandLists(whitelist=[program])
    runs = agent_exec.CommandExecutor(None, agent_exec.CommandExecutorConfig(policy=lists))
    return lambda: runs.execute_command(program).exit_code


def judging(command: "list[str] | str") -> Once:
    policy = agent_exec.Policy(RULES)
    return lambda: 0 if policy.judge(command).kind else 1


def contestant(name: str, program: str) -> Once:
    path = shutil.which(program) or program
    if name.startswith("line:"):
        return judging(LINES[name.partition(":")[2]])
    made: dict[str, Callable[[], Once]] = {
        "bare": lambda: bare(program),
        "shell": lambda: shell(program),
        "direct": lambda: toolkit(program, "direct", None),
        "judged": lambda: toolkit(program, "direct", agent_exec.Policy(RULES)),
        "default": lambda: toolkit(program, "default", None),
        "default-judged": lambda: toolkit(program, "default", agent_exec.Policy(RULES)),
        "executor": lambda: executor(program),
        "argv": lambda: judging([program, path]),
    }
    return made[name]()


def main(name: str, program: str, repeat: str = "1") -> None:
    once, times = contestant(name, program), int(repeat)

    def block(count: int) -> dict[str, list[float]]:
        seconds = []
        for _ in range(count):
            start = perf_counter()
            done = [once() for _ in range(times)]
            seconds.append((perf_counter() - start) / times)
            require(not any(done), f"it ended with {done!r}")
        return {"seconds": seconds}

    serve(block)


if __name__ == "__main__":
    main(*sys.argv[1:])
