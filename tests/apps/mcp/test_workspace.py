"""Where commands run: in the folders that were named, or the client's roots, and what confines them there."""

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from apps.mcp.talking import ERAS, Client, bare, jobs, talk, text

if TYPE_CHECKING:
    from agent_exec.tools.tool import Toolset

pytest.importorskip("mcp")

from mcp_types import ErrorData, ListRootsResult, Root


@pytest.fixture(autouse=True)
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep jobs in a folder of the test's own."""
    monkeypatch.setenv("AGENT_EXEC_ROOT", str(tmp_path / "jobs"))


HIDDEN = any(Path(place) in Path.home().resolve().parents for place in ("/tmp", "/var/tmp"))
HOME = pytest.param(
    Path.home(), marks=pytest.mark.skipif(HIDDEN, reason="a box has its own /tmp and /var/tmp")
)


@pytest.fixture
def folders(tmp_path: Path) -> tuple[Path, Path, Path]:
    """Return some folders."""
    found = tmp_path / "a b", tmp_path / "b", tmp_path / "c"
    for one in found:
        one.mkdir()
    return found


class Roots:
    """A client that has these roots, and counts how often it is asked."""

    def __init__(self, *uris: str) -> None:
        self.uris = uris
        self.asked = 0

    async def __call__(self, _context: object) -> ListRootsResult | ErrorData:
        self.asked += 1
        if not self.uris:
            return ErrorData(code=-32603, message="not today")
        return ListRootsResult(roots=[Root(uri=uri) for uri in self.uris])  # type: ignore[arg-type]


TOOLSETS = pytest.mark.parametrize(
    ("toolset", "tool", "folder", "asked"),
    [
        ("jobs", "run", "cwd", {"command": ["pwd"]}),
        ("session", "exec_command", "workdir", {"cmd": "pwd", "login": False}),
        ("oneshot", "exec_command", "cwd", {"command": ["pwd"], "cwd": "."}),
        ("executor", "execute_command", "cwd", {"command": "pwd"}),
    ],
)


@TOOLSETS
def test_several_workspaces_and_nothing_outside(
    folders: tuple[Path, Path, Path], toolset: str, tool: str, folder: str, asked: dict[str, Any]
) -> None:
    first, second, other = folders

    async def work(client: Client) -> None:
        assert client.instructions is not None
        assert str(first) in client.instructions
        for where, seen in ((None, first), (str(second), second), ("../b", second)):
            result = await client.call_tool(tool, asked if where is None else {**asked, folder: where})
            assert not result.is_error, text(result)
            assert str(seen) in text(result)
        for where in (str(other), "..", "/"):
            result = await client.call_tool(tool, {**asked, folder: where})
            assert result.is_error
            assert "outside of" in text(result)

    words = jobs("--toolset", toolset, "--workspace", first, "--workspace", second)
    talk(work, *words, cwd=other)


@ERAS
@TOOLSETS
def test_the_roots_of_the_client(
    folders: tuple[Path, Path, Path], toolset: str, tool: str, folder: str, asked: dict[str, Any], mode: str
) -> None:
    first, second, other = folders
    roots = Roots(first.as_uri(), "file:///no/such/folder", second.as_uri())

    async def work(client: Client) -> None:
        assert roots.asked == 0
        for where, seen in ((None, first), (str(second), second)):
            result = await client.call_tool(tool, asked if where is None else {**asked, folder: where})
            assert not result.is_error, text(result)
            assert str(seen) in text(result)
        result = await client.call_tool(tool, {**asked, folder: str(other)})
        assert "outside of" in text(result)
        assert roots.asked == 1

    talk(work, *jobs("--toolset", toolset), mode=mode, cwd=other, list_roots_callback=roots)


@ERAS
def test_roots_that_are_not_to_be_had(folders: tuple[Path, Path, Path], mode: str) -> None:
    first, second, _ = folders

    async def work(client: Client) -> str:
        result = await client.call_tool("run", {"command": ["pwd"]})
        return str(result.structured_content["stdout"])

    assert talk(work, *jobs(), mode=mode, cwd=second) == f"{second}\n"
    if mode == "legacy":
        assert talk(work, *jobs(), mode=mode, cwd=second, list_roots_callback=Roots()) == f"{second}\n"
    named = Roots(second.as_uri())
    assert talk(work, *jobs("--workspace", first), mode=mode, list_roots_callback=named) == f"{first}\n"
    assert named.asked == 0


