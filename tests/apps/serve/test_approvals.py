"""Approvals over HTTP and on the command line: both doors see the same questions, and the first answer wins."""

import json
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

pytest.importorskip("uvicorn", reason="the server's libraries are not installed")

from apps.serve.serving import Reply, Served, served
from cli import Answer, Cli, validator
from support import wait_until

RULES = '[[rule]]\nprefix = ["touch"]\nverdict = "ask"\nreason = "it makes files"\n'


class Doors:
    """A server whose rules ask, and the program in the same state folder."""

    def __init__(self, cli: Cli, server: Served) -> None:
        self.cli = cli
        self.server = server
        self.rules = cli.root.with_name("rules.toml")

    def approvals(self, *words: str) -> Answer:
        """Call the program."""
        return self.cli("approvals", *words)

    def question(self) -> dict[str, Any]:
        """Wait until exactly one question waits; return it."""
        wait_until(lambda: len(self.server("GET", "/v1/approvals").body["approvals"]) == 1)
        (one,) = self.server("GET", "/v1/approvals").body["approvals"]
        found: dict[str, Any] = one
        return found

    @contextmanager
    def asking(self, path: str = "/v1/exec", body: object = None) -> Iterator[list[Reply]]:
        """Have a command ask in another thread; the reply is there after the block."""
        replies: list[Reply] = []
        asked = body or {"command": ["touch", "made"]}
        thread = threading.Thread(target=lambda: replies.append(self.server("POST", path, asked)))
        with self.server.stream("/v1/approvals") as events:
            wait_until(lambda: self.server("GET", "/v1/approvals").body["watched"])
            thread.start()
            try:
                assert next(events).name == "approval.asked"
                yield replies
            finally:
                thread.join(30)
        assert not thread.is_alive()


@contextmanager
def doors(cli: Cli, *words: object) -> Iterator[Doors]:
    """Start a server whose rules ask."""
    cli.env["XDG_STATE_HOME"] = str(cli.root.with_name("state"))
    rules = cli.root.with_name("rules.toml")
    rules.write_text(RULES)
    with served(cli, "--rules", rules, *words) as server:
        yield Doors(cli, server)


@pytest.mark.parametrize(
    ("door", "by"), [("request", "http"), ("program at a server", "http"), ("program", "cli")]
)
def test_a_question_is_answered_from_any_door(cli: Cli, door: str, by: str) -> None:
    with doors(cli) as both:
        with both.asking() as replies:
            one = both.question()
            assert dict(both.approvals()) == both.server("GET", "/v1/approvals").body
            assert (one["command"], one["argv"], one["cwd"]) == (
                "touch made",
                ["touch", "made"],
                str(cli.cwd),
            )
            assert (one["reason"], one["rule"]) == ("it makes files", f"{both.rules}:1")
            assert (one["server"], one["answers"], one["escalated"]) == (
                "serve",
                ["once", "session", "no"],
                False,
            )
            shown = both.server("GET", f"/v1/approvals/{one['id'][:8]}").body
            assert (shown["state"], shown["question"]) == ("waiting", one)
            listed = cli.raw("approvals", "--human").stdout.decode()
            assert f"{one['id']}  touch made  {cli.cwd}" in listed
            shown = cli.raw("approvals", "show", one["id"], "--human").stdout.decode()
            assert shown.startswith("Run this command?\n    touch made\n")
            assert f"agent-exec approvals answer {one['id']} once|session|no" in shown
            for words, part in (("show", one["id"]), ("answer", one["id"])):
                out = cli.raw(
                    "completions", "words", "--", "agent-exec", "approvals", words, ""
                ).stdout.decode()
                assert out == f"{part}\ttouch made\n"
            typed = ("agent-exec", "approvals", "answer", one["id"], "")
            assert cli.raw("completions", "words", "--", *typed).stdout == b"once\t\nsession\t\nno\t\n"
            assert not (cli.cwd / "made").exists()
            far = ("--server", both.server.url)
            assert both.approvals(*far)["approvals"] == [one]
            assert both.approvals("show", one["id"][:8], *far)["question"] == one
            assert both.approvals("answer", "zz", "once", *far)["error"]["code"] == "question_not_found"
            assert cli.raw("approvals", "watch", *far).returncode == 2
            if door == "program":
                given: Any = both.approvals("answer", one["id"][-8:], "once")
            elif door == "program at a server":
                given = both.approvals("answer", one["id"][-8:], "once", *far)
            else:
                given = both.server("POST", f"/v1/approvals/{one['id']}", {"answer": "once"}).body
            validator()(dict(given))
            assert (given["type"], given["command"]) == ("approval_answered", "touch made")
            assert given["by"] == by
        assert replies[0].status == 200, replies[0].body
        assert (cli.cwd / "made").exists()
        late = both.approvals("answer", one["id"], "no")
        assert (late.code, late["error"]["code"]) == (1, "invalid_state")
        assert late["error"]["details"] == {"question_id": one["id"], "answer": "once", "by": by}
        refused = both.server("POST", f"/v1/approvals/{one['id']}", {"answer": "no"})
        assert (refused.status, refused.body["details"]["by"]) == (409, by)
        assert both.approvals("show", one["id"])["answer"] == "once"


