"""Files over HTTP: read with ranges, replaced, deleted and listed, and only in the workspaces."""

import os
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path
from threading import Thread
from urllib.parse import quote

import pytest

pytest.importorskip("uvicorn", reason="the server's libraries are not installed")

from agent_exec.apps.serve.files import span
from agent_exec.apps.serve.problems import HttpError
from agent_exec.apps.serve.tokens import Scope, issue
from apps.serve.serving import Reply, Served, served
from cli import Cli
from support import wait_until


@pytest.fixture
def server(cli: Cli) -> Iterator[Served]:
    with served(cli, "--workspace", cli.cwd, sandbox="workspace-write") as running:
        yield running


def url(path: object) -> str:
    return f"/v1/files?path={quote(os.fsencode(str(path)), safe='')}"


def got(server: Served, path: object, **headers: str) -> tuple[int, bytes, dict[str, str]]:
    """Return the status, the body and the fields of the answer for a file."""
    connection = server.connection()
    try:
        reply = server.send(connection, "GET", url(path), headers=headers)
        return reply.status, reply.read(), {name.lower(): value for name, value in reply.getheaders()}
    finally:
        connection.close()


def put(server: Served, path: object, data: bytes, **more: str) -> Reply:
    return server("PUT", url(path), data, headers={"content-type": "application/octet-stream"}, **more)


def test_a_file_is_written_read_in_ranges_listed_and_deleted(server: Served, cli: Cli) -> None:
    data = os.urandom(700_000)
    made = put(server, "new/deep/blob", data)
    assert (made.status, made.body["created"], made.body["size"]) == (200, True, len(data))
    file = Path(cli.cwd) / "new/deep/blob"
    assert file.read_bytes() == data
    status, body, head = got(server, "new/deep/blob")
    assert (status, body) == (200, data)
    assert head["content-type"] == "application/octet-stream"
    assert head["accept-ranges"] == "bytes"
    assert head["x-content-type-options"] == "nosniff"
    for wanted, part in (
        ("bytes=0-0", data[:1]),
        ("bytes=5-", data[5:]),
        ("bytes=-7", data[-7:]),
        ("bytes=100-2000000", data[100:]),
    ):
        status, body, fields = got(server, file, range=wanted)
        assert (status, body) == (206, part), wanted
        assert fields["content-range"].endswith(f"/{len(data)}")
    assert got(server, file, range="bytes=700000-")[0] == 416
    assert got(server, file, **{"range": "bytes=0-0", "if-range": '"other"'})[0] == 200
    assert got(server, file, **{"range": "bytes=0-0", "if-range": head["etag"]})[0] == 206

    file.chmod(0o750)
    again = put(server, file, b"short")
    assert (again.body["created"], file.read_bytes()) == (False, b"short")
    assert stat.S_IMODE(file.stat().st_mode) == 0o750
    (file.parent / "link").symlink_to("blob")
    listed = server("GET", "/v1/files/list?path=new/deep").body
    assert [(one["name"], one["kind"], one["size"]) for one in listed["entries"]] == [
        ("blob", "file", 5),
        ("link", "link", 4),
    ]
    few = server("GET", "/v1/files/list?path=new/deep&limit=1").body
    assert ([one["name"] for one in few["entries"]], few["truncated"]) == (["blob"], True)
    rest = server("GET", "/v1/files/list?path=new/deep&limit=1&after=blob").body
    assert ([one["name"] for one in rest["entries"]], rest["truncated"]) == (["link"], False)

    assert server("DELETE", url("new/deep/link")).status == 200
    assert file.exists()
    assert server("DELETE", url("new/deep/blob")).status == 200
    assert got(server, "new/deep/blob")[0] == 404
    assert server("DELETE", url("new/deep")).body["code"] == "not_a_file"


