"""Notifications: each event by each way, whatever fails, hangs or is killed; never in the way of a job."""

import hmac
import json
import os
import signal
import threading
from base64 import b64decode
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest

from agent_exec.jobs import open_jobs
from agent_exec.jobs.events import webhook
from agent_exec.jobs.events.notification import checked
from agent_exec.model.errors import InvalidArgument
from agent_exec.sandbox.proxy import addresses
from cli import Cli
from jobs.receiver import Receiver, receiving
from jobs.seen import supervisor_of
from support import exists, wait_until


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def settled(cli: Cli, job: str) -> list[dict[str, Any]]:
    """Wait until nothing of a job is left to deliver; return how it was delivered."""
    wait_until(lambda: not (cli.root / ".notify" / job).exists(), seconds=60)
    results: list[dict[str, Any]] = cli("notify", "show", job)["delivery_results"]
    return results


def courier_of(cli: Cli, job: str) -> int:
    """Return the pid of the courier of a job, which has signed its lock."""
    lock = cli.folder(job) / "courier"
    wait_until(lambda: lock.exists() and len(lock.read_bytes().splitlines()) > 1)
    return int(lock.read_text().splitlines()[-1].split()[0])


def test_a_file_and_a_command_are_told_of_the_end(cli: Cli, tmp_path: Path) -> None:
    told, seen = tmp_path / "folder" / "told.ndjson", tmp_path / "seen"
    command = f'cat > {seen}; printf "%s %s %s" $AGENT_EXEC_JOB_ID $AGENT_EXEC_EVENT_TYPE $AGENT_EXEC_EVENT_PATH >> {seen}'
    words = ["--notify-file", told, "--notify-command", command]
    job = cli("run", *words, "--", "sh", "-c", "echo out; exit 3")["job_id"]
    results = settled(cli, job)
    assert [(one["sink_type"], one["success"], one["attempts"]) for one in results] == [
        ("file", True, 1),
        ("command", True, 1),
    ]
    (event,) = lines(told)
    assert (event["event_type"], event["job_id"], event["state"]) == ("job.finished", job, "exited")
    assert (event["exit_code"], event["command"][0]) == (3, "sh")
    assert event["event_id"] == f"{job}.1.ended"
    assert Path(event["stdout_log_path"]).read_text() == "out\n"
    assert "out" not in {name for name in event if name.endswith("tail")}
    text, _, rest = seen.read_text().partition("\n")
    assert json.loads(text) == event
    completion = cli.folder(job) / "completion_event.json"
    assert rest == f"{job} job.finished {completion}"
    kept = json.loads(completion.read_text())
    assert [one["success"] for one in kept.pop("delivery_results")] == [True, True]
    assert kept == event


def test_a_command_that_fails_changes_nothing_of_the_job(cli: Cli) -> None:
    job = cli("run", "--notify-command", "/no/such/program", "--", "true")["job_id"]
    (result,) = settled(cli, job)
    assert (result["sink_type"], result["success"], result["error"]) == ("command", False, "exit code 127")
    status = cli("status", job)
    assert (status["state"], status["notification"]) == ("exited", {"notify_command": "/no/such/program"})


@pytest.mark.parametrize(
    "line",
    [
        "sleep 600",
        "trap '' TERM INT HUP; while :; do sleep 1; done",
        "while :; do echo flooding; done",
        "sleep 600 & exit 0",
    ],
)
def test_a_command_that_hangs_ignores_signals_or_floods_is_ended(cli: Cli, line: str) -> None:
    words = ["--notify-command", line, "--notify-timeout", "200ms"]
    job = cli("run", "--wait", *words, "--", "true")["job_id"]
    (result,) = settled(cli, job)
    if "exit 0" not in line:
        assert (result["success"], "took longer" in result["error"]) == (False, True)