def test_what_a_request_asks_for(cli: Cli) -> None:
    """Bad ids and answers are refused, a no refuses the command, a client that hangs up withdraws its question."""
    with doors(cli) as both, both.asking("/v1/jobs", {"argv": ["touch", "made"]}) as replies:
        server, one = both.server, both.question()
        for path, body, status, code in (
            ("/v1/approvals/zz", {"answer": "once"}, 404, "question_not_found"),
            ("/v1/approvals/..%2f..%2fx", {"answer": "once"}, 404, "no_such_path"),
            ("/v1/approvals/..", {"answer": "once"}, 404, "question_not_found"),
            ("/v1/approvals/%00", {"answer": "once"}, 400, "invalid_argument"),
            (f"/v1/approvals/{one['id']}", {"answer": "always"}, 400, "invalid_argument"),
            (f"/v1/approvals/{one['id']}", {"answer": "yes"}, 400, "invalid_argument"),
            (f"/v1/approvals/{one['id']}", {}, 400, "invalid_argument"),
        ):
            reply = server("POST", path, body)
            assert (reply.status, reply.body["code"]) == (status, code), reply.body
        for words, told in (
            (("answer", one["id"]), b"approvals answer ID"),
            (("frobnicate",), b"approvals answer ID"),
            (("show", one["id"], "--until", "1s"), b"--until is for"),
        ):
            out = cli.raw("approvals", *words)
            assert out.returncode == 2
            assert told in out.stderr
        assert both.approvals("answer", "zz", "once")["error"]["code"] == "question_not_found"
        hung = server.connection()
        hung.request(
            "POST",
            "/v1/exec",
            json.dumps({"command": ["touch", "other"]}),
            {"authorization": f"Bearer {server.token}", "content-type": "application/json"},
        )
        wait_until(lambda: len(server("GET", "/v1/approvals").body["approvals"]) == 2)
        hung.close()
        assert both.question()["id"] == one["id"]
        assert server("POST", f"/v1/approvals/{one['id']}", {"answer": "no"}).status == 200
    assert (replies[0].status, replies[0].body["code"]) == (403, "approval_required")
    assert "the answer was no" in replies[0].body["detail"]
    assert not (cli.cwd / "made").exists()


def test_what_tokens_may_do_and_without_a_watcher_no_question_is_asked(cli: Cli) -> None:
    with doors(cli) as both:
        server = both.server
        reply = server("POST", "/v1/exec", {"command": ["touch", "made"]})
        assert (reply.status, reply.body["code"]) == (403, "approval_required")
        assert (
            "The approval inbox is not watched: no `agent-exec approvals watch` is open; allow it"
            in reply.body["detail"]
        )
        assert both.approvals()["approvals"] == []
        job = server.run("true")["job_id"]
        tokens = {
            name: cli("serve", "token", *words)["token"]
            for name, words in {
                "read": ("--read-only",),
                "job": ("--job", job),
                "agent": ("--no-approvals",),
            }.items()
        }
        with both.asking():
            one = f"/v1/approvals/{both.question()['id']}"
            seen = {name: server("GET", "/v1/approvals", token=token) for name, token in tokens.items()}
            assert {name: reply.status for name, reply in seen.items()} == {
                "read": 200,
                "job": 403,
                "agent": 200,
            }
            for token in tokens.values():
                assert server("POST", one, {"answer": "once"}, token=token).status == 403
            assert server("POST", one, {"answer": "once"}, token="x" * 40).status == 401
            assert server("POST", one, {"answer": "no"}).status == 200
        wait_until(lambda: not server("GET", "/v1/approvals").body["watched"])
        with server.stream("/v1/approvals", token=tokens["read"]):
            assert not server("GET", "/v1/approvals").body["watched"]


def test_a_server_can_wait_without_a_watcher_until_the_deadline(cli: Cli) -> None:
    with doors(cli, "--approvals", "inbox", "--approval-timeout", "1s") as both:
        reply = both.server("POST", "/v1/exec", {"command": ["touch", "made"]})
        assert (reply.status, reply.body["code"]) == (403, "approval_required")
        assert "No answer came within 1 s" in reply.body["detail"]
    for words, told in (
        (("--approvals", "client"), "--approvals takes one of auto, inbox, off"),
        (("--approval-timeout", "10ms"), "--approval-timeout takes a second at least"),
    ):
        out = cli.raw("serve", "--port", "0", *words)
        assert out.returncode == 2
        assert told in out.stderr.decode()


def test_the_program_watches(cli: Cli) -> None:
    """One JSON object a line; while it runs, a person can be asked."""
    with doors(cli) as both:
        argv = cli.argv("approvals", "watch")
        with subprocess.Popen(argv, stdout=subprocess.PIPE, env=cli.env, cwd=cli.cwd) as watch:
            assert watch.stdout is not None
            try:
                wait_until(lambda: both.approvals()["watched"])
                replies: list[Reply] = []
                body = {"cmd": "touch made", "login": False}
                ask = threading.Thread(
                    target=lambda: replies.append(both.server("POST", "/v1/sessions", body))
                )
                ask.start()
                asked = json.loads(watch.stdout.readline())
                assert (asked.pop("kind"), asked) == ("approval.asked", both.question())
                both.approvals("answer", asked["id"], "session")
                told = {"kind": "approval.answered", "id": asked["id"], "answer": "session", "by": "cli"}
                assert json.loads(watch.stdout.readline()) == told
                ask.join(30)
                assert replies[0].status == 200
            finally:
                watch.terminate()
            assert watch.wait(20) == 0
        assert not both.approvals()["watched"]
