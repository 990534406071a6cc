"""The verb `mcp install`: every client, and nothing that was there is lost."""

import json
import os
import pty
import signal
import subprocess
import sys
import tomllib
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from agent_exec.apps.mcp.install import clients
from agent_exec.apps.mcp.install.clients import CLIENTS, Here, place
from agent_exec.apps.mcp.install.config_file import find, replace
from agent_exec.model.errors import Busy, ConfigFailed, InvalidConfig
from apps.mcp import talking
from cli import PROGRAM, Answer, Cli, check

USER = {
    "claude-code": ".claude.json",
    "claude-desktop": ".config/Claude/claude_desktop_config.json",
    "codex": ".codex/config.toml",
    "copilot": ".copilot/mcp-config.json",
    "cursor": ".cursor/mcp.json",
    "gemini": ".gemini/settings.json",
    "opencode": ".config/opencode/opencode.json",
    "qwen": ".qwen/settings.json",
    "vscode": ".config/Code/User/mcp.json",
}
PROJECT = {
    "claude-code": ".mcp.json",
    "codex": ".codex/config.toml",
    "copilot": ".mcp.json",
    "cursor": ".cursor/mcp.json",
    "gemini": ".gemini/settings.json",
    "opencode": "opencode.json",
    "qwen": ".qwen/settings.json",
    "vscode": ".vscode/mcp.json",
}


class Home:
    """A home of its own, and the verb in it."""

    def __init__(self, cli: Cli, folder: Path) -> None:
        self.cli = cli
        self.folder = folder
        homes = [about.variable for about in CLIENTS.values() if about.variable]
        for name in ("AGENT_EXEC_ROOT", "XDG_CONFIG_HOME", "APPDATA", *homes):
            cli.env.pop(name, None)
        cli.env["HOME"] = str(folder)
        cli.warm, cli.warm_verbs = talking.warm, frozenset({"mcp"})

    def install(self, client: str, *words: object, **settings: Any) -> Answer:
        return self.cli("mcp", "install", "--client", client, *self.folders(client), *words, **settings)

    def folders(self, client: str) -> list[str]:
        """Return the words without which a client that works in no folder cannot be told of us."""
        return ["--workspace", str(self.cli.cwd)] if client == "claude-desktop" else []

    def own(self, client: str, *words: str) -> dict[str, Any]:
        """Return the entry that is to be there."""
        if client == "opencode":
            return {"type": "local", "command": [str(PROGRAM), "mcp", *words]}
        kind: dict[str, Any] = {"type": "stdio"} if client in ("claude-code", "copilot", "vscode") else {}
        kind |= {"tools": ["*"]} if client == "copilot" else {}
        return {**kind, "command": str(PROGRAM), "args": ["mcp", *words]}


@pytest.fixture
def home(cli: Cli, tmp_path: Path) -> Home:
    folder = tmp_path / "home"
    folder.mkdir()
    return Home(cli, folder)


def load(file: Path) -> dict[str, Any]:
    text = file.read_text("utf-8-sig")
    return tomllib.loads(text) if file.suffix == ".toml" else json.loads(text)