def test_a_job_does_not_wait_for_what_is_told_of_it(cli: Cli, tmp_path: Path) -> None:
    gates = [tmp_path / name for name in ("matched", "ended")]
    for gate in gates:
        os.mkfifo(gate)
    words = ["--notify-command", f"read _ < {gates[1]}"]
    words += ["--output-pattern", "go", "--output-command", f"read _ < {gates[0]}"]
    job = cli("run", "--wait", *words, "--", "echo", "go")
    assert (job["state"], job["leaked"]) == ("exited", False)
    assert (cli.root / ".notify" / job["job_id"]).exists()
    for gate in gates:
        with gate.open("w") as opened:
            opened.write("\n")
    assert [one["success"] for one in settled(cli, job["job_id"])] == [True, True]


def test_each_event_comes_once_to_a_webhook_that_fails_half_the_time(cli: Cli, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("open sesame\n")

    def answer(receiver: Receiver, _: BaseHTTPRequestHandler) -> int:
        return (500, 200, 503, 200)[receiver.asked % 4]

    with receiving(answer) as receiver:
        words = ["--notify-url", receiver.url, "--notify-private", "--notify-secret-file", secret]
        words += ["--output-pattern", "match"]
        job = cli("run", *words, "--", "sh", "-c", "for at in 1 2 3 4 5 6 7; do echo match $at; done")[
            "job_id"
        ]
        results = settled(cli, job)
    assert len(results) == 8
    assert all(one["success"] for one in results)
    assert receiver.asked > 8
    names = [f"{job}.1.output-match", *(f"{job}.1.output-match.{at}" for at in range(2, 8)), f"{job}.1.ended"]
    assert sorted(receiver.ids) == sorted(names)
    for headers, event, body in receiver.taken:
        signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
        version, _, given = headers["webhook-signature"].partition(",")
        assert version == "v1"
        assert b64decode(given) == hmac.digest(b"open sesame", signed, "sha256")
        assert event["event_id"] == headers["webhook-id"]
        assert not {"line", "stdout_tail"} & event.keys(), "metadata only"
    assert {event["event_type"] for _, event, _ in receiver.taken} == {"job.finished", "job.output.matched"}
    shown = cli("notify", "show", job)
    assert "in-the-address" not in json.dumps(shown)
    stored = b"".join(path.read_bytes() for path in cli.root.rglob("*") if path.is_file())
    assert b"sesame" not in stored


def test_output_is_sent_to_a_webhook_if_that_is_asked_for(cli: Cli) -> None:
    with receiving(lambda *_: 200) as receiver:
        words = ["--notify-url", receiver.url, "--notify-private", "--notify-output"]
        job = cli("run", *words, "--", "echo", "hello")["job_id"]
        settled(cli, job)
    ((_, event, _),) = receiver.taken
    assert event["stdout_tail"] == "hello\n"


def test_a_redirect_is_not_followed(cli: Cli) -> None:
    def lead(_: Receiver, handler: BaseHTTPRequestHandler) -> int:
        handler.send_response(307)
        handler.send_header("Location", target)
        handler.end_headers()
        return 0

    with receiving(lambda *_: 200) as other, receiving(lead) as receiver:
        for target in (other.url, "http://169.254.169.254/latest/meta-data"):  # noqa: B007 - `lead` reads it
            words = ["--notify-url", receiver.url, "--notify-private"]
            (result,) = settled(cli, cli("run", *words, "--", "true")["job_id"])
            assert (result["success"], result["attempts"]) == (False, 1)
            assert "redirects are not followed" in result["error"]
        assert other.asked == 0


def test_an_answer_without_an_end_is_not_read(cli: Cli) -> None:
    sent: list[int] = []

    def flood(_: Receiver, handler: BaseHTTPRequestHandler) -> int:
        handler.send_response(200)
        handler.send_header("Content-Length", str(1 << 30))
        handler.end_headers()
        try:
            for _piece in range(1 << 10):
                handler.wfile.write(b"x" * (1 << 20))
                sent.append(1 << 20)
        except OSError:
            pass
        return 0

    with receiving(flood) as receiver:
        words = ["--notify-url", receiver.url, "--notify-private"]
        (result,) = settled(cli, cli("run", *words, "--", "true")["job_id"])
    assert result["success"]
    assert sum(sent) < 100 << 20


def test_what_a_killed_courier_has_not_delivered_is_delivered_by_the_next_process(cli: Cli) -> None:
    hanging = threading.Event()
    let_go = threading.Event()

    def hang(receiver: Receiver, _: BaseHTTPRequestHandler) -> int:
        if receiver.asked > 1:
            return 200
        hanging.set()
        let_go.wait(60)
        return 500

    with receiving(hang) as receiver:
        job = cli("run", "--notify-url", receiver.url, "--notify-private", "--", "true")["job_id"]
        assert hanging.wait(60)
        words = ["--notify-url", receiver.url, "--notify-private"]
        other = cli("run", "--wait", *words, "--", "true")["job_id"]
        assert settled(cli, other)[0]["success"], "a receiver that hangs holds up no other job"
        courier = courier_of(cli, job)
        os.kill(courier, signal.SIGKILL)
        wait_until(lambda: not exists(courier))
        let_go.set()
        assert receiver.ids == [f"{other}.1.ended"]
        cli("run", "--", "true")
        (result,) = settled(cli, job)
    assert result["success"]
    assert receiver.ids == [f"{other}.1.ended", f"{job}.1.ended"]


def test_what_a_killed_supervisor_has_not_told_is_told_by_the_next_process(cli: Cli, tmp_path: Path) -> None:
    told = tmp_path / "told"
    job = cli("run", "--no-wait", "--notify-file", told, "--", "sleep", "600")["job_id"]
    supervisor = supervisor_of(cli, job)
    os.kill(supervisor, signal.SIGKILL)
    wait_until(lambda: not exists(supervisor))
    cli("kill", job)
    wait_until(lambda: cli("status", job)["state"] == "failed")
    assert lines(told) == []
    cli("run", "--", "true")
    settled(cli, job)
    (event,) = lines(told)
    assert (event["event_id"], event["reason"]) == (f"{job}.1.lost", "supervisor_lost")


def test_an_end_that_was_recorded_and_not_told_is_told_with_the_same_id(cli: Cli, tmp_path: Path) -> None:
    told = tmp_path / "told"
    job = cli("run", "--notify-file", told, "--", "true")["job_id"]
    settled(cli, job)
    (cli.folder(job) / "deliveries.jsonl").unlink()  # as if all had been killed right after the record
    (cli.root / ".notify").mkdir(mode=0o700, exist_ok=True)
    (cli.root / ".notify" / job).touch()
    cli("run", "--", "true")
    settled(cli, job)
    first, second = lines(told)
    assert first == second


def test_a_receiver_that_is_down_is_left_for_later_and_holds_nothing_up(cli: Cli) -> None:
    with receiving(lambda *_: 200) as receiver:
        pass
    job = cli("run", "--wait", "--notify-url", receiver.url, "--notify-private", "--", "true")
    assert job["state"] == "exited"
    wait_until(
        lambda: any(one["attempts"] > 1 for one in cli("notify", "show", job["job_id"])["delivery_results"])
    )
    result = cli("notify", "show", job["job_id"])["delivery_results"][0]
    assert (result["success"], result["settled"]) == (False, False)
    assert cli("delete", job["job_id"])["deleted"] == 1
    wait_until(lambda: not (cli.root / job["job_id"]).exists())


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:8/",
        "http://localhost/",
        "http://[::1]/x",
        "http://169.254.169.254/latest",
        "http://10.1.2.3/",
        "http://192.168.0.1/",
        "http://[::ffff:127.0.0.1]/",
        "http://0x7f000001/",
        "ftp://example.org/",
        "https://user:word@example.org/",
        "https://",
        "example.org",
    ],
)
def test_an_address_that_no_webhook_may_lead_to_is_refused_before_the_job_starts(cli: Cli, url: str) -> None:
    answer = cli("run", "--notify-url", url, "--", "touch", "ran")
    assert (answer.code, answer["error"]["code"]) == (1, "invalid_argument")
    assert not (cli.cwd / "ran").exists()
    assert not cli.root.exists()