def test_no_path_leads_out_of_the_workspace_or_to_what_is_no_file(
    server: Served, cli: Cli, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    secret = outside / "secret"
    secret.write_text("mine")
    here = Path(cli.cwd)
    (here / "file-link").symlink_to(secret)
    (here / "folder-link").symlink_to(outside)
    (here / "dangling").symlink_to(outside / "new")
    for path in (
        "../outside/secret",
        secret,
        "file-link",
        "folder-link/secret",
        "/etc/passwd",
        "a/../../outside/secret",
        "/proc/self/environ",
    ):
        assert got(server, path)[0] == 400, path
        assert put(server, path, b"stolen").status == 400, path
    assert put(server, "dangling", b"stolen").status == 400
    assert put(server, "folder-link/made", b"stolen").status == 400
    assert server("DELETE", url("folder-link/secret")).status == 400
    assert server("GET", "/v1/files/list?path=folder-link").status == 400
    assert server("GET", "/v1/files/list?path=..").status == 400
    assert got(server, "a\0b")[0] == 400
    assert secret.read_text() == "mine"
    assert os.listdir(outside) == ["secret"]

    # What is no file is neither read nor replaced.
    os.mkfifo(here / "pipe")
    (here / "folder").mkdir()
    (here / "file").write_text("x")
    for path in ("pipe", "folder", ".", "file/below"):
        status, body, _ = got(server, path)
        assert (status, b"not_a_file" in body) == (422, True), path
        assert put(server, path, b"x").status in (403, 422), path
    assert stat.S_ISFIFO((here / "pipe").stat().st_mode)
    assert server("DELETE", url(".")).status == 422
    assert server("GET", "/v1/files/list?path=pipe").status == 422
    assert server("GET", "/v1/files/list?path=absent").status == 404


def test_names_that_programs_obey_are_protected_and_our_own_files_are_hidden(
    cli: Cli, tmp_path: Path
) -> None:
    here = Path(cli.cwd)
    (here / ".git/hooks").mkdir(parents=True)
    (here / ".git/config").write_text("[core]\n")
    (here / "token").touch()
    (here / "token").unlink()
    words = ("--workspace", cli.cwd, "--token-file", here / "token")
    with served(cli, *words, sandbox="workspace-write") as server:
        for path in (
            ".git/hooks/pre-commit",
            ".git/config",
            ".GIT/config",
            "sub/.git/hooks/post-checkout",
            ".envrc",
            ".vscode/tasks.json",
            "token",
        ):
            reply = put(server, path, b"evil")
            assert (reply.status, reply.body["code"]) == (403, "forbidden"), path
            assert server("DELETE", url(path)).status in (403, 404), path
        assert (here / ".git/config").read_text() == "[core]\n"
        assert sorted(os.listdir(here)) == [".git", "token"]
        reading = issue(server.token, Scope(read_only=True))
        os.link(here / "token", here / "harmless")
        for path in ("token", "harmless"):
            reply = server("GET", url(path), token=reading)
            assert (reply.status, reply.body["code"]) == (403, "forbidden"), path
        names = {one["name"] for one in server("GET", "/v1/files/list?path=.").body["entries"]}
        assert names == {".git"}
        assert got(server, ".git/config")[0] == 200
    with served(cli, *words) as server:  # full access: its token is no more readable than before
        reading = issue(server.token, Scope(read_only=True))
        assert server("GET", url("token"), token=reading).status == 403
        assert put(server, "token", b"x").status == 403


def test_our_own_state_is_not_served_where_it_lies_in_a_workspace(cli: Cli, tmp_path: Path) -> None:
    with served(cli, "--workspace", cli.root.parent) as server:
        job = server.run("echo", "x", cwd=str(cli.root.parent), observe=10)["job_id"]
        assert (cli.root / job).is_dir()
        for path in (cli.root / job / "stdout.log", cli.root.with_name("state") / "agent-exec/token"):
            assert path.exists()
            assert got(server, path)[0] == 403
            assert put(server, path, b"").status == 403
            assert server("DELETE", url(path)).status == 403
        assert server("GET", f"/v1/files/list?path={cli.root}").status == 403


def test_a_read_only_server_and_tokens_with_a_scope_change_nothing(cli: Cli) -> None:
    file = Path(cli.cwd) / "file"
    file.write_text("x")
    with served(cli, "--workspace", cli.cwd, sandbox="read-only") as server:
        assert put(server, "file", b"y").body["code"] == "forbidden"
        assert server("DELETE", url("file")).status == 403
        assert got(server, "file")[:2] == (200, b"x")
    with served(cli, "--workspace", cli.cwd, sandbox="workspace-write") as server:
        reading = issue(server.token, Scope(read_only=True))
        job = issue(server.token, Scope(job=server.run("true", observe=10)["job_id"]))
        for token in (reading, job):
            assert put(server, "file", b"y", token=token).status == 403
            assert server("DELETE", url("file"), token=token).status == 403
        assert got(server, "file", authorization=f"Bearer {reading}")[:2] == (200, b"x")
        assert got(server, "file", authorization=f"Bearer {job}")[0] == 403
        assert server("GET", "/v1/files/list", token=job).status == 403
    assert file.read_text() == "x"


def test_rules_about_writing_apply_to_files(cli: Cli, tmp_path: Path) -> None:
    rules = tmp_path / "rules.toml"
    rules.write_text('[[rule]]\nprefix = ["apply_patch"]\nverdict = "deny"\nreason = "no edits"\n')
    with served(cli, "--workspace", cli.cwd, "--rules", rules, sandbox="workspace-write") as server:
        reply = put(server, "file", b"y")
        assert (reply.status, reply.body["code"]) == (403, "command_denied")
    assert os.listdir(cli.cwd) == []


def test_a_body_that_is_cut_short_changes_nothing_and_a_reader_that_leaves_is_noticed(
    server: Served, cli: Cli
) -> None:
    file = Path(cli.cwd) / "file"
    file.write_text("before")
    connection = server.connection()
    connection.putrequest("PUT", url("made/file"))
    connection.putheader("authorization", f"Bearer {server.token}")
    connection.putheader("content-length", "1000")
    connection.endheaders(b"half")
    connection.close()
    huge = server.connection()
    huge.putrequest("PUT", url("file"))
    huge.putheader("authorization", f"Bearer {server.token}")
    huge.putheader("content-length", str(1 << 40))
    huge.putheader("expect", "100-continue")
    huge.endheaders()
    assert huge.getresponse().status == 413
    huge.close()
    assert got(server, "file")[1] == b"before"
    assert os.listdir(cli.cwd) == ["file"]

    # A client that hangs up ends the reading of a file.
    with open(Path(cli.cwd) / "huge", "wb") as huge_file:
        huge_file.truncate(1 << 40)
    connection = server.connection()
    reply = server.send(connection, "GET", url("huge"))
    assert reply.read(10) == bytes(10)
    held = Path(f"/proc/{server.process.pid}/fd")

    def reads() -> bool:
        found = []
        for fd in held.iterdir():
            try:
                found.append(os.readlink(fd))
            except FileNotFoundError:
                continue
        return any(path.endswith("/huge") for path in found)

    assert reads()
    connection.close()
    reply.close()
    wait_until(lambda: not reads())


def test_a_link_that_is_swapped_in_never_leads_out(server: Served, cli: Cli, tmp_path: Path) -> None:
    """The folder changes places with a link all the time: nothing outside is read or written."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "file").write_text("secret")
    here = Path(cli.cwd)
    (here / "real").mkdir()
    (here / "real/file").write_text("mine")
    (here / "link").symlink_to(outside)
    seen = set()
    done = False

    def swap() -> None:
        while not done:
            for name in ("real", "link"):
                try:
                    os.rename(here / name, here / "way")
                    os.rename(here / "way", here / name)
                except OSError:  # a request has made the folder itself
                    shutil.rmtree(here / "way", ignore_errors=True)

    swapping = Thread(target=swap)
    swapping.start()
    try:
        for _ in range(30):
            status, body, _ = got(server, "way/file")
            assert (status, b"secret" in body) != (200, True)
            seen.add(status)
            put(server, "way/file", b"mine")
            assert (outside / "file").read_text() == "secret"
    finally:
        done = True
        swapping.join()
    assert os.listdir(outside) == ["file"]
    assert len(seen) > 1  # it did change places


def test_ranges_are_parsed_as_the_standard_has_them() -> None:
    for wanted in ("", "lines=0-1", "bytes=", "bytes=-", "bytes=a-b", "bytes=0-1,3-4", "bytes=4-2"):
        assert span(wanted, 10) == (0, 10), wanted
    assert span("bytes=-20", 10) == (0, 10)
    for wanted in ("bytes=10-", "bytes=-0"):
        with pytest.raises(HttpError, match="beyond"):
            span(wanted, 10)