def everything(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


@pytest.mark.parametrize("client", CLIENTS)
def test_a_new_file(home: Home, client: str) -> None:
    file = home.folder / USER[client]
    told = home.install(client, "--dry-run")
    assert (told["action"], told["dry_run"], told["file"]) == ("created", True, str(file))
    assert not list(home.folder.iterdir())
    assert "+++ " in told.stderr
    told = home.install(client, "--yes")
    assert (told.code, told["action"], told["dry_run"], told["backup"]) == (0, "created", False, None)
    assert (told["client"], told["scope"], told["name"]) == (client, "user", "agent-exec")
    assert told["command"] == [str(PROGRAM), "mcp", *home.folders(client)]
    assert CLIENTS[client].title in told["next"]
    assert load(file) == {CLIENTS[client].key: {"agent-exec": home.own(client, *home.folders(client))}}
    assert file.stat().st_mode & 0o777 == 0o600
    before = everything(home.folder)
    told = home.install(client, "--yes")
    assert (told["action"], told["backup"]) == ("unchanged", None)
    assert "has it already" in told.stderr
    assert everything(home.folder) == before


@pytest.mark.parametrize("scope", ["user", "project"])
@pytest.mark.parametrize("client", CLIENTS)
def test_what_is_made_is_for_the_user_alone(home: Home, client: str, scope: str) -> None:
    """Even where new files are open to all; what is there stays as open as it is."""
    if scope == "project" and client not in PROJECT:
        return
    kept = home.folder / "kept"
    kept.mkdir()
    kept.chmod(0o755)
    home.cli.env["XDG_CONFIG_HOME"] = str(kept / "config")
    before = os.umask(0)
    try:
        told = home.install(client, "--scope", scope, "--yes")
    finally:
        os.umask(before)
    file = Path(told["file"])
    assert file.stat().st_mode & 0o777 == 0o600
    assert kept.stat().st_mode & 0o777 == 0o755
    above = [
        folder
        for folder in file.parents
        if folder.is_relative_to(home.cli.cwd if scope == "project" else home.folder)
    ]
    for folder in above[:-1]:
        if folder != kept:
            assert folder.stat().st_mode & 0o777 == 0o700, folder


@pytest.mark.parametrize("client", CLIENTS)
def test_a_project(home: Home, client: str) -> None:
    words = ("--scope", "project", "--yes")
    if client not in PROJECT:
        out = home.cli.raw("mcp", "install", "--client", client, *home.folders(client), *words)
        assert (out.returncode, out.stdout) == (2, b"")
        assert b"say --scope user" in out.stderr
        return
    home.install(client, *words)
    assert load(home.cli.cwd / PROJECT[client]) == {CLIENTS[client].key: {"agent-exec": home.own(client)}}
    assert not list(home.folder.iterdir())


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize("ends", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_what_is_there_stays(home: Home, client: str, ends: str, mark: str) -> None:
    key = CLIENTS[client].key
    if CLIENTS[client].toml:
        text = f'# mine\nmodel = "x"\n\n[{key}.other]\ncommand = "y"  # z\n'
    else:
        note = "" if CLIENTS[client].strict else " // mine"
        text = (
            f'{{\n    "theme": "x",{note}\n    "{key}": {{\n        "other": {{"command": "y"}}\n    }}\n}}\n'
        )
    old = (mark + text.replace("\n", ends)).encode()
    file = home.folder / USER[client]
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(old)
    file.chmod(0o640)
    told = home.install(client, "--yes")
    assert told["action"] == "added"
    new = file.read_bytes()
    assert file.stat().st_mode & 0o777 == 0o640
    assert new.decode().count("\n") == new.decode().count(ends)
    lines = [line.rstrip(b",") for line in new.splitlines()]
    assert all(line.rstrip(b",") in lines for line in old.splitlines())
    assert Path(told["backup"]).read_bytes() == old
    assert Path(told["backup"]).stat().st_mode & 0o777 == 0o640
    told = home.install(client, "--yes", "--toolset", "session", "--max-wait", "9s")
    assert told["action"] == "changed"
    if not CLIENTS[client].toml and "//" in text:
        assert b"// mine" in file.read_bytes()
    else:
        assert load(file)[key] == {
            "other": {"command": "y"},
            "agent-exec": home.own(client, "--toolset", "session", *home.folders(client), "--max-wait", "9s"),
        }
    assert Path(told["backup"]).read_bytes() == new
    assert sorted(path.name for path in file.parent.iterdir() if path.is_file()) == sorted(
        [file.name, f"{file.name}.bak", f"{file.name}.bak.1"]
    )


ALLOWED: dict[str, dict[str, Any]] = {
    "codex": {"default_tools_approval_mode": "approve", "required": True},
    "gemini": {"trust": True},
    "qwen": {"trust": True},
    "opencode": {},
}
NEEDS = {
    "claude-code": "`claude -p` needs `--allowedTools mcp__mine`",
    "codex": '`codex exec` needs `-c mcp_servers.mine.default_tools_approval_mode="approve"`',
    "copilot": "`copilot -p` needs `--allow-tool mine` (or `--allow-all-tools`)",
    "gemini": '`gemini -p` needs `"trust": true` in the entry',
    "qwen": "`qwen -p` needs `--yolo`",
}
SHARED = {
    "claude-code": "its approval is pending until you run `claude` in this folder",
    "codex": "it is read in trusted projects only",
    "copilot": "it is read in trusted folders only",
}


@pytest.mark.parametrize("client", CLIENTS)
def test_the_next_step_names_the_switch_of_each_client(home: Home, client: str) -> None:
    told = home.install(client, "--yes", "--name", "mine")
    assert told["allowed"] is None
    assert NEEDS.get(client, "") in told["next"]
    assert ("mcp install --allow" in told["next"]) is (client in ("claude-code", "codex", "gemini", "qwen"))
    if client in PROJECT:
        told = home.install(client, "--yes", "--scope", "project")
        assert SHARED.get(client, "") in told["next"]


@pytest.mark.parametrize("client", ALLOWED)
def test_the_switch_is_written_on_request(home: Home, client: str) -> None:
    """A later call without the option leaves it as it is."""
    told = home.install(client, "--yes", "--allow")
    file = home.folder / USER[client]
    assert told["allowed"] == str(file)
    assert "needs" not in told["next"]
    entry = home.own(client) | ALLOWED[client]
    assert load(file) == {CLIENTS[client].key: {"agent-exec": entry}}
    home.install(client, "--yes", "--toolset", "session")
    assert load(file) == {
        CLIENTS[client].key: {"agent-exec": entry | home.own(client, "--toolset", "session")}
    }


@pytest.mark.parametrize("scope", ["user", "project"])
def test_the_permissions_of_claude_code(home: Home, scope: str) -> None:
    """They are in a file of their own, of which everything else stays."""
    folder, name = (
        (home.folder, "settings.json") if scope == "user" else (home.cli.cwd, "settings.local.json")
    )
    file = folder / ".claude" / name
    file.parent.mkdir()
    file.write_text('{\n  "model": "x",\n  "permissions": {"deny": ["Read"], "allow": ["Bash(ls)"]}\n}\n')
    words = ("--allow", "--scope", scope, "--name", "mine")
    told = home.install("claude-code", "--dry-run", *words)
    assert told.stderr.count("+++ ") == 2
    assert "mcp__mine" not in file.read_text()
    told = home.install("claude-code", "--yes", *words)
    assert (told["allowed"], told["action"]) == (str(file), "created")
    wanted = {"deny": ["Read"], "allow": ["Bash(ls)", "mcp__mine"]}
    assert load(file) == {"model": "x", "permissions": wanted}
    assert "needs" not in told["next"]
    before = everything(folder)
    assert home.install("claude-code", "--yes", *words)["action"] == "unchanged"
    assert everything(folder) == before


def test_new_permissions_of_claude_code(home: Home) -> None:
    told = home.install("claude-code", "--yes", "--allow", env={"CLAUDE_CONFIG_DIR": str(home.folder / "c")})
    assert told["allowed"] == str(home.folder / "c" / "settings.json")
    assert load(home.folder / "c" / "settings.json") == {"permissions": {"allow": ["mcp__agent-exec"]}}


@pytest.mark.parametrize("odd", ["[]", '{"permissions": 1}', '{"permissions": {"allow": "x"}}', "{ // no\n}"])
def test_permissions_that_cannot_be_read_leave_all_as_it_is(home: Home, odd: str) -> None:
    file = home.folder / ".claude" / "settings.json"
    file.parent.mkdir()
    file.write_text(odd)
    told = home.install("claude-code", "--yes", "--allow")
    assert (told["error"]["code"], told["error"]["details"]["file"]) == ("invalid_config", str(file))
    assert '"mcp__agent-exec"' in told["error"]["message"]
    assert everything(home.folder) == {str(file): odd.encode()}


@pytest.mark.parametrize("client", sorted(set(CLIENTS) - set(ALLOWED) - {"claude-code"}))
def test_a_client_without_a_switch_in_its_files(home: Home, client: str) -> None:
    out = home.cli.raw("mcp", "install", "--client", client, *home.folders(client), "--allow", "--yes")
    assert (out.returncode, out.stdout) == (2, b"")
    assert b"leave out --allow: " in out.stderr
    assert not list(home.folder.iterdir())


def test_what_is_empty_counts_as_not_given(home: Home) -> None:
    told = home.install("cursor", "--dry-run", "--root", "", "--rules", "")
    assert told["command"] == [str(PROGRAM), "mcp"]


def test_what_is_written_works_from_anywhere(home: Home, tmp_path: Path) -> None:
    (home.cli.cwd / "rules.toml").write_text("")
    (home.cli.cwd / "box.json").write_text('{"name": "read-only"}')
    words = ("--workspace", ".", "--rules", "rules.toml", "--sandbox", "box.json", "--root", "jobs")
    told = home.install(
        "cursor", "--yes", "--name", "mine", *words, env={"AGENT_EXEC_APPROVAL_POLICY": "never"}
    )
    cwd = str(home.cli.cwd)
    expected = [
        "--workspace",
        cwd,
        "--sandbox",
        f"{cwd}/box.json",
        "--rules",
        f"{cwd}/rules.toml",
        "--root",
        f"{cwd}/jobs",
    ]
    assert told["command"] == [str(PROGRAM), "mcp", *expected]
    entry = load(home.folder / USER["cursor"])["mcpServers"]["mine"]
    assert entry == {
        "command": str(PROGRAM),
        "args": ["mcp", *expected],
        "env": {"AGENT_EXEC_APPROVAL_POLICY": "never"},
    }
    hello = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "t", "version": "0"},
        },
    }
    mark = {name: value for name, value in os.environ.items() if name == "AGENT_EXEC_TEST"}
    out = subprocess.run(
        [entry["command"], *entry["args"]],
        input=json.dumps(hello).encode() + b"\n",
        capture_output=True,
        cwd="/",
        env={"HOME": str(home.folder), **entry["env"], **mark},
        timeout=60,
        check=True,
    )
    assert json.loads(out.stdout)["result"]["serverInfo"]["name"] == "agent-exec"