def test_a_name_that_leads_to_a_private_address_is_not_dialled(monkeypatch: pytest.MonkeyPatch) -> None:
    with receiving(lambda *_: 200) as receiver:
        port = receiver.url.rpartition(":")[2].partition("/")[0]
        monkeypatch.setattr(addresses, "lookup", lambda *_: ["127.0.0.1", "169.254.169.254"])
        problem, again = webhook.post(f"http://example.org:{port}/", "id", b"{}", None, private=False)
        assert problem is not None
        assert "private addresses only" in problem
        assert not again
        assert receiver.asked == 0


@pytest.mark.parametrize(
    ("words", "status"),
    [
        (["--output-command", "true"], 2),
        (["--notify-output"], 2),
        (["--output-pattern", "(", "--output-match-type", "regex"], 1),
        (["--output-pattern", "x", "--output-match-type", "glob"], 1),
        (["--output-pattern", "x", "--output-stream", "both"], 1),
        (["--output-pattern", ""], 1),
        (["--notify-command", " "], 1),
        (["--notify-url", "https://example.org", "--notify-secret-file", "/no/such/file"], 1),
        (["--notify-url", "https://example.org", "--notify-secret-env", "NO_SUCH_VARIABLE"], 1),
    ],
)
def test_a_bad_configuration_is_refused_before_the_job_starts(
    cli: Cli, words: list[str], status: int
) -> None:
    out = cli.raw("run", *words, "--", "touch", "ran")
    assert out.returncode == status
    assert not (cli.cwd / "ran").exists()
    assert not cli.root.exists()


