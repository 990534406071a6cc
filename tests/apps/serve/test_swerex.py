"""The protocol of SWE-ReX over plain HTTP: shells that stay, commands, files, errors, keys and tokens."""

import io
import json
import os
import subprocess
import sys
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("uvicorn", reason="the server's libraries are not installed")

from agent_exec.apps.serve.swerex_shell import PROMPT
from agent_exec.apps.serve.tokens import Scope, issue
from apps.serve.serving import Reply, Served, served
from cli import Cli
from support import wait_until

RUNNER = Path(__file__).parents[3] / "tools/swerex/swerex.py"


@pytest.fixture(autouse=True)
def empty_home(cli: Cli, tmp_path: Path) -> None:
    """Spare the shells the start-up files of the person who runs the tests."""
    cli.env["HOME"] = str(tmp_path)


class Client:
    """A client of the protocol."""

    def __init__(self, server: Served) -> None:
        self.server = server

    def post(self, route: str, given: object = None, **headers: str | None) -> Reply:
        fields = {"authorization": None, "x-api-key": self.server.token, **headers}
        return self.server("POST", f"/{route}", {} if given is None else given, headers=fields)

    def __call__(self, route: str, **given: Any) -> dict[str, Any]:
        """Send a request that succeeds."""
        reply = self.post(route, given)
        assert reply.status == 200, reply.body
        answer: dict[str, Any] = reply.body
        return answer

    def error(self, route: str, **given: Any) -> tuple[str, str]:
        """Send a request that fails; return the class of the exception, and its message."""
        reply = self.post(route, given)
        assert reply.status == 511, reply.body
        told = reply.body["swerexception"]
        assert set(told) == {"message", "class_path", "traceback", "extra_info"}
        return told["class_path"], told["message"]

    def run(self, command: str, **more: Any) -> tuple[str, int | None]:
        """Run a command in the shell; return its output and its exit code."""
        found = self("run_in_session", command=command, **{"timeout": 60, "check": "silent", **more})
        assert found["expect_string"] == PROMPT
        return found["output"], found["exit_code"]

    def upload(self, target: str, data: bytes, *, unzip: bool = False, boundary: str = "b0undary") -> Reply:
        parts = {"file": data, "target_path": target.encode(), "unzip": b"true" if unzip else b"false"}
        body = b"".join(
            b'--%s\r\nContent-Disposition: form-data; name="%s"\r\n\r\n%s\r\n'
            % (boundary.encode(), name.encode(), value)
            for name, value in parts.items()
        )
        fields = {
            "authorization": None,
            "x-api-key": self.server.token,
            "content-type": f"multipart/form-data; boundary={boundary}",
        }
        return self.server("POST", "/upload", body + f"--{boundary}--\r\n".encode(), headers=fields)