@ERAS
def test_what_is_printed_in_the_roots_of_the_client_can_be_read(
    folders: tuple[Path, Path, Path], mode: str
) -> None:
    first, _, other = folders
    roots = Roots(first.as_uri())

    async def work(client: Client) -> None:
        await client.list_resources()
        job = await client.call_tool("run", {"command": ["echo", "of a job"]})
        session = await client.call_tool("exec_command", {"cmd": "echo of a session; cat", "login": False})
        assert (job.is_error, session.is_error) == (False, False)
        seen = ""
        for one in (await client.list_resources()).resources:
            seen += (await client.read_resource(one.uri)).contents[0].text  # type: ignore[union-attr]
        assert "of a job" in seen
        assert "of a session" in seen

    talk(work, *jobs("--toolset", "jobs,session"), mode=mode, cwd=other, list_roots_callback=roots)


@ERAS
@TOOLSETS
def test_roots_that_nothing_can_run_in(
    folders: tuple[Path, Path, Path], toolset: str, tool: str, folder: str, asked: dict[str, Any], mode: str
) -> None:
    """No call runs elsewhere instead; and they are asked for again, since the client may have others by then."""
    first, _, other = folders
    roots = Roots(first.as_uri())
    rules = other.parent / "rules.toml"
    rules.write_text("")

    async def work(client: Client) -> None:
        rules.write_text("no rules")
        for number in (1, 2):
            result = await client.call_tool(tool, {**asked, folder: "."})
            assert result.is_error
            assert "the client's roots cannot be worked in: " in text(result)
            assert "rules.toml" in text(result)
            assert roots.asked == number
        rules.write_text("")
        assert str(first) in text(await client.call_tool(tool, {**asked, folder: "."}))

    words = jobs("--toolset", toolset, "--rules", rules)
    talk(work, *words, mode=mode, cwd=other, list_roots_callback=roots)


def test_too_many_roots(folders: tuple[Path, Path, Path]) -> None:
    """A sandbox of thousands would take longer than any client waits."""
    first, _, other = folders
    many = [first / str(number) for number in range(101)]
    for one in many:
        one.mkdir()
    roots = Roots(*(one.as_uri() for one in many))

    async def work(client: Client) -> None:
        result = await client.call_tool("run", {"command": ["pwd"]})
        assert result.is_error
        assert "roots cannot be worked in: there are 101, and 100 may be; close some of them" in text(result)
        roots.uris = roots.uris[1:]
        result = await client.call_tool("run", {"command": ["pwd"], "cwd": str(many[100])})
        assert result.structured_content["stdout"] == f"{many[100]}\n"

    talk(work, *jobs(), cwd=other, list_roots_callback=roots)


