"""The verb `mcp`: serves a toolset over stdin and stdout until the client hangs up."""

import os
import sys

from agent_exec.apps.cli.usage import UsageError
from agent_exec.model.errors import AgentExecError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import NoReturn

    from agent_exec.apps.cli.parse import Parsed
    from agent_exec.apps.mcp.toolset import Settings, Toolset


def mcp(asked: "Parsed") -> "NoReturn":
    """Do it, and end the process: what it has on stdout is the protocol's, and no answer comes there.

    Refuses with a UsageError what makes no sense, and what cannot be served.
    """
    from agent_exec.apps.mcp.toolset import TOOLSETS, check_name, open_toolset

    if asked.words:
        raise UsageError(f"{asked.words[0]!r} is one word too many", "mcp")
    name = asked.options.get("toolset", next(iter(TOOLSETS)))
    try:
        check_name(name)
        settings = _settings(asked)
        status = serve(lambda: open_toolset(name, settings))
    except AgentExecError as error:
        raise UsageError(error.message, "mcp") from None
    except UsageError:
        raise
    except KeyboardInterrupt:
        status = 130
    except BaseException as error:
        sys.excepthook(type(error), error, error.__traceback__)
        status = 1
    os._exit(status)  # a call that was given up may still have a thread


def serve(open_toolset: "Callable[[], Toolset]") -> int:
    """Open a toolset, serve it over stdin and stdout, close it; give the exit status."""
    from agent_exec.apps.mcp.wire import Wire

    wire = Wire()  # before all else: a library may print when it is loaded
    try:
        from agent_exec.apps.mcp import serving
    except ImportError as error:
        if (error.name or "").startswith("agent_exec"):
            raise
        raise UsageError(
            f"the SDK of the protocol is missing ({error}): install agent-exec[mcp]", "mcp"
        ) from None
    return serving.run(open_toolset, wire)


def _settings(asked: "Parsed") -> "Settings":
    from agent_exec.apps.mcp.toolset import Settings
    from agent_exec.settings import approval_policy, jobs_root, rules_file, rules_place

    options = asked.options
    folders = options.get("workspace", [])
    if len(folders) > 1 or not all(folders):
        raise UsageError("--workspace takes one folder", "mcp")
    for folder in folders:
        if not os.path.isdir(folder):
            raise UsageError(f"--workspace takes a folder that exists; got {folder!r}", "mcp")
    rules = rules_file(options.get("rules"))
    profile = None
    own: tuple[str, ...] = ()
    if "sandbox" in options:
        from agent_exec.apps.cli.profile import is_file
        from agent_exec.apps.cli.profile import profile as make

        profile = make(asked, "sandbox", "workspace")
        named = options["sandbox"]
        own = (rules or rules_place(), *([os.path.abspath(named)] if is_file(named) else []))
    workspace = os.path.realpath(folders[0]) if folders else None
    return Settings(workspace, profile, rules, approval_policy(), own, jobs_root())
