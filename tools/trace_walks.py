"""Counts what four walks through the code touch: Python calls, functions, modules, hand-overs and plans.

`python tools/trace_walks.py` prints a table. A hand-over is a call from one
module of ours to another. Imports are not counted, nor what a module does
while it is imported: each walk inside this process runs once before.
"""

import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

SOURCE = str(Path(__file__).parents[1] / "src" / "agent_exec") + os.sep
BOUNDS = {"run -- echo hi": 35, "exec_command": 22, "exec_command, confined": 30, "/shell echo hi": 24}
"""The most modules that a walk may touch."""


class Trace:
    """What one thread called."""

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Count from zero."""
        self.calls = self.handovers = self.plans = 0
        self.functions: set[str] = set()
        self.modules: set[str] = set()
        self._last = ""

    def __call__(self, frame: FrameType, event: str, _argument: object) -> None:
        """Count a call of ours; for sys.setprofile."""
        file = frame.f_code.co_filename
        if event != "call" or not file.startswith(SOURCE) or is_import(frame):
            return
        name = file[len(SOURCE) :]
        self.calls += 1
        self.functions.add(f"{name}:{frame.f_code.co_qualname}")
        self.modules.add(name)
        self.handovers += name != self._last
        self.plans += frame.f_code.co_qualname == "make_plan"
        self._last = name

    def told(self) -> dict[str, Any]:
        """Return the counts, and the modules."""
        return {
            "calls": self.calls,
            "functions": len(self.functions),
            "modules": sorted(self.modules),
            "handovers": self.handovers,
            "plans": self.plans,
        }


def is_import(frame: FrameType | None) -> bool:
    """True if a module of ours is being imported."""
    while frame is not None:
        if frame.f_code.co_name == "<module>" and frame.f_code.co_filename.startswith(SOURCE):
            return True
        frame = frame.f_back
    return False


def command_line(folder: str) -> dict[str, dict[str, Any]]:
    """Trace `agent-exec run -- echo hi`: the caller, and the supervisor that it forks."""
    script = f"""
import json, os, sys
sys.path.insert(0, {str(Path(__file__).parent)!r})
from trace_walks import Trace
from agent_exec.apps.main import main
trace, first, leave = Trace(), os.getpid(), os._exit
def told(code):
    sys.setprofile(None)
    name = "caller" if os.getpid() == first else f"process {{os.getpid()}}"
    with open(os.path.join({folder!r}, name + ".json"), "w") as file:
        json.dump(trace.told(), file)
    leave(code)
os._exit = told
sys.argv = ["agent-exec", "run", "--root", {folder!r} + "/jobs", "--", "echo", "hi"]
sys.setprofile(trace)
try:
    code = main()
finally:
    os._exit(0)
"""
    for _ in range(2):
        for old in Path(folder).glob("*.json"):
            old.unlink()
        subprocess.run([sys.executable, "-c", script], cwd=folder, stdout=subprocess.DEVNULL, check=True)
    store = [sys.executable, "-m", "agent_exec", "wait", "--root", f"{folder}/jobs"]
    listed = subprocess.run([*store[:3], "list", "--all", *store[4:]], stdout=subprocess.PIPE, check=True)
    for job in json.loads(listed.stdout)["jobs"]:
        subprocess.run([*store, job["job_id"]], stdout=subprocess.DEVNULL, check=False)
    found = {path.stem: json.loads(path.read_text()) for path in sorted(Path(folder).glob("*.json"))}
    return {name if name == "caller" else "supervisor": told for name, told in found.items() if told["calls"]}


def calls(act: Callable[[], object]) -> dict[str, dict[str, Any]]:
    """Trace what a call does in its own thread, and in the threads that it starts."""
    others: list[Trace] = []

    def begin(frame: FrameType, event: str, argument: object) -> None:
        others.append(Trace())
        sys.setprofile(others[-1])
        others[-1](frame, event, argument)

    own = Trace()
    threading.setprofile(begin)
    sys.setprofile(own)
    try:
        act()
        for trace in (own, *others):
            trace.forget()
        act()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    told = {"caller": own.told()} | {f"thread {n}": other.told() for n, other in enumerate(others, 1)}
    return {name: counted for name, counted in told.items() if counted["calls"]}


def main() -> int:
    """Print the table; return 1 if a walk touches more modules than it may."""
    import agent_exec
    from agent_exec.faces.slash.core import SlashCore
    from agent_exec.faces.slash.permission import ShellPermission

    walks: dict[str, dict[str, dict[str, Any]]] = {}
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        walks["run -- echo hi"] = command_line(folder)
        asked = {"cmd": "echo hi", "tty": True, "shell": "sh", "login": False, "workdir": folder}
        with agent_exec.open_tools(workspace=folder) as tools:
            walks["exec_command"] = calls(lambda: tools.call("exec_command", asked))
        box = agent_exec.Profile("workspace-write", [folder])
        with agent_exec.open_tools(workspace=folder, sandbox=box) as tools:
            walks["exec_command, confined"] = calls(lambda: tools.call("exec_command", asked))
        may = ShellPermission(True, env={"PATH": os.environ["PATH"]})
        with SlashCore(may) as core:

            def typed() -> None:
                answer = core.submit("/shell echo hi", folder)
                assert answer.execution is not None, answer.feedback
                answer.execution.wait(30)

            walks["/shell echo hi"] = calls(typed)
    too_many = False
    print("| walk | where | calls | functions | modules | hand-overs | plans |")
    print("|---|---|---|---|---|---|---|")
    for walk, parts in walks.items():
        for where, told in parts.items():
            row = (told["calls"], told["functions"], len(told["modules"]), told["handovers"], told["plans"])
            print(f"| {walk} | {where} | {' | '.join(map(str, row))} |")
        every = {name for told in parts.values() for name in told["modules"]}
        counted = set(parts["caller"]["modules"]) if walk.startswith("exec_command") else every
        too_many |= len(counted) > BOUNDS[walk]
        print(f"| {walk} | **counted** | | | **{len(counted)}** of {BOUNDS[walk]} | | |")
    return int(too_many)


if __name__ == "__main__":
    sys.exit(main())
