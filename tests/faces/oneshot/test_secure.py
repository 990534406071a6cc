"""The steps before a tool acts, in their order, and how other tools join."""

from pathlib import Path
from typing import Any

import pytest

from agent_exec.faces.oneshot.apply_patch import APPLY_PATCH
from agent_exec.faces.oneshot.kit import Toolkit, create_agent_toolkit
from agent_exec.faces.oneshot.secure import Context, ToolError, secure_tool
from agent_exec.model import errors
from agent_exec.model.errors import AgentExecError, InvalidArgument
from faces.oneshot.seen import ALL, MakeKit, code, data


def where(kit: Toolkit, cwd: str) -> str:
    answer = data(kit.exec_command(cwd, ["pwd", "-P"]))
    assert answer["stdout"] == answer["cwd"] + "\n"
    found: str = answer["cwd"]
    return found


@pytest.mark.parametrize(
    "cwd",
    [
        "src/tools",
        "src\\tools",
        "./src/./tools/",
        ".\\src\\tools\\",
        "src//tools",
        "src/../src/tools",
        "src\\..\\src/tools",
        "..cache/../src/tools",
        "{root}/src/tools",
        "/{root}/src/tools",
        "{root}\\src\\tools",
        "{root}/../repo/src/tools",
        "link/tools",
        "absolute/tools",
        "src/up/src/tools",
    ],
)
def test_e6_e9_paths_that_lead_to_one_directory(kit: Toolkit, root: Path, cwd: str) -> None:
    r"""E6, E9: / and \ alike, relative or absolute, through links that stay inside."""
    (root / "..cache").mkdir()
    (root / "link").symlink_to("src")
    (root / "absolute").symlink_to(root / "src")
    (root / "src" / "up").symlink_to("..")
    assert where(kit, cwd.format(root=root)) == str(root / "src" / "tools")


@pytest.mark.parametrize(
    "cwd", [".", "./", ".\\", "src/..", "{root}", "{root}/", "//{root}", "src\\tools\\..\\.."]
)
def test_e6_the_root_itself_is_inside(kit: Toolkit, root: Path, cwd: str) -> None:
    assert where(kit, cwd.format(root=root)) == str(root)


def test_a_name_that_begins_with_two_dots_is_a_name(kit: Toolkit, root: Path) -> None:
    (root / "..cache").mkdir()
    assert where(kit, "..cache") == str(root / "..cache")


@pytest.mark.parametrize(
    "cwd",
    [
        "..",
        "../",
        "..\\",
        "../other",
        "src/../../other",
        "src\\..\\..\\other",
        "/",
        "//",
        "/etc",
        "//etc",
        "///etc",
        "\\",
        "\\\\server\\share",
        "{root}2",
        "{root}/..",
        "{root}/../repo2",
        "out",
        "out/deeper",
        "src/out/../other",
        "dangling",
        "../missing",
        "/Policy",
    ],
)
def test_e6_what_leads_out_is_refused(kit: Toolkit, root: Path, cwd: str) -> None:
    """E6: by whole names, links followed; a path that is refused is never taken for a matter of policy."""
    for name in ("other", "repo2"):
        (root.parent / name).mkdir()
    (root / "out").symlink_to(root.parent / "other")
    (root / "src" / "out").symlink_to("../../other")
    (root / "dangling").symlink_to("../missing")
    answer = kit.exec_command(cwd.format(root=root), ["touch", "here"])
    assert code(answer) == "SANDBOX_VIOLATION"
    assert answer["message"].startswith("[Sandbox Violation]")
    assert "outside of workspace" in answer["message"]
    assert not (root.parent / "other" / "here").exists()


def test_a_link_that_leads_nowhere_is_no_directory(kit: Toolkit, root: Path) -> None:
    (root / "loop").symlink_to("loop")
    (root / "dangling").symlink_to("missing")
    assert code(kit.exec_command("loop", ["true"])) == "NOT_DIRECTORY"
    assert code(kit.exec_command("dangling", ["true"])) == "NOT_DIRECTORY"


def test_a_root_that_is_a_link(root: Path, tmp_path: Path) -> None:
    link = tmp_path / "alias"
    link.symlink_to(root)
    kit = create_agent_toolkit(link, ALL)
    assert kit.workspace_root == str(root)
    assert where(kit, "src") == str(root / "src")
    assert where(kit, f"{link}/src") == str(root / "src")
    assert where(kit, f"{root}/src") == str(root / "src")