def test_variables_mean_the_same_in_every_folder(home: Home) -> None:
    (home.cli.cwd / "rules.toml").write_text("")
    work = home.cli.cwd / "work"  # for rules are not to lie where commands may write
    work.mkdir()
    told = home.install(
        "gemini",
        "--dry-run",
        "--workspace",
        work,
        env={"AGENT_EXEC_ROOT": "jobs", "AGENT_EXEC_RULES": "rules.toml"},
    )
    cwd = str(home.cli.cwd)
    assert told["env"] == {"AGENT_EXEC_ROOT": f"{cwd}/jobs", "AGENT_EXEC_RULES": f"{cwd}/rules.toml"}


@pytest.mark.parametrize(
    ("env", "words", "said"),
    [
        ({"AGENT_EXEC_RULES": "nowhere.toml"}, [], "nowhere.toml: the rules cannot be read"),
        ({}, ["--policy", "nowhere.toml"], "nowhere.toml: the rules cannot be read"),
        ({"AGENT_EXEC_APPROVAL_POLICY": "maybe"}, [], "'maybe'"),
        ({}, ["--root", os.fsdecode(b"\xff")], "is not in UTF-8"),
        ({"HOME": ""}, [], "let HOME be the whole path"),
        ({"HOME": "here"}, [], "let HOME be the whole path"),
        ({"HOME": "/nowhere"}, [], "the home folder '/nowhere' is not a folder"),
    ],
)
def test_what_would_not_work_is_not_entered(
    home: Home, env: dict[str, str], words: list[str], said: str
) -> None:
    out = home.cli.raw("mcp", "install", "--client", "cursor", "--dry-run", *words, env=env)
    assert (out.returncode, out.stdout) == (2, b"")
    assert said in out.stderr.decode()