def test_a_confined_shell_stays_and_runs_any_command_exactly(cli: Cli, tmp_path: Path) -> None:
    (Path(cli.cwd) / "setup.sh").write_text("greeting=hello\necho sourced\nPS1='mine> '\n")
    words = ("--compat", "swerex", "--workspace", cli.cwd)
    with served(cli, *words, sandbox="workspace-write") as server:
        client = Client(server)
        begun = client("create_session", startup_source=["./setup.sh"], startup_timeout=60)
        assert begun == {"output": "sourced\n", "session_type": "bash"}
        assert client.error("create_session")[0] == "swerex.exceptions.SessionExistsError"
        assert [one["cmd"] for one in server("GET", "/v1/sessions").body["sessions"]] == ["bash # default"]
        nasty = "tab\there 'single' \"double\" \\back $HOME `x` ! ümläut 漢字 %s" + "y" * 9000
        for command, output, code in (
            ("echo $greeting", "hello\n", 0),
            ("cd /; x=1; false", "", 1),
            ("pwd; echo $x", "/\n1\n", 0),
            ("\n\n echo one \n \n echo two\n\n", "one\ntwo\n", 0),
            ("printf '  x\\n\\n'", "  x\n\n", 0),
            (f"cat <<'END'\n{nasty}\n{nasty}\nEND", f"{nasty}\n{nasty}\n", 0),
            ("", "", 0),
            ("# only a comment", "", 0),
            ("no-such-command 2>/dev/null", "", 127),
            ("printf '\\033[31mred\\033[0m\\377'", "red\\xff", 0),
            ("PS1='(venv) '; PROMPT_COMMAND='echo noise'", "", 0),
            ("stty echo; echo loud", "loud\n", 0),
            ("stty -echo", None, 0),
            ("(exit 7)", "", 7),
        ):
            found = client.run(command)
            assert found[1] == code, (command, found)
            assert output is None or found[0] == output, command

        assert client.run("false", check="ignore")[1] is None
        kind, message = client.error("run_in_session", command="echo why; (exit 3)", error_msg="it broke")
        assert kind == "swerex.exceptions.NonZeroExitCodeError"
        assert message.startswith("it broke: ")
        assert "exit code 3" in message
        assert "why" in message
        wrong = client.post("run_in_session", {"command": "touch /tmp/made; (a"})
        told = wrong.body["swerexception"]
        assert told["class_path"] == "swerex.exceptions.BashIncorrectSyntaxError"
        assert set(told["extra_info"]) == {"bash_stdout", "bash_stderr"}
        assert client.run("ls /tmp/made 2>/dev/null") == ("", 2)

        # It is confined as all else is.
        outside = tmp_path / "outside"
        outside.mkdir()
        assert client.run(f"touch {outside}/x 2>/dev/null")[1] == 1
        assert client.run(f"cd {cli.cwd} && echo x > made && cat made") == ("x\n", 0)
        assert (Path(cli.cwd) / "made").read_text() == "x\n"

        # A flood is cut in its middle.
        flood = client.run("head -c 9000000 /dev/zero | tr '\\0' x; echo end")[0]
        assert flood.startswith("xxx")
        assert flood.endswith("xend\n")
        assert "bytes left out" in flood
        assert len(flood) < 9 << 20

        assert client("close_session") == {"session_type": "bash"}
        assert client.error("run_in_session", command="true")[0].endswith(".SessionDoesNotExistError")
        assert client.error("close_session", session="other")[0].endswith(".SessionDoesNotExistError")


def test_programs_are_talked_to_timed_out_and_interrupted(cli: Cli) -> None:
    with served(cli, "--compat", "swerex", "--workspace", cli.cwd) as server:
        client = Client(server)
        client("create_session", session="a")
        client("create_session", session="b")
        shell = {"session": "a", "timeout": 60}
        ask = 'bash -c \'read -p "name? " n; read -p "age? " a; echo $n $a\''
        begun = client(
            "run_in_session", command=ask, is_interactive_command=True, expect=[r"na.e\? "], **shell
        )
        assert (begun["expect_string"], begun["exit_code"]) == (r"na.e\? ", 0)
        assert client.run("echo other", session="b") == ("other\n", 0)
        more = client("run_in_session", command="ann", is_interactive_command=True, expect=["age"], **shell)
        assert (more["output"], more["expect_string"]) == ("", "age")
        last = client("run_in_session", command="7", is_interactive_quit=True, expect=[], **shell)
        assert "ann 7" in last["output"]
        assert last["expect_string"] == PROMPT
        assert client.run("echo again", session="a") == ("again\n", 0)

        late = {"session": "a", "timeout": 0.1}
        assert client.error("run_in_session", command="sleep 600", **late)[0].endswith(".CommandTimeoutError")
        assert client.error("run_in_session", command="echo x", **late)[0].endswith(".CommandTimeoutError")
        stopped = client("run_in_session", session="a", action_type="bash_interrupt", timeout=10)
        assert (stopped["exit_code"], stopped["expect_string"]) == (0, PROMPT)
        assert client.run("echo alive", session="a") == ("alive\n", 0)
        # One that ignores Ctrl-C is suspended, and killed.
        deaf = "bash -c 'trap \"\" INT; echo deaf; while :; do sleep 0.05; done'"
        assert client.error("run_in_session", command=deaf, **{**late, "timeout": 1})[0].endswith(
            "TimeoutError"
        )
        client("run_in_session", session="a", action_type="bash_interrupt", timeout=0.2, n_retry=2)
        output, code = client.run("sleep 0.1; echo alive; jobs", session="a")
        assert (code, "alive\n" in output, "killed" in output.lower()) == (0, True, True)
        assert client.run("jobs", session="a") == ("", 0)

        assert client.error("run_in_session", command="exit 3", **shell)[0].endswith(".NoExitCodeError")
        assert client.error("run_in_session", command="true", **shell)[0].endswith(".NoExitCodeError")
        assert client("close_session", session="a") == {"session_type": "bash"}
        assert (
            client.error("run_in_session", command="a", session="b", expect=["("])[0] == "builtins.ValueError"
        )
        assert client("close") == {}
        assert [one["running"] for one in server("GET", "/v1/sessions").body["sessions"]] == [False] * 2


