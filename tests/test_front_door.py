"""The public names: few, sorted, documented, importable, and enough to annotate what functions return."""

import ast
import builtins
import collections.abc
import concurrent.futures
import importlib
import inspect
import itertools
import os
import re
import subprocess
import sys
import types
import typing
from pathlib import Path

import pytest

import agent_exec
from agent_exec.faces.executor import config
from agent_exec.faces.oneshot import definitions, secure
from agent_exec.jobs import record
from agent_exec.model import choices, command, errors, lifecycle
from agent_exec.model.lazy import homes
from agent_exec.policy import verdict
from agent_exec.requests import gate
from agent_exec.sandbox import profile
from agent_exec.tools import define

ROOT = Path(__file__).parents[1]
CONTRACTS = ("executor", "jobs", "sessions", "toolkit")
DOORS = [agent_exec, *(importlib.import_module(f"agent_exec.{name}") for name in CONTRACTS)]
PAGES = {"agent_exec": "python", **{f"agent_exec.{name}": name for name in CONTRACTS}}
# Parameters that only agent-exec itself passes.
INSIDE = {
    "Store",
    "Started",
    "Sessions",
    "Storage",
    "Spawner",
    "Loop",
    "Launch",
    "Watch",
    "Gaze",
    "Identity",
    "Ancestor",
    "Ours",
    "Guard",
    "View",
    "Workspace",
    "Workspaces",
}

doors = pytest.mark.parametrize("door", DOORS, ids=lambda door: door.__name__)


def public(door: types.ModuleType) -> dict[str, object]:
    return {name: getattr(door, name) for name in door.__all__}


@doors
def test_names_are_sorted_and_where_they_are_said_to_be(door: types.ModuleType) -> None:
    assert door.__all__ == sorted(door.__all__, key=lambda name: (not name.isupper(), name))
    found = homes(door._HOMES)
    assert set(door.__all__) == set(found)
    assert dir(door) == sorted(door.__all__)
    for name in door.__all__:
        home = importlib.import_module(f"agent_exec.{found[name]}")
        assert getattr(door, name) is (home if found[name] == name else getattr(home, name))
    with pytest.raises(AttributeError):
        _ = door.nothing_of_the_kind


def test_names_that_have_moved_still_work() -> None:
    for name, home in homes(agent_exec._MOVED).items():
        value = getattr(agent_exec, name)
        assert value is getattr(importlib.import_module(f"agent_exec.{home}"), name)
        assert any(getattr(door, name, None) is value for door in DOORS[1:]), f"{name} has no new place"
        assert name not in dir(agent_exec)


def test_the_whole_tree_of_errors_is_public_and_drawn() -> None:
    tree = {kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, Exception)}
    assert tree <= set(public(agent_exec).values())
    assert errors.__doc__ is not None
    for kind in tree:
        assert re.search(rf"^ *{kind.__name__}\b", errors.__doc__, re.MULTILINE), kind


@doors
def test_every_name_is_documented(door: types.ModuleType) -> None:
    """By a docstring, and by a word on the page of its module."""
    page = (ROOT / "docs" / f"{PAGES[door.__name__]}.md").read_text()
    described = documented_constants()
    for name, value in public(door).items():
        if isinstance(value, type | types.FunctionType | types.ModuleType):
            assert inspect.getdoc(value), name
        elif name != "__version__":
            assert name in described, f"{name} has no docstring"
        assert re.search(rf"\b{re.escape(name)}\b", page), f"{name} is not in docs/{PAGES[door.__name__]}.md"


def documented_constants() -> set[str]:
    """Return the names that are assigned in our modules with a text right below."""
    found = set()
    for module in {home for door in DOORS for name, home in homes(door._HOMES).items() if home != name}:
        source = ROOT / "src" / "agent_exec" / f"{module.replace('.', '/')}.py"
        body = ast.parse(source.read_text()).body
        for node, after in itertools.pairwise(body):
            if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant):
                targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
                found |= {target.id for target in targets if isinstance(target, ast.Name)}
    return found


@doors
def test_annotations_name_what_is_public(door: types.ModuleType) -> None:
    """A caller can write down the type of all that goes in and comes out."""
    known = {name: value for one in DOORS for name, value in public(one).items()}
    standard = {
        **vars(collections.abc),
        **vars(typing),
        **vars(types),
        **vars(builtins),
        **vars(concurrent.futures),
    }
    inside = dict.fromkeys(INSIDE, typing.Any)
    for name, value in public(door).items():
        for function in functions(value):
            spaces = {**standard, "os": os, "PathLike": os.PathLike, **inside, **known}
            own = vars(sys.modules[function.__module__])
            spaces |= {key: item for key, item in own.items() if key not in known}
            try:
                typing.get_type_hints(function, spaces)
            except NameError as error:
                pytest.fail(f"{name}: {function.__qualname__}: {error}")


def functions(value: object) -> list[types.FunctionType]:
    """Return a public function, or the public methods of a public class of ours."""
    if isinstance(value, types.FunctionType):
        return [value]
    if not isinstance(value, type) or not value.__module__.startswith("agent_exec"):
        return []
    found = []
    for name, member in vars(value).items():
        plain = member.fget if isinstance(member, property) else getattr(member, "__func__", member)
        if isinstance(plain, types.FunctionType) and (name == "__init__" or not name.startswith("_")):
            found.append(plain)
    return found


def test_choices_are_those_that_are_checked() -> None:
    shell_modes = definitions.TOOL_DEFINITIONS["exec_command"]["parameters"]["properties"]["shell_mode"]
    for alias, checked in (
        (choices.Approval, gate.ANSWERS),
        (choices.ApprovalPolicy, gate.APPROVAL_POLICIES),
        (choices.GitAccess, profile.GIT),
        (choices.JobState, record.STATES),
        (choices.Leftovers, command.LEFTOVERS),
        (choices.OnLimit, config.ON_LIMIT),
        (choices.Overflow, command.OVERFLOWS),
        (choices.Phase, lifecycle.PHASES),
        (choices.Permission, secure.PERMISSIONS),
        (choices.ProfileName, profile.NAMES),
        (choices.Provider, tuple(define.PROVIDERS)),
        (choices.ShellMode, shell_modes["enum"]),
        (choices.Unmatched, gate.UNMATCHED),
        (choices.VerdictKind, verdict.KINDS),
        (choices.WriteScope, secure.WRITE_SCOPES),
    ):
        assert set(typing.get_args(alias)) == set(checked), alias


def test_a_strangers_code_passes_mypy(tmp_path: Path) -> None:
    """From outside of this project: only what the package exports counts, by its marker py.typed."""
    consumer = tmp_path / "consumer.py"
    consumer.write_text((ROOT / "tests" / "consumer.py").read_text())
    wrong = tmp_path / "wrong.py"
    wrong.write_text('import agent_exec\nagent_exec.run(["true"], leftovers="keep")\n')
    words = [
        sys.executable,
        "-m",
        "mypy",
        "--strict",
        "--config-file=",
        "--cache-dir",
        str(tmp_path / "cache"),
    ]
    out = subprocess.run(
        [*words, str(consumer), str(wrong)], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert "Found 1 error in 1 file (checked 2 source files)" in out.stdout, out.stdout + out.stderr
    assert 'wrong.py:2: error: Argument "leftovers"' in out.stdout