@pytest.mark.parametrize("client", ["claude-code", "codex", "vscode"])
def test_a_broken_file_is_left_as_it_is(home: Home, client: str) -> None:
    file = home.folder / USER[client]
    file.parent.mkdir(parents=True, exist_ok=True)
    for data in (b"\n{ broken", b"\xff\xfe{}", b'[1]\n"'):
        file.write_bytes(data)
        told = home.install(client, "--yes")
        assert (told.code, told["error"]["code"], told["error"]["retryable"]) == (1, "invalid_config", False)
        assert told["error"]["details"]["file"] == str(file)
        assert file.read_bytes() == data
        assert [path.name for path in file.parent.iterdir()] == [file.name]
    file.write_bytes(b"\n{ broken")
    error = home.install(client, "--yes")["error"]
    assert (error["details"]["client"], error["details"]["line"]) == (client, 2)
    assert "add yourself:\n" in error["message"]
    assert str(PROGRAM) in error["message"]


def test_comments_where_the_client_allows_none(home: Home) -> None:
    file = home.folder / USER["claude-desktop"]
    file.parent.mkdir(parents=True)
    file.write_text('{\n  "mcpServers": {} // mine\n}')
    told = home.install("claude-desktop", "--yes")
    assert (told["error"]["code"], told["error"]["details"]["line"]) == ("invalid_config", 2)


