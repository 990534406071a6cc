"""git_status_summary: the state of a repository, without running anything that the repository names."""

import os

from agent_exec.faces.oneshot.definitions import MOST_OUTPUT_CHARS, TOOL_DEFINITIONS
from agent_exec.faces.oneshot.exec_command import execute
from agent_exec.faces.oneshot.secure import ToolError, secure_tool
from agent_exec.model.errors import InvalidArgument
from agent_exec.requests.variables import INHERIT, build

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from agent_exec.faces.oneshot.secure import Arguments, Context

# What the configuration of a repository could make git run, each set to nothing.
_GIT = (
    *("git", "--no-pager"),
    *("-c", "core.fsmonitor=false"),
    *("-c", "core.hooksPath=/dev/null"),
    *("-c", "core.quotePath=false"),
    *("-c", "safe.bareRepository=explicit"),
)
# A submodule is looked at by another git, which our settings do not reach: its own changes are left out.
_STATUS = ("status", "--porcelain=v1", "--branch", "--ignore-submodules=dirty")

_VARIABLES = INHERIT.replace(
    values={
        "LC_ALL": "C",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_ALLOW_PROTOCOL": "none",
        "GIT_NO_LAZY_FETCH": "1",
    },
    exclude=(  # they would lead git to another repository than the one that is there
        "GIT_ALTERNATE_OBJECT_DIRECTORIES",
        "GIT_COMMON_DIR",
        "GIT_DIR",
        "GIT_INDEX_FILE",
        "GIT_NAMESPACE",
        "GIT_OBJECT_DIRECTORY",
        "GIT_PREFIX",
        "GIT_WORK_TREE",
    ),
)

_NOT_IN_A_WORK_TREE = ("not a git repository", "must be run in a work tree", "cannot use bare repository")
_DETACHED = "HEAD (no branch)"
_UNBORN = ("No commits yet on ", "Initial commit on ")


def branch_of(raw: str) -> str | None:
    """Return the branch that the output of git status names; None if there is none."""
    first = raw.partition("\n")[0].rstrip("\r")
    if not first.startswith("## "):
        raise ToolError("INTERNAL", "git status did not begin with the branch")
    name = first[3:]
    if name == _DETACHED:
        return None
    for prefix in _UNBORN:
        name = name.removeprefix(prefix)
    return name.partition("...")[0]


def without_filters(env: "dict[str, str]", listed: str) -> "dict[str, str]":
    """Return an environment that disables the filters of a repository's own configuration.

    `listed` is what git says about its settings: scope and name, each ended by NUL.
    """
    fields = listed.split("\0")
    names = {
        name.rpartition(".")[0]
        for scope, name in zip(fields[::2], fields[1::2], strict=False)
        if scope in ("local", "worktree")
    }
    if not names:
        return env
    given = env.get("GIT_CONFIG_COUNT", "")
    count = int(given) if given.isdecimal() else 0
    changed = dict(env)
    for name in sorted(names):
        for key, value in (("clean", ""), ("process", ""), ("smudge", ""), ("required", "false")):
            changed[f"GIT_CONFIG_KEY_{count}"] = f"{name}.{key}"
            changed[f"GIT_CONFIG_VALUE_{count}"] = value
            count += 1
    changed["GIT_CONFIG_COUNT"] = str(count)
    return changed


def _check(asked: "Arguments") -> "Arguments":
    cwd = asked["cwd"]
    if cwd[1:2] == ":" and cwd[:1].isalpha():
        raise InvalidArgument(
            f"cwd must be a path in the workspace, without a drive; got {cwd!r}", argument="cwd"
        )
    return asked


def _act(context: "Context", asked: "Arguments") -> "dict[str, Any]":
    cwd = asked["cwd"]
    env = build(os.environ, _VARIABLES)
    root = _git(context, ("rev-parse", "--show-toplevel"), cwd, env)["stdout"].rstrip("\r\n")
    listing = ("config", "--show-scope", "--name-only", "-z", "--get-regexp", r"^filter\.")
    filters = _git(context, listing, cwd, env, none=1)
    raw = _git(context, _STATUS, cwd, without_filters(env, filters["stdout"]))["stdout"]
    return {"repository_root": root, "branch": branch_of(raw), "raw": raw}


def _git(
    context: "Context", words: "tuple[str, ...]", cwd: str, env: "dict[str, str]", *, none: int = 0
) -> "dict[str, Any]":
    """Run git; `none` is the exit code by which it says that there is nothing."""
    told = execute(context, (*_GIT, *words), cwd, env=env, max_output_chars=MOST_OUTPUT_CHARS)
    if told["timed_out"]:
        raise ToolError(
            "INTERNAL", f"git {words[0]} took more than 30 seconds; try again, or use exec_command"
        )
    if told["exit_code"] not in (0, none):
        said = told["stderr"].strip()
        if any(sign in said.lower() for sign in _NOT_IN_A_WORK_TREE):
            raise ToolError("NOT_GIT_REPOSITORY", f"{cwd!r} is not in a git repository: {said}", cwd=cwd)
        raise ToolError("INTERNAL", f"git {words[0]} failed: {said}", exit_code=told["exit_code"])
    if told["stdout_truncated"]:
        raise ToolError(
            "INTERNAL", f"git {words[0]} printed more than {MOST_OUTPUT_CHARS} characters; use exec_command"
        )
    return told


GIT_STATUS_SUMMARY = secure_tool(
    TOOL_DEFINITIONS["git_status_summary"],
    _act,
    path="cwd",
    check=_check,
    words=lambda _asked: ("git", *_STATUS),
)
