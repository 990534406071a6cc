"""apply_patch as a tool that may join a kit: files changed by a patch, all of them or none."""

from agent_exec.faces.oneshot.secure import judge, secure_tool

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from agent_exec.faces.oneshot.secure import Arguments, Context

_DEFINITION = {
    "name": "apply_patch",
    "description": "Changes files in the workspace by a patch, all of them or none.",
    "parameters": {
        "type": "object",
        "properties": {
            "patch": {
                "type": "string",
                "description": "*** Begin Patch … *** End Patch, with Add, Update and Delete File hunks.",
            },
            "cwd": {
                "type": "string",
                "description": "Directory that the patch's paths begin at (default: workspace root).",
            },
        },
        "required": ["patch"],
    },
}


def _act(context: "Context", asked: "Arguments") -> "dict[str, Any]":
    from agent_exec.patch.apply import verify, verify_confined

    plan = context.dispatcher.plan()
    if plan is not None:
        changes = verify_confined(asked["patch"], cwd=asked["cwd"], plan=plan)
    else:
        changes = verify(asked["patch"], cwd=asked["cwd"], inside=list(context.workspace.roots))
    stdin = asked["patch"].encode("utf-8", "surrogateescape")
    judge(context, ("apply_patch",), asked["cwd"], stdin, changes.paths)
    done = changes.apply()
    return {
        "added": list(done.added),
        "modified": list(done.modified),
        "deleted": list(done.deleted),
        "text": done.text,
    }


APPLY_PATCH = secure_tool(_DEFINITION, _act, path="cwd", writes=True)
"""The tool that applies patches, for `tools=` of a kit."""
