"""Real trees for the tests of plans: repositories made by git, without anyone's settings."""

import os
import subprocess
from pathlib import Path

from agent_exec.sandbox.plan.plan import Plan, make_plan
from agent_exec.sandbox.profile import Profile


def git(where: Path, *words: str) -> str:
    """Run git in a folder; return what it prints."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    env |= {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "GIT_TERMINAL_PROMPT": "0"}
    settings = (
        "user.name=t",
        "user.email=t@example.org",
        "protocol.file.allow=always",
        "init.defaultBranch=main",
    )
    words = (*(word for setting in settings for word in ("-c", setting)), *words)
    done = subprocess.run(["git", *words], cwd=where, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def repository(where: Path) -> Path:
    """Make a repository with one commit; return its working tree, by its real path."""
    where.mkdir(parents=True, exist_ok=True)
    git(where, "init", "-q")
    (where / "file").write_text("one\n")
    git(where, "add", ".")
    git(where, "commit", "-q", "-m", "one")
    return where.resolve()


def planned(home: Path, *roots: object, **fields: object) -> Plan:
    """Make the plan of a profile with these roots."""
    return make_plan(Profile(roots=[os.fspath(one) for one in roots], **fields), home=str(home))  # type: ignore[arg-type, call-overload]


def names(root: Path, paths: tuple[str, ...]) -> set[str]:
    """Return paths as they are seen from a folder."""
    return {os.path.relpath(path, root) for path in paths}
