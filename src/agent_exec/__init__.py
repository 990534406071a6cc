"""Runs commands for AI agents: every byte kept, every process owned, no orphan left."""

from agent_exec.model.lazy import loader

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agent_exec.engine.engine import Engine, run
    from agent_exec.engine.run import Run
    from agent_exec.model.command import Command, Terminal
    from agent_exec.model.errors import AgentExecError
    from agent_exec.model.limits import Limits
    from agent_exec.model.outcome import Outcome
    from agent_exec.model.output import Head, HeadTail, Lines, Tail, Text
    from agent_exec.settings import open_jobs
    from agent_exec.version import __version__

__all__ = [
    "AgentExecError",
    "Command",
    "Engine",
    "Head",
    "HeadTail",
    "Limits",
    "Lines",
    "Outcome",
    "Run",
    "Tail",
    "Terminal",
    "Text",
    "__version__",
    "open_jobs",
    "run",
]

_HOMES = {
    "AgentExecError": "model.errors",
    "Command": "model.command",
    "Engine": "engine.engine",
    "Head": "model.output",
    "HeadTail": "model.output",
    "Limits": "model.limits",
    "Lines": "model.output",
    "Outcome": "model.outcome",
    "Run": "engine.run",
    "Tail": "model.output",
    "Terminal": "model.command",
    "Text": "model.output",
    "__version__": "version",
    "open_jobs": "settings",
    "run": "engine.engine",
}


__getattr__ = loader(__name__, _HOMES)


def __dir__() -> list[str]:
    """List the front door's names."""
    return __all__