def test_links_are_followed(home: Home) -> None:
    real = home.folder / "dotfiles" / "mcp.json"
    real.parent.mkdir()
    real.write_text("{}")
    link = home.folder / USER["cursor"]
    link.parent.mkdir()
    link.symlink_to("../dotfiles/mcp.json")
    told = home.install("cursor", "--yes")
    assert told["file"] == str(real)
    assert link.is_symlink()
    assert "agent-exec" in load(real)["mcpServers"]
    real.unlink()
    assert home.install("cursor", "--yes")["action"] == "created"
    assert real.exists()


def test_a_project_does_not_choose_which_of_our_files_is_changed(home: Home) -> None:
    target = home.folder / "target.json"
    target.write_text("{}")
    (home.cli.cwd / ".mcp.json").symlink_to(target)
    (home.cli.cwd / ".cursor").symlink_to(home.folder)
    for client in ("claude-code", "cursor"):
        told = home.install(client, "--scope", "project", "--yes")
        assert told["error"]["code"] == "invalid_config"
        assert "leads out of the project" in told["error"]["message"]
    assert everything(home.folder) == {str(target): b"{}"}


def test_a_link_that_leads_to_itself(home: Home) -> None:
    (home.folder / ".claude.json").symlink_to(".claude.json")
    told = home.install("claude-code", "--yes")
    assert told["error"]["code"] == "config_failed"


def test_what_is_no_file(home: Home) -> None:
    (home.folder / ".claude.json").mkdir()
    assert home.install("claude-code", "--yes")["error"]["code"] == "invalid_config"
    os.mkfifo(home.folder / ".cursor.json")
    with pytest.raises(InvalidConfig, match="is not a file"):
        find(str(home.folder / ".cursor.json"))


REFUSED = """
import os, sys
from agent_exec.apps.mcp.install.config_file import find, replace
from agent_exec.model.errors import AgentExecError
folder, somebody = sys.argv[1], int(sys.argv[2])
if os.geteuid() == 0:  # who may do everything
    os.setgroups([]), os.setgid(somebody), os.setuid(somebody)
file = f"{folder}/mcp.json"
def tried():
    try:
        replace(find(file), "ours")
    except AgentExecError as error:
        print(error.code, error.message.rpartition(": ")[2].partition(". ")[0], sep=": ")
os.chmod(file, 0o400), tried(), os.chmod(file, 0o600)
os.chmod(folder, 0o500), tried(), os.chmod(folder, 0o700)
os.chmod(file, 0o200), tried(), os.chmod(file, 0o600)
os.chmod(folder, 0o300), replace(find(file), "{ }"), os.chmod(folder, 0o700)
file = "/etc/passwd"
tried()
"""


def test_what_may_not_be_read_or_written() -> None:
    somebody = os.geteuid() or 65534
    with TemporaryDirectory() as folder:
        file = Path(folder, "mcp.json")
        file.write_text("{}")
        for path in (Path(folder), file):
            os.chown(path, somebody, os.getegid() or somebody)
        argv = [sys.executable, "-c", REFUSED, folder, str(somebody)]
        out = subprocess.run(argv, capture_output=True, text=True, check=True)
        denied = "config_failed: Permission denied"
        assert out.stdout.splitlines() == [
            "config_failed: it may not be written",
            denied,
            denied,
            "invalid_config: /etc/passwd belongs to another user; ask that user to change it",
        ]
        assert everything(Path(folder)) == {str(file): b"{ }", f"{file}.bak": b"{}"}


def test_a_folder_that_cannot_be_made(home: Home) -> None:
    (home.folder / ".cursor").write_text("a file")
    told = home.install("cursor", "--yes")
    assert told["error"]["code"] == "config_failed"
    assert everything(home.folder) == {str(home.folder / ".cursor"): b"a file"}