def test_the_rules_in_force_judge_the_commands_of_notifications(cli: Cli, tmp_path: Path) -> None:
    rules = tmp_path / "rules.toml"
    rules.write_text('[[rule]]\nprefix = ["curl"]\nverdict = "deny"\n')
    for words in (["--notify-command", "curl x"], ["--output-pattern", "x", "--output-command", "curl x"]):
        answer = cli("run", "--rules", rules, *words, "--", "touch", "ran")
        assert answer["error"]["code"] == "command_denied", answer
        assert not (cli.cwd / "ran").exists()
    job = cli("run", "--", "true")["job_id"]
    assert (
        cli("notify", "set", job, "--rules", rules, "--command", "curl x")["error"]["code"]
        == "command_denied"
    )


def test_notifications_are_set_on_a_running_job(cli: Cli, tmp_path: Path) -> None:
    told, gate = tmp_path / "told", tmp_path / "gate"
    os.mkfifo(gate)
    job = cli.start("sh", "-c", f"echo early; read _ < {gate}; echo match; echo other >&2; exit 5")
    wait_until(lambda: cli("tail", job)["stdout"] == "early\n")
    words = ["--output-pattern", "early|match", "--output-match-type", "regex", "--output-file", told]
    answer = cli("notify", "set", job, "--command", f"cat >> {told}", *words)
    assert (answer["type"], answer["job_id"]) == ("notify.set", job)
    assert answer["notification"]["on_output_match"]["pattern"] == "early|match"
    answer = cli("notify", "set", job, "--notify-file", tmp_path / "file")
    assert answer["notification"]["notify_command"], "what was set before stays"
    with gate.open("w") as opened:
        opened.write("\n")
    settled(cli, job)
    matched, finished = lines(told)
    assert (matched["event_type"], matched["line"], matched["stream"]) == (
        "job.output.matched",
        "match",
        "stdout",
    )
    assert (finished["event_type"], finished["exit_code"]) == ("job.finished", 5)
    assert lines(tmp_path / "file") == [finished]
    (kept,) = lines(cli.folder(job) / "notification_events.ndjson")
    assert [one["success"] for one in kept["delivery_results"]] == [True]