def test_commands_are_judged_and_answered(cli: Cli, tmp_path: Path) -> None:
    here = Path(cli.cwd)
    rules = tmp_path / "rules.toml"
    rules.write_text('[[rule]]\nprefix = ["touch"]\nverdict = "deny"\nreason = "hands off"\n')
    words = ("--compat", "swerex", "--workspace", cli.cwd, "--rules", rules)
    with served(cli, *words, sandbox="workspace-write") as server:
        client = Client(server)
        assert client("execute", command=["printf", "a b"]) == {"stdout": "a b", "stderr": "", "exit_code": 0}
        split = client("execute", command="echo out; echo err >&2; exit 2", shell=True)
        assert split == {"stdout": "out\n", "stderr": "err\n", "exit_code": 2}
        both = client("execute", command="echo out; echo err >&2", shell=True, merge_output_streams=True)
        assert (both["stdout"], both["stderr"]) == ("out\nerr\n", "")
        own = client("execute", command=["/usr/bin/env"], env={"ONLY": "1"}, cwd=str(here))
        assert "ONLY=1\n" in own["stdout"]
        assert "\nHOME=" not in own["stdout"]
        for wrong, kind in (
            ({"command": ["sleep", "600"], "timeout": 0.1}, "swerex.exceptions.CommandTimeoutError"),
            ({"command": ["false"], "check": True}, "swerex.exceptions.NonZeroExitCodeError"),
            ({"command": ["no-such-program"]}, "builtins.FileNotFoundError"),
            ({"command": ["true"], "cwd": "/"}, "builtins.ValueError"),
        ):
            assert client.error("execute", **wrong)[0] == kind, wrong
        invalid: Any
        for invalid in ({}, {"command": 1}, {"command": ["a", 1]}, {"command": "a", "unknown": 1}, [], "x"):
            assert client.post("execute", invalid).status == 422, invalid
        assert client.post("execute", b"{").status == 422

        # The rules judge every command, of shells too: the agent reads why.
        client("create_session")
        for output, code in (
            client.run("true; touch made"),
            (found := client("execute", command=["touch", "made"]))["stderr"] and (found["stderr"], 126),
        ):
            assert (code, "hands off" in output) == (126, True)
        talked = client("run_in_session", command="touch made", is_interactive_command=True, timeout=9)
        assert "hands off" in talked["output"]
        assert os.listdir(here) == []


def test_files_are_read_written_and_uploaded_in_the_workspace_only(cli: Cli) -> None:
    here = Path(cli.cwd)
    words = ("--compat", "swerex", "--workspace", cli.cwd)
    with served(cli, *words, sandbox="workspace-write") as server:
        client = Client(server)
        assert client("write_file", path="new/text", content="ä\r\nb") == {}
        assert (here / "new/text").read_bytes() == "ä\r\nb".encode()
        assert client("read_file", path=str(here / "new/text")) == {"content": "ä\nb"}
        assert client("read_file", path="new/text", encoding="latin-1")["content"].startswith("Ã")
        assert client("read_file", path="new/text", encoding="ascii", errors="ignore") == {"content": "\nb"}
        assert (
            client.error("read_file", path="new/text", encoding="ascii")[0] == "builtins.UnicodeDecodeError"
        )
        assert client.error("read_file", path="new/text", encoding="rot13")[0] == "builtins.LookupError"
        assert client.error("read_file", path="none")[0] == "builtins.FileNotFoundError"
        assert client.error("read_file", path="new")[0] == "builtins.IsADirectoryError"
        assert client.error("read_file", path="/etc/passwd")[0] == "builtins.ValueError"
        assert client.error("write_file", path=".git/hooks/x", content="")[0] == "builtins.PermissionError"

        data = os.urandom(100_000) + b"\r\n--b0undar\r\n"
        assert client.upload("up/blob", data).body == {}
        assert (here / "up/blob").read_bytes() == data
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w") as archive:
            archive.writestr("one", "1")
            archive.writestr("sub/two", "2")
        assert client.upload("tree", packed.getvalue(), unzip=True).status == 200
        assert (here / "tree/sub/two").read_text() == "2"
        for name in ("../escaped", "/etc/escaped", ".git/config"):
            evil = io.BytesIO()
            with zipfile.ZipFile(evil, "w") as archive:
                archive.writestr(name, "x")
            assert client.upload("tree", evil.getvalue(), unzip=True).status in (422, 511), name
        assert client.upload("/etc/escaped", b"x").status == 511
        assert client.upload("up/blob", b"no archive", unzip=True).status == 422
        assert client.post("upload", {}).status == 422
        assert sorted(os.listdir(here)) == ["new", "tree", "up"]
        assert not (here.parent / "escaped").exists()


