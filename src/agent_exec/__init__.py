"""Runs commands for AI agents: every byte kept, every process owned, no orphan left."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agent_exec.engine.engine import Engine, run
    from agent_exec.engine.run import Run
    from agent_exec.model.command import Command, Terminal
    from agent_exec.model.errors import AgentExecError
    from agent_exec.model.limits import Limits
    from agent_exec.model.outcome import Outcome
    from agent_exec.model.output import Head, HeadTail, Lines, Tail, Text
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
    "run": "engine.engine",
}


def __getattr__(name: str) -> object:
    """Load a name from its home when it is first used."""
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value = globals()[name] = getattr(import_module(f"{__name__}.{home}"), name)
    return value


def __dir__() -> list[str]:
    """List the front door's names."""
    return __all__
