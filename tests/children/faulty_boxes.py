"""Has each step of making a box fail in turn: faulty_boxes ROOT TTY; prints what a command came to, a line each."""

import json
import os
import sys

from agent_exec.engine import engine
from agent_exec.host import Spawner
from agent_exec.model.command import Command
from agent_exec.model.errors import SandboxUnavailable
from agent_exec.sandbox.profile import Profile
from agent_exec.sandbox.setup_steps import STEPS, At, StepFailed


def main(root: str, tty: bool) -> None:
    """Run the same command with no fault, with each fault, and with none again."""
    wanted = -1

    def enter(at: At) -> None:
        if at._number == wanted:
            failed = StepFailed(5, "made to fail")
            failed.step = wanted
            raise failed

    At.__enter__ = enter  # type: ignore[method-assign]
    for wanted in (-1, *range(1, len(STEPS)), -1):
        # Helpers that are forked have the fault too; others would be started anew, without it.
        engine._shared = Spawner(forks=True)
        told: dict[str, object] = {"fault": wanted}
        command = Command(["/bin/sh", "-c", "echo ran >ran"], cwd=root, tty=tty)
        try:
            engine.run_command(command, sandbox=Profile("workspace-write", [root]))
        except SandboxUnavailable as error:
            told |= {"code": error.code, "step": error.details.get("step"), "message": error.message}
        told["ran"] = os.path.exists(os.path.join(root, "ran"))
        if told["ran"]:
            os.unlink(os.path.join(root, "ran"))
        print(json.dumps(told), flush=True)
        engine.close_shared()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2] == "tty")