def test_requests_need_a_key_and_are_carried_out_once(cli: Cli) -> None:
    with served(cli, "--compat", "swerex", "--workspace", cli.cwd) as server:
        client = Client(server)
        alive = server("GET", "/is_alive", headers={"authorization": None, "x-api-key": server.token})
        assert alive.body == {"is_alive": True, "message": ""}
        hello = server("GET", "/", headers={"authorization": None, "x-api-key": server.token})
        assert hello.body == {"message": "hello world"}
        reading = issue(server.token, Scope(read_only=True))
        job = issue(server.token, Scope(job=server.run("true", observe=10)["job_id"]))
        order = {"command": ["touch", "made"]}
        for route in ("execute", "create_session", "run_in_session", "write_file", "close", "/execute"):
            assert client.post(route, order, **{"x-api-key": None}).status == 403, route
            for key in ("", "wrong", f"{server.token}x"):
                assert client.post(route, order, **{"x-api-key": key}).status == 401, route
            for key in (reading, job):
                assert client.post(route, order, **{"x-api-key": key}).status == 403, route
        assert client.post("execute", order, host="evil.example").status == 403
        assert client.post("execute", order, origin="http://evil.example").status == 403
        assert server("GET", "/execute", headers={"x-api-key": server.token}).status == 405
        (Path(cli.cwd) / "text").write_text("x")
        assert client.post("read_file", {"path": "text"}, **{"x-api-key": reading}).body == {"content": "x"}
        assert client.post("read_file", {"path": "text"}, **{"x-api-key": job}).status == 403
        assert os.listdir(cli.cwd) == ["text"]

        grow = {"command": "echo x >> grown; sleep 0.2; wc -l < grown", "shell": True}
        with ThreadPoolExecutor(4) as pool:
            tries = [pool.submit(client.post, "execute", grow, **{"x-request-id": "one"}) for _ in range(4)]
            assert {one.result().body["stdout"].strip() for one in tries} == {"1"}
        assert client.post("execute", grow, **{"x-request-id": "two"}).body["stdout"].strip() == "2"
        assert client.post("execute", grow, **{"x-request-id": "one"}).body["stdout"].strip() == "1"
        failed = {"command": ["false"], "check": True}
        assert client.post("execute", failed, **{"x-request-id": "three"}).status == 511
        other = client.post("execute", failed, **{"x-request-id": "one"})
        assert (other.status, "X-Request-ID" in other.body["swerexception"]["message"]) == (511, True)

        # A client that hangs up finds the answer when it tries again.
        slow = json.dumps({"command": "echo x >> slow; sleep 0.3; wc -l < slow", "shell": True}).encode()
        connection = server.connection()
        fields = {"x-api-key": server.token, "x-request-id": "four"}
        connection.request("POST", "/execute", slow, fields)
        wait_until((Path(cli.cwd) / "slow").exists)
        connection.close()
        assert (
            server("POST", "/execute", slow, headers={**fields, "authorization": None}).body["stdout"].strip()
            == "1"
        )
    with served(cli) as server:
        assert Client(server).post("execute", order, authorization=f"Bearer {server.token}").status == 404
    assert cli.raw("serve", "--compat", "other").returncode == 2


@pytest.mark.timeout(600)
@pytest.mark.skipif(
    "AGENT_EXEC_SWEREX" not in os.environ,
    reason="$AGENT_EXEC_SWEREX names no source distribution of swe-rex",
)
def test_the_tests_of_swe_rex_pass() -> None:
    source = os.environ["AGENT_EXEC_SWEREX"]
    python = os.environ.get("AGENT_EXEC_SWEREX_PYTHON", sys.executable)
    for sandbox in ("full-access", "workspace-write"):
        argv = [sys.executable, str(RUNNER), source, "--python", python, "--sandbox", sandbox]
        assert subprocess.run(argv, check=False).returncode == 0