def test_a_root_that_is_gone(kit: Toolkit, root: Path) -> None:
    root.rename(root.parent / "moved")
    assert code(kit.exec_command(".", ["true"])) == "NOT_DIRECTORY"
    root.symlink_to("moved")
    assert code(kit.exec_command("src", ["true"])) == "SANDBOX_VIOLATION", "it is another folder now"


def test_the_root_of_all(tmp_path: Path) -> None:
    kit = create_agent_toolkit("/", ALL)
    assert where(kit, str(tmp_path)) == str(tmp_path.resolve())
    assert where(kit, "../..") == "/"


def test_a_relative_root_is_fixed_when_the_kit_is_made(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(root.parent)
    kit = create_agent_toolkit("repo", ALL)
    monkeypatch.chdir("/")
    assert where(kit, "src") == str(root / "src")


def test_e46_policy_then_shape_then_sandbox_then_existence(root: Path, make_kit: MakeKit) -> None:
    """E46, E36: each mistake hides all that would come after it."""
    denied = create_agent_toolkit(root, {"tools": {"exec_command": "deny"}, "default_policy": "allow"})
    for arguments in (None, {}, {"cwd": "/", "command": []}, {"cwd": ".", "command": ["true"]}):
        answer = denied.invoke("exec_command", arguments)  # type: ignore[arg-type]
        assert code(answer) == "POLICY_DENIED"
        assert answer["message"] == "[Security Policy] Access denied for tool: exec_command"
    kit = make_kit()
    assert code(kit.exec_command("/", [])) == "INVALID_ARGUMENT"
    assert code(kit.exec_command("/", ["true"], timeout_ms=0)) == "INVALID_ARGUMENT"
    assert code(kit.exec_command("/missing", ["nothing"], shell_mode="direct")) == "SANDBOX_VIOLATION"
    assert code(kit.exec_command("missing", ["nothing"], shell_mode="direct")) == "NOT_DIRECTORY"
    assert code(kit.exec_command(".", ["nothing"], shell_mode="direct")) == "COMMAND_NOT_FOUND"


def test_without_a_policy_nothing_may_be_used(root: Path) -> None:
    kit = create_agent_toolkit(root)
    assert code(kit.exec_command(".", ["true"])) == "POLICY_DENIED"
    assert code(kit.git_status_summary()) == "POLICY_DENIED"


def test_a_policy_is_fixed_when_the_kit_is_made(root: Path) -> None:
    policy: dict[str, Any] = {"tools": {"exec_command": "deny"}, "default_policy": "deny"}
    kit = create_agent_toolkit(root, policy)
    policy["tools"]["exec_command"] = policy["default_policy"] = "allow"
    assert code(kit.exec_command(".", ["true"])) == "POLICY_DENIED"


def test_in_a_read_only_scope_no_command_runs(make_kit: MakeKit, root: Path) -> None:
    answer = make_kit(write_scope="read-only").exec_command(".", ["touch", "made"])
    assert code(answer) == "SANDBOX_VIOLATION"
    assert "Write operation denied" in answer["message"]
    assert not (root / "made").exists()
    kit = make_kit(write_scope="read-only", exec_in_read_only=True)
    assert data(kit.exec_command(".", ["echo", "hi"]))["stdout"] == "hi\n"
    denied = make_kit(write_scope="read-only", policy=None)
    assert code(denied.exec_command(".", ["true"])) == "POLICY_DENIED"
    assert code(make_kit(write_scope="read-only").exec_command(".", [])) == "INVALID_ARGUMENT"


def test_unrestricted_does_not_lift_the_boundary(make_kit: MakeKit) -> None:
    kit = make_kit(write_scope="unrestricted")
    assert kit.write_scope == "unrestricted"
    assert code(kit.exec_command("..", ["true"])) == "SANDBOX_VIOLATION"


@pytest.mark.parametrize(
    ("terms", "said"),
    [
        ({"workspace_root": None}, "workspace_root is missing"),
        ({"workspace_root": "/no/such/folder"}, "workspace_root must be a folder"),
        ({"workspace_root": ""}, "workspace_root must be a folder"),
        ({"workspace_root": 5}, "workspace_root must be a folder"),
        ({"workspace_root": b"/"}, "workspace_root must be a folder"),
        ({"workspace_root": "a\0b"}, "workspace_root must be a folder"),
        ({"workspace_root": __file__}, "workspace_root must be a folder"),
        ({"policy": "allow"}, "policy must be of the form"),
        ({"policy": ["exec_command"]}, "policy must be of the form"),
        ({"policy": {"exec_command": "allow"}}, "policy must be of the form"),
        ({"policy": {"tools": ["exec_command"]}}, "policy must be of the form"),
        ({"policy": {"tools": {"exec_command": "yes"}}}, "'exec_command' must be one of allow, deny"),
        ({"policy": {"tools": {"exec_command": True}}}, "'exec_command' must be one of allow, deny"),
        ({"policy": {"tools": {"exec_command": ["allow"]}}}, "'exec_command' must be one of allow, deny"),
        ({"policy": {"default_policy": "ask"}}, "'default_policy' must be one of allow, deny"),
        ({"policy": {"default_policy": None}}, "'default_policy' must be one of allow, deny"),
        ({"write_scope": "write"}, "read-only, workspace-write, unrestricted"),
        ({"write_scope": None}, "read-only, workspace-write, unrestricted"),
        ({"rules": 5}, "rules must be"),
        ({"approval_policy": "always"}, "approval_policy must be one of"),
        ({"tools": [5]}, "made by secure_tool"),
    ],
    ids=str,
)
def test_a_kit_that_cannot_be_made_says_what_to_do(
    make_kit: MakeKit, terms: dict[str, Any], said: str
) -> None:
    with pytest.raises(InvalidArgument, match=said):
        make_kit(**terms)


def test_a_kit_without_a_workspace() -> None:
    with pytest.raises(InvalidArgument, match="workspace_root is missing"):
        create_agent_toolkit()


GREET = {
    "name": "greet",
    "description": "Greets.",
    "parameters": {"type": "object", "properties": {"path": {"type": "string"}, "who": {"type": "string"}}},
}


def test_e55_another_tool_joins_by_secure_tool(make_kit: MakeKit, root: Path) -> None:
    """E55: services and others to come pass the same steps."""
    seen: list[tuple[Context, dict[str, Any]]] = []

    def greet(context: Context, arguments: dict[str, Any]) -> str:
        seen.append((context, arguments))
        if arguments.get("who") == "nobody":
            raise ToolError("NOBODY", "nobody is there", who="nobody", code=5)
        return f"hello {arguments['who']}"

    tool = secure_tool(GREET, greet, path="path", writes=True)
    kit = make_kit(tools=[tool])
    assert data(kit.invoke("greet", {"path": "src", "who": "you"})) == "hello you"
    assert seen[0][1] == {"path": str(root / "src"), "who": "you"}
    assert seen[0][0].workspace.root == str(root)
    assert data(kit.invoke("greet", {"who": "you"})) == "hello you"
    assert seen[1][1]["path"] == str(root), "the root, if nothing is said"
    nobody = kit.invoke("greet", {"who": "nobody"})
    assert code(nobody) == "NOBODY"
    assert nobody["error"]["details"] == {"who": "nobody", "code": 5}
    count = len(seen)
    assert code(kit.invoke("greet", {"path": "..", "who": "you"})) == "SANDBOX_VIOLATION"
    assert code(kit.invoke("greet", {"path": 5})) == "INVALID_ARGUMENT"
    assert code(kit.invoke("greet", {"whom": "you"})) == "INVALID_ARGUMENT"
    assert code(make_kit(tools=[tool], policy=None).invoke("greet", {})) == "POLICY_DENIED"
    assert code(make_kit(tools=[tool], write_scope="read-only").invoke("greet", {})) == "SANDBOX_VIOLATION"
    assert len(seen) == count
    failed = kit.invoke("greet", {})
    assert code(failed) == "INTERNAL"
    assert "KeyError" in failed["message"]
    assert [one["name"] for one in kit.allowed_tools()] == ["exec_command", "git_status_summary", "greet"]
    assert kit.tools_for("mcp")[-1]["inputSchema"] == GREET["parameters"]
    assert "greet" in kit.invoke("other", {})["message"]


def test_two_tools_of_one_name_are_refused(make_kit: MakeKit) -> None:
    named = GREET | {"name": "exec_command"}
    with pytest.raises(InvalidArgument, match="already"):
        make_kit(tools=[secure_tool(named, lambda _context, _arguments: None)])


@pytest.mark.parametrize(
    "definition",
    [None, {}, {"name": "x"}, GREET | {"parameters": {}}, GREET | {"name": 5}, GREET | {"parameters": None}],
    ids=str,
)
def test_a_definition_that_is_none(definition: Any) -> None:
    with pytest.raises(InvalidArgument, match="definition"):
        secure_tool(definition, lambda _context, _arguments: None)


def test_a_tool_needs_something_to_do_and_a_path_it_has() -> None:
    with pytest.raises(InvalidArgument, match="no 'cwd'"):
        secure_tool(GREET, lambda _context, _arguments: None, path="cwd")
    with pytest.raises(InvalidArgument, match="callable"):
        secure_tool(GREET, None)  # type: ignore[arg-type]


def test_every_error_of_ours_has_a_code_of_the_contract(make_kit: MakeKit) -> None:
    """Whatever is raised below a tool, the answer has one of the contract's codes."""
    raised: list[AgentExecError] = []

    def act(_context: Context, _arguments: object) -> None:
        raise raised[-1]

    kit = make_kit(tools=[secure_tool(GREET, act)])
    kinds = [
        one for one in vars(errors).values() if isinstance(one, type) and issubclass(one, AgentExecError)
    ]
    assert len(kinds) > 10
    for kind in kinds:
        raised.append(kind("said", errno=5))
        answer = kit.invoke("greet", {})
        expected = {
            "invalid_argument": "INVALID_ARGUMENT",
            "invalid_tag": "INVALID_ARGUMENT",
            "command_denied": "POLICY_DENIED",
            "approval_required": "POLICY_DENIED",
            "command_not_found": "COMMAND_NOT_FOUND",
            "command_not_executable": "COMMAND_NOT_FOUND",
            "workdir_not_found": "NOT_DIRECTORY",
            "not_a_directory": "NOT_DIRECTORY",
            "workdir_forbidden": "NOT_DIRECTORY",
        }.get(kind.code, "INTERNAL")
        assert code(answer) == expected, kind
        assert answer["message"] == "said"
        assert answer["error"]["retriable"] is (expected == "INTERNAL" and raised[-1].retryable), kind


def test_more_roots_than_one(make_kit: MakeKit, root: Path) -> None:
    """Relative paths start from the first; each of them may be worked in, and nothing else."""
    other = root.parent / "other"
    (other / "deeper").mkdir(parents=True)
    (root.parent / "third").mkdir()
    kit = make_kit(roots=[other], tools=[APPLY_PATCH])
    for cwd in (str(other / "deeper"), "../other/deeper"):
        assert where(kit, cwd) == str(other / "deeper")
    assert where(kit, ".") == str(root)
    refused = kit.exec_command("../third", ["true"])
    assert code(refused) == "SANDBOX_VIOLATION"
    assert f"{str(root)!r}, {str(other)!r}" in refused["message"]
    patch = "*** Begin Patch\n*** Add File: made\n+x\n*** End Patch"
    assert data(kit.invoke("apply_patch", {"patch": patch, "cwd": str(other)}))["added"]
    assert (other / "made").read_text() == "x\n"
    assert str(other) in kit.instructions


def test_no_command_runs_longer_than_the_longest(make_kit: MakeKit) -> None:
    kit = make_kit(longest=0.05)
    assert data(kit.exec_command(".", ["sleep", "1000"], timeout_ms=120_000))["timed_out"] is True


def test_a_tool_of_ones_own_is_validated_by_its_schema(make_kit: MakeKit) -> None:
    parameters = {
        "type": "object",
        "properties": {"count": {"type": "integer", "minimum": -5}, "kind": {"enum": ["a", 1]}, "any": {}},
        "required": ["count"],
    }
    tool = secure_tool(GREET | {"parameters": parameters}, lambda _context, arguments: arguments)
    kit = make_kit(tools=[tool])
    assert data(kit.invoke("greet", {"count": -5.0, "kind": 1, "any": "\0"})) == {
        "count": -5,
        "kind": 1,
        "any": "\0",
    }
    for wrong, said in (
        ({}, "greet needs the argument count"),
        ({"count": "1"}, "count must be a whole number, -5 or more; got '1'"),
        ({"count": 1, "kind": "b"}, "kind must be one of a, 1; got 'b'"),
    ):
        answer = kit.invoke("greet", wrong)
        assert code(answer) == "INVALID_ARGUMENT"
        assert said in answer["message"]