def test_roots_that_are_no_folders_of_this_machine_hide_no_others(folders: tuple[Path, Path, Path]) -> None:
    first, _, other = folders
    uris = ["vscode-vfs://github/a/b", "file://[", "file://elsewhere/tmp", "file:.", first.as_uri()]
    hello = {"protocolVersion": "2025-11-25", "clientInfo": {"name": "test", "version": "0"}}
    with bare(*jobs("--sandbox", "full-access"), cwd=other) as server:
        server.send("initialize", hello | {"capabilities": {"roots": {}}})
        server.hear()
        server.send("notifications/initialized", notify=True)
        server.call("run", command=["pwd"])
        asked = server.hear()
        assert asked["method"] == "roots/list"
        answer = {"roots": [{"uri": uri} for uri in uris]}
        server.say(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": answer}).encode())
        assert server.hear()["result"]["structuredContent"]["stdout"] == f"{first}\n"


def test_a_call_during_the_roots_request_waits_for_them(
    folders: tuple[Path, Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    from agent_exec.apps.mcp.toolset import TOOLSETS, Offer, Settings
    from agent_exec.sandbox.profile import Profile

    first, second, _ = folders
    monkeypatch.chdir(second)
    offer = Offer(["jobs"], Settings(Profile("full-access")))
    wanted: list[bool] = []
    jobs_of = TOOLSETS["jobs"]

    def opened(settings: Settings) -> "Toolset":
        wanted.append(offer.wants_roots)
        return jobs_of(settings)

    monkeypatch.setitem(TOOLSETS, "jobs", opened)
    offer.settle([str(first)])
    assert (wanted, offer.wants_roots) == ([True], False)


@ERAS
@TOOLSETS
def test_a_folder_whose_name_is_no_text(
    tmp_path: Path, toolset: str, tool: str, folder: str, asked: dict[str, Any], mode: str
) -> None:
    odd = tmp_path / os.fsdecode(b"od\xffd")
    odd.mkdir()

    async def work(client: Client) -> None:
        assert (await client.list_tools()).tools
        result = await client.call_tool(tool, {**asked, folder: "."})
        assert not result.is_error, text(result)

    talk(work, *jobs("--toolset", toolset), mode=mode, cwd=odd)


def test_a_sandbox_is_the_default(folders: tuple[Path, Path, Path], tmp_path: Path) -> None:
    first, second, _ = folders
    line = f"echo x > inside; echo x > '{second}/also'; echo x > {tmp_path}/outside"

    async def work(client: Client) -> dict[str, Any]:
        assert client.instructions is not None
        told = client.instructions
        result = await client.call_tool("run", {"command": ["sh", "-c", line]})
        return {"told": told, **result.structured_content}

    found = talk(work, *jobs("--workspace", first, "--workspace", second))
    if "none works on this machine" in found["told"]:
        pytest.skip(found["told"])  # nothing here can confine
    assert "confined by the sandbox profile workspace-write" in found["told"]
    assert f"They may write to {first}, {second}, but not to any .git. The network is off." in found["told"]
    assert found["sandbox"]["profile"] == "workspace-write"
    assert ((first / "inside").exists(), (second / "also").exists()) == (True, True)
    assert not (tmp_path / "outside").exists()
    found = talk(work, *jobs("--workspace", first, "--sandbox", "full-access"))
    assert "not confined: the sandbox profile is full-access" in found["told"]
    assert (tmp_path / "outside").exists()


def test_roots_are_what_the_sandbox_lets_be_written(folders: tuple[Path, Path, Path]) -> None:
    first, _, other = folders
    line = f"echo x > inside; echo x > {other}/outside"

    async def work(client: Client) -> None:
        result = await client.call_tool("run", {"command": ["sh", "-c", line]})
        if "sandbox" not in result.structured_content:
            pytest.skip("nothing here can confine")

    talk(work, *jobs(), cwd=other, list_roots_callback=Roots(first.as_uri()))
    assert (first / "inside").exists()
    assert not (other / "outside").exists()


@pytest.mark.parametrize("folder", [Path("/"), HOME])
def test_a_client_that_starts_us_nowhere(folders: tuple[Path, Path, Path], folder: Path) -> None:
    """Programs with windows start servers in / or in the home folder: neither is given away."""
    name = folders[0].parent.name

    async def work(client: Client) -> dict[str, Any]:
        told = client.instructions or ""
        if "none works on this machine" in told:
            pytest.skip(told)  # nothing here can confine
        assert "add --workspace DIR" in told
        result = await client.call_tool("run", {"command": ["sh", "-c", f"pwd; mkdir {name}"]})
        return {**result.structured_content}

    found = talk(work, *jobs(), cwd=folder)
    assert (found["stdout"], found["exit_code"]) == (f"{folder}\n", 1)
    assert not (folder / name).exists()
    found = talk(work, *jobs(), cwd=folder, list_roots_callback=Roots(folders[0].as_uri()))
    assert (found["stdout"], found["exit_code"]) == (f"{folders[0]}\n", 0)


@pytest.mark.parametrize("folder", [Path("/"), HOME])
def test_a_client_whose_root_holds_everything(folders: tuple[Path, Path, Path], folder: Path) -> None:
    """It can be read; only what else there is can be written."""
    first, _, other = folders
    name = first.parent.name

    async def work(client: Client) -> tuple[str, int]:
        if "none works on this machine" in (client.instructions or ""):
            pytest.skip("nothing here can confine")
        lines = f"pwd; mkdir {name}; echo x > '{first}/made'"
        result = await client.call_tool("run", {"command": ["sh", "-c", lines]})
        return result.structured_content["stdout"], result.structured_content["exit_code"]

    roots = Roots(folder.as_uri(), first.as_uri())
    assert talk(work, *jobs(), cwd=other, list_roots_callback=roots) == (f"{folder}\n", 0)
    assert not (folder / name).exists()
    assert (first / "made").exists()


@pytest.mark.parametrize("other", ["session", "oneshot", "executor"])
def test_toolsets_that_are_served_together_share_no_name(other: str) -> None:
    from agent_exec.apps.mcp.toolset import Offer, Settings
    from agent_exec.sandbox.profile import Profile

    offer = Offer(["jobs", other], Settings(Profile("full-access")))
    names = [tool["name"] for tool in offer.definitions()]
    offer.close()
    assert len(set(names)) == len(names)