def test_notifications_set_after_the_end_are_kept_and_not_delivered(cli: Cli, tmp_path: Path) -> None:
    job = cli("run", "--", "echo", "match")["job_id"]
    answer = cli("notify", "set", job, "--command", f"touch {tmp_path}/ran", "--output-pattern", "match")
    assert answer["notification"]["notify_command"] == f"touch {tmp_path}/ran"
    cli("run", "--", "true")
    assert not (cli.root / ".notify").exists()
    assert not (tmp_path / "ran").exists()
    assert cli("notify", "clear", job)["notification"] == {}
    assert cli("notify", "show", job)["notification"] == {}
    assert cli("notify", "set", "ZZZZZZZZ", "--command", "true")["error"]["code"] == "job_not_found"
    assert cli.raw("notify", "set", job).returncode == 2


def test_events_of_other_kinds_are_told_of_if_that_is_asked_for(cli: Cli, tmp_path: Path) -> None:
    told = tmp_path / "told"
    job = cli("run", "--notify-file", told, "--notify-on", "started", "--", "true")["job_id"]
    settled(cli, job)
    assert [one["event_type"] for one in lines(told)] == ["job.started", "job.finished"]


def test_a_desktop_notification_is_a_call_of_notify_send(cli: Cli, tmp_path: Path) -> None:
    assert (
        cli("run", "--notify-desktop", "--", "true", env={"PATH": "/none"})["error"]["code"]
        == "invalid_argument"
    )
    shown, fake = tmp_path / "shown", tmp_path / "bin" / "notify-send"
    fake.parent.mkdir()
    fake.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" > {shown}\n')
    fake.chmod(0o755)
    env = {"PATH": f"{fake.parent}:{os.environ['PATH']}"}
    job = cli("run", "--notify-desktop", "--", "sh", "-c", "exit 3", env=env)["job_id"]
    assert [one["success"] for one in settled(cli, job)] == [True]
    assert f"job {job[-8:]}: exited 3" in shown.read_text()


def test_notifications_from_python(tmp_path: Path) -> None:
    jobs = open_jobs(str(tmp_path / "jobs"))
    rules = [{"pattern": "lo"}, {"pattern": "^h", "match_type": "regex", "stream": "stdout"}]
    job = jobs.run(
        ["echo", "hello"], notify={"notify_file": str(tmp_path / "told"), "output_matches": rules}
    )["job_id"]
    wait_until(lambda: not (tmp_path / "jobs" / ".notify").exists())
    assert [one["event_type"] for one in lines(tmp_path / "told")] == ["job.finished"]
    found = jobs.events(job=job, kinds=["output-match"])["events"]
    assert [one["details"]["pattern"] for one in found] == ["lo", "^h"]
    assert jobs.notify(job)["notification"]["output_matches"][1]["stream"] == "stdout"
    assert jobs.notify(job, {"notify_command": "true"})["notification"]["notify_command"] == "true"
    assert jobs.notify(job, {})["notification"] == {}
    with pytest.raises(InvalidArgument, match="no notification setting"):
        checked({"webhook": "x"})


def test_notifications_of_a_created_job_and_of_each_attempt(cli: Cli, tmp_path: Path) -> None:
    told = tmp_path / "told"
    made = cli("create", "--notify-file", told, "--", "true")["job_id"]
    assert cli("notify", "show", made)["notification"] == {"notify_file": str(told)}
    assert lines(told) == []
    assert cli("start", made)["state"] == "exited"
    settled(cli, made)
    cli("restart", made)
    wait_until(lambda: len(lines(told)) == 2)
    settled(cli, made)
    assert [one["event_id"] for one in lines(told)] == [f"{made}.1.ended", f"{made}.2.ended"]