def test_a_concurrent_change_is_not_lost(tmp_path: Path) -> None:
    file = tmp_path / "mcp.json"
    found = find(str(file))
    file.write_text("theirs")
    with pytest.raises(Busy, match="try again"):
        replace(found, "ours")
    found = find(str(file))
    file.write_text("theirs again")
    with pytest.raises(Busy):
        replace(found, "ours")
    assert everything(tmp_path) == {str(file): b"theirs again"}
    found = find(str(file))
    file.unlink()
    with pytest.raises(Busy):
        replace(found, "ours")
    assert not list(tmp_path.iterdir())


def test_two_of_us_at_once_lose_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "mcp.json"
    file.write_text("theirs")
    found = find(str(file))
    swap = os.replace

    def late(*names: str) -> None:
        monkeypatch.undo()
        with pytest.raises(Busy, match="try again"):
            replace(found, "also ours")  # both have looked, and found it as it was
        swap(*names)

    monkeypatch.setattr(os, "replace", late)
    replace(found, "ours")
    assert everything(tmp_path) == {str(file): b"ours", f"{file}.bak": b"theirs"}


def test_leftovers_of_a_killed_process_do_not_block(tmp_path: Path) -> None:
    file = tmp_path / "mcp.json"
    Path(f"{file}.{os.getpid()}.new").write_text("half")
    assert replace(find(str(file)), "ours") is None
    assert file.read_text() == "ours"


@pytest.mark.parametrize("kind", ["link", "pipe", "folder"])
def test_a_copy_is_a_file_of_its_own(tmp_path: Path, kind: str) -> None:
    file = tmp_path / "mcp.json"
    file.write_text("theirs")
    taken = tmp_path / "mcp.json.bak"
    if kind == "link":
        taken.symlink_to(file)
    elif kind == "pipe":
        os.mkfifo(taken)
    else:
        taken.mkdir()
    assert replace(find(str(file)), "ours") == f"{taken}.1"
    assert Path(f"{taken}.1").read_text() == "theirs"


def test_a_failure_in_the_middle_leaves_all_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "mcp.json"
    file.write_text("theirs")
    found = find(str(file))

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(ConfigFailed, match="No space left"):
        replace(found, "ours")
    monkeypatch.undo()
    left = everything(tmp_path)
    left.pop(f"{file}.bak")  # a copy is no harm
    assert left == {str(file): b"theirs"}


def test_no_approver_means_no_approval(home: Home) -> None:
    told = home.install("cursor")
    assert (told.code, told["error"]["code"]) == (1, "approval_required")
    assert "--yes" in told["error"]["message"]
    assert "+++ " in told.stderr
    assert not list(home.folder.iterdir())


@pytest.mark.parametrize(
    ("typed", "done"),
    [("y\n", True), ("YES\n", True), ("\n", False), ("n\n", False), ("\x04", False), ("\x03", False)],
)
def test_a_person_is_asked(home: Home, typed: str, done: bool) -> None:
    terminal, side = pty.openpty()
    try:
        with subprocess.Popen(
            home.cli.argv("mcp", "install", "--client", "cursor"),
            stdin=side,
            stdout=subprocess.PIPE,
            stderr=side,
            cwd=home.cli.cwd,
            env=home.cli.env,
        ) as process:
            shown = b""
            while b"[y/N]" not in shown:
                shown += os.read(terminal, 4096)
            assert b"+++ " in shown
            if typed == "\x03":  # it has no terminal that would make a signal of this
                process.send_signal(signal.SIGINT)
            else:
                os.write(terminal, typed.encode())
            out, _ = process.communicate(timeout=30)
    finally:
        os.close(terminal)
        os.close(side)
    told = check(out.decode())
    assert told["ok"] is done
    assert done or "mcp.json was not changed: you" in told["error"]["message"]
    assert (home.folder / ".cursor" / "mcp.json").exists() is done


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "install needs --client, one of claude-code,"),
        (
            ["--client", "emacs"],
            "one of claude-code, claude-desktop, codex, copilot, cursor, gemini, opencode, qwen, vscode; got",
        ),
        (["--client", "codex", "more"], "'more' is one word too many"),
        (["--client", "codex", "--scope", "all"], "--scope takes user or project"),
        (["--client", "codex", "--name", "a b"], "--name takes letters"),
        (["--client", "codex", "--name", ""], "--name takes letters"),
        (["--client", "codex", "--toolset", "none"], "there is no toolset 'none'"),
        (["--client", "codex", "--sandbox", "none"], "--sandbox takes"),
        (["--client", "codex", "--workspace", "nowhere"], "--workspace takes a folder"),
        (["--client", "claude-desktop"], "name one with --workspace"),
        (["--client", "codex", "--http"], "--http is not for `mcp install`"),
        (["--client", "codex", "--port", "1"], "--port is not for `mcp install`"),
    ],
    ids=str,
)
def test_what_makes_no_sense(home: Home, words: list[str], said: str) -> None:
    out = home.cli.raw("mcp", "install", *words)
    assert (out.returncode, out.stdout) == (2, b"")
    assert said in out.stderr.decode()
    assert not list(home.folder.iterdir())


