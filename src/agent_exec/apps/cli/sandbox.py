"""The verb `sandbox`: runs a command in a box, explains boxes, and says which work here."""

import os

from agent_exec.apps.parse import UsageError
from agent_exec.places import here

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from agent_exec.apps.parse import Parsed


def sandbox(asked: "Parsed") -> "dict[str, Any]":
    """Run a command in a box, explain what one may touch, or say which boxes work here."""
    from agent_exec.apps.profile import is_file, profile
    from agent_exec.faces import sandbox as face

    what, words = asked.words[:1], asked.words[1:]
    if what == ["doctor"] and not words:
        return face.doctor()
    if what not in (["run"], ["explain"]):
        usage = "say what: `sandbox run -- COMMAND`, `sandbox explain PATH`, or `sandbox doctor`"
        raise UsageError(usage, "sandbox")
    if not words or not words[0]:
        raise UsageError("a command is needed, such as: agent-exec sandbox run -- make test", "sandbox")
    if what == ["explain"] and len(words) > 1:
        raise UsageError("one path is explained at a time: agent-exec sandbox explain ~/.netrc", "sandbox")
    from agent_exec.places import jobs_root
    from agent_exec.requests.dispatch import Dispatcher
    from agent_exec.requests.leaving import keep_out

    options = asked.options
    named = options.get("profile", "")
    wanted = profile(asked, "profile", "root")
    cwd = os.path.realpath(options.get("cwd") or here())
    own = [named] if is_file(named) else []
    keep_out(own, wanted)
    dispatcher = Dispatcher(sandbox=wanted, own=own, hidden=[jobs_root()])
    if what == ["explain"]:
        path = os.path.normpath(os.path.join(cwd, os.path.expanduser(words[0])))
        return face.explain(wanted, path, dispatcher.ours)
    timeout = options.get("timeout") or None
    if asked.form != "human":
        return face.run(dispatcher, words, cwd=cwd, timeout=timeout)
    from agent_exec.apps.cli.people.output import Output

    output = Output(split=True)
    told = face.run(dispatcher, words, cwd=cwd, timeout=timeout, on_output=output.write)
    output.finish()
    return told