def test_without_the_sdk_nothing_is_entered(home: Home, tmp_path: Path) -> None:
    code = (
        "import sys; from importlib import util; real = util.find_spec\n"
        "util.find_spec = lambda name, *more: None if name == 'mcp' else real(name, *more)\n"
        "from agent_exec.apps.main import main\n"
        "sys.exit(main(['mcp', 'install', '--client', 'cursor', '--yes']))"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, env=home.cli.env, check=False)
    assert out.returncode == 2
    assert b"install agent-exec[mcp]" in out.stderr
    assert not list(home.folder.iterdir())


def test_where_each_keeps_its_files() -> None:
    environ = {"APPDATA": "C:/Users/me/AppData/Roaming"}
    windows = Here("C:/Users/me", "C:/work", environ, "win32")
    mac = Here("/Users/me", "/work", {}, "darwin")
    linux = Here("/home/me", "/work", {"CODEX_HOME": "/codex", "CLAUDE_CONFIG_DIR": "/claude"}, "linux")
    support = "/Users/me/Library/Application Support"
    assert (
        place("claude-desktop", "user", windows) == f"{environ['APPDATA']}/Claude/claude_desktop_config.json"
    )
    assert place("claude-desktop", "user", mac) == f"{support}/Claude/claude_desktop_config.json"
    assert place("vscode", "user", windows) == f"{environ['APPDATA']}/Code/User/mcp.json"
    assert place("vscode", "user", mac) == f"{support}/Code/User/mcp.json"
    assert place("codex", "user", linux) == "/codex/config.toml"
    assert place("claude-code", "user", linux) == "/claude/.claude.json"
    assert place("claude-desktop", "project", linux) is None
    assert clients.entry("codex", ["a", "b"], {"C": "d"}) == {
        "command": "a",
        "args": ["b"],
        "env": {"C": "d"},
    }


@pytest.mark.parametrize("client", CLIENTS)
def test_the_page_has_the_switch_of_each_client(client: str) -> None:
    """The table in docs/mcp.md says what `next` says."""
    page = (Path(__file__).parents[3] / "docs" / "mcp.md").read_text()
    table = page.partition("## Calls without a person")[2].partition("\n## ")[0]
    (row,) = [line for line in table.splitlines() if line.startswith(f"| {CLIENTS[client].title} |")]
    about = CLIENTS[client]
    for said in (about.unasked, about.shared, about.always):
        assert said.format(name="agent-exec") in row
    for field, value in (about.allow or {}).items():
        assert field in row
        assert json.dumps(value) in row
    assert ("cannot write" in row) is not clients.can_allow(client)


@pytest.mark.parametrize("client", CLIENTS)
def test_the_page_shows_what_is_written(client: str) -> None:
    """The block of each client in docs/mcp.md, with the installation of somebody else."""
    page = (Path(__file__).parents[3] / "docs" / "mcp.md").read_text()
    part = page.partition(f"\n**{CLIENTS[client].title}**")[2]
    kind, _, rest = part.partition("```")[2].partition("\n")
    block = rest.partition("```")[0]
    assert kind == ("toml" if CLIENTS[client].toml else "json")
    where = ["--workspace", "/home/you/project"] if client == "claude-desktop" else []
    entry = clients.entry(client, ["/home/you/.local/bin/agent-exec", "mcp", *where], {})
    shown = tomllib.loads(block) if kind == "toml" else json.loads(block)
    assert shown == {CLIENTS[client].key: {"agent-exec": entry}}
