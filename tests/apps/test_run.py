"""run: starts a supervised, detached job, observes it, and answers."""

import os
import signal
import subprocess
from pathlib import Path

import pytest

from apps.talker import orders, pids_of, ready, talker
from cli import Cli, check
from support import exists, processes_marked, python, wait_until

# The answer


def test_a_job_that_ends_is_reported_at_once(cli: Cli) -> None:
    answer = cli("run", "--", "sh", "-c", "echo out; echo err >&2; exit 3")
    assert (answer["ok"], answer["type"], answer["state"], answer["exit_code"]) == (True, "run", "exited", 3)
    assert (answer["signal"], answer["timed_out"], answer["leaked"]) == (None, False, False)
    assert answer["output_complete"] is True
    assert answer["duration_ms"] >= 0
    assert answer["finished_at"] == cli("status", answer["job_id"])["finished_at"]
    assert answer["waited_ms"] <= 10_000
    assert answer["elapsed_ms"] >= answer["waited_ms"]
    assert answer["snapshot"] == {
        "stdout_tail": "out",
        "stderr_tail": "err",
        "truncated": False,
        "encoding": "utf-8-lossy",
        "stdout_observed_bytes": 4,
        "stdout_included_bytes": 3,
        "stderr_observed_bytes": 4,
        "stderr_included_bytes": 3,
    }
    assert (answer["stdout"], answer["stderr"]) == ("out\n", "err\n")
    assert (answer["stdout_range"], answer["stdout_total_bytes"]) == ([0, 4], 4)
    assert answer.code == 0  # the job's own code is not ours


def test_the_logs_are_where_the_answer_says(cli: Cli) -> None:
    answer = cli("run", "--", "sh", "-c", "printf 'a\\000b'; echo e >&2")
    assert Path(answer["stdout_log_path"]).read_bytes() == b"a\0b"
    assert Path(answer["stderr_log_path"]).read_bytes() == b"e\n"
    assert Path(answer["stdout_log_path"]).stat().st_mode & 0o077 == 0


def test_the_snapshot_does_not_end_at_the_first_output(cli: Cli) -> None:
    answer = cli("run", "--", "sh", "-c", "echo start; sleep 0.3; echo done")
    assert answer["state"] == "exited"
    assert answer["snapshot"]["stdout_tail"] == "start\ndone"


def test_the_snapshot_ends_at_its_time(cli: Cli) -> None:
    answer = cli("run", "--snapshot-after", 200, "--", "sleep", "60")
    assert (answer["state"], answer["supervisor"]) == ("running", "alive")
    assert answer["waited_ms"] == 200
    assert answer["elapsed_ms"] >= 200
    assert "exit_code" not in answer
    assert answer["snapshot"]["stdout_observed_bytes"] == 0


@pytest.mark.parametrize("words", [("--snapshot-after", 0), ("--snapshot-after", "0s"), ("--no-wait",)])
def test_no_wait_answers_as_soon_as_the_command_runs(cli: Cli, words: tuple[object, ...]) -> None:
    answer = cli("run", *words, "--", "sleep", "60")
    assert (answer["state"], answer["waited_ms"]) == ("running", 0)
    assert "snapshot" not in answer
    assert "stdout" not in answer
    assert exists(cli("status", answer["job_id"])["pid"])


def test_a_command_ended_by_a_signal_is_killed(cli: Cli) -> None:
    answer = cli("run", "--", "sh", "-c", "kill -USR1 $$")
    assert (answer["state"], answer["exit_code"]) == ("killed", None)
    assert (answer["signal"], answer["signal_number"]) == ("SIGUSR1", signal.SIGUSR1)
    assert "reason" not in answer


def test_a_command_that_exits_with_a_high_code_has_exited(cli: Cli) -> None:
    answer = cli("run", "--", "sh", "-c", "exit 143")
    assert (answer["state"], answer["exit_code"], answer["signal"]) == ("exited", 143, None)


# What cannot be started


@pytest.mark.parametrize("words", [(), ("--no-wait",), ("--wait",)])
def test_a_command_that_is_not_there_fails_in_the_answer_itself(cli: Cli, words: tuple[str, ...]) -> None:
    answer = cli("run", *words, "--", "no-such-program", "x")
    assert (answer["ok"], answer["type"], answer.code) == (False, "error", 1)
    assert (answer["state"], answer["reason"]) == ("failed", "spawn_failed")
    assert answer["error"]["code"] == "command_not_found"
    assert answer["error"]["message"] == answer["message"]
    assert "no-such-program" in answer["message"]
    assert (answer["exit_code"], answer["signal"]) == (None, None)
    status = cli("status", answer["job_id"])
    assert status["ok"]
    assert (status["state"], status["reason"], status["message"]) == (
        "failed",
        "spawn_failed",
        answer["message"],
    )
    assert status["command"] == ["no-such-program", "x"]


def test_what_cannot_be_executed_fails(cli: Cli) -> None:
    (cli.cwd / "data").write_text("no program")
    (cli.cwd / "data").chmod(0o644)
    assert cli("run", "./data")["error"]["code"] == "command_not_executable"
    assert cli("run", cli.cwd)["error"]["code"] == "command_not_executable"


def test_a_working_directory_that_is_not_there_fails(cli: Cli) -> None:
    (cli.cwd / "file").touch()
    for cwd, code in (("missing", "workdir_not_found"), ("file", "not_a_directory")):
        answer = cli("run", "--cwd", cwd, "--", "true")
        assert (answer["state"], answer["reason"]) == ("failed", "spawn_failed")
        assert answer["error"]["code"] == code
        assert cwd in answer["message"]


def test_a_current_directory_that_has_gone_is_reported(cli: Cli) -> None:
    gone = cli.cwd / "gone"
    gone.mkdir()
    script = f'rmdir {gone}; exec "$0" "$@"'
    out = subprocess.run(
        ["sh", "-c", script, *cli.argv("run", "--", "true")],
        cwd=gone,
        env=cli.env,
        capture_output=True,
        check=False,
    )
    assert check(out.stdout.decode())["error"]["code"] == "workdir_not_found"


# How much is shown


def test_tail_lines_are_the_last_ones(cli: Cli) -> None:
    answer = cli("run", "--tail-lines", 2, "--", "seq", 5)
    assert answer["snapshot"]["stdout_tail"] == "4\n5"
    assert answer["snapshot"]["truncated"] is True
    assert answer["stdout"] == "4\n5\n"
    assert answer["stdout_range"] == [6, 10]
    assert (answer["snapshot"]["stdout_observed_bytes"], answer["snapshot"]["stdout_included_bytes"]) == (
        10,
        3,
    )


def test_fifty_lines_are_shown_unless_asked(cli: Cli) -> None:
    assert cli("run", "--", "seq", 51)["snapshot"]["stdout_tail"].splitlines() == [
        str(number) for number in range(2, 52)
    ]
    exact = cli("run", "--", "seq", 50)["snapshot"]
    assert (exact["stdout_tail"].count("\n"), exact["truncated"]) == (49, False)
    everything = cli("run", "--tail-lines", 0, "--", "seq", 500)["snapshot"]
    assert (everything["stdout_tail"].count("\n"), everything["truncated"]) == (499, False)


def test_64_kib_are_shown_unless_asked(cli: Cli) -> None:
    answer = cli("run", "--", "sh", "-c", "printf %070000d 0; printf end")["snapshot"]
    assert (answer["stdout_included_bytes"], answer["stdout_observed_bytes"]) == (65_536, 70_003)
    assert answer["stdout_tail"].endswith("0end")
    assert answer["truncated"] is True


def test_max_bytes_cuts_no_character(cli: Cli) -> None:
    for size, shown in ((7, 2), (6, 2), (5, 1), (3, 1), (2, 0), (0, 0)):
        answer = cli("run", "--max-bytes", size, "--", "printf", "日本語")["snapshot"]
        assert answer["stdout_tail"] == "日本語"[3 - shown :]
        assert answer["stdout_included_bytes"] == 3 * shown
        assert answer["truncated"] is True


def test_no_more_is_included_than_was_observed(cli: Cli) -> None:
    answer = cli("run", "--", "printf", r"\377\376\375")["snapshot"]
    assert answer["stdout_tail"] == "\ufffd" * 3
    assert (answer["stdout_included_bytes"], answer["stdout_observed_bytes"]) == (3, 3)


@pytest.mark.parametrize(
    ("printed", "tail"), [("a", "a"), ("a\\n", "a"), ("a\\r\\n", "a"), ("a\\n\\n", "a\n"), ("\\n", "")]
)
def test_the_last_newline_is_not_in_the_tail(cli: Cli, printed: str, tail: str) -> None:
    answer = cli("run", "--", "printf", printed)
    assert answer["snapshot"]["stdout_tail"] == tail
    assert answer["snapshot"]["stdout_included_bytes"] == len(tail)
    assert answer["stdout"] == printed.replace("\\n", "\n").replace("\\r", "\r")


# How long is waited


@pytest.mark.parametrize("words", [["--wait"], ["--forever"], ["--wait", "--forever"], ["--until", "1h"]])
def test_it_is_waited_for_the_end_if_asked(cli: Cli, words: list[str]) -> None:
    with orders(cli.cwd) as (fd, argv):
        os.write(fd, b"1 %s\n" % b"begun".hex().encode())
        call = subprocess.Popen(
            cli.argv("run", *words, "--", *argv), stdout=subprocess.PIPE, env=cli.env, cwd=cli.cwd
        )
        wait_until(lambda: [log for log in cli.root.glob("*/stdout.log") if log.stat().st_size])
        assert call.poll() is None  # the first output is not the end
        os.write(fd, b"0 7\n")
        out, _ = call.communicate()
    answer = check(out.decode())
    assert (answer["state"], answer["exit_code"]) == ("exited", 7)
    assert answer["snapshot"]["stdout_tail"] == "begun"


def test_until_answers_when_its_time_is_over(cli: Cli) -> None:
    answer = cli("run", "--until", "150ms", "--", "sh", "-c", "echo begun; sleep 60")
    assert (answer["state"], answer["waited_ms"]) == ("running", 150)
    assert cli("run", "--wait", "--until", 0.1, "--", "sleep", 60)["waited_ms"] == 100


def test_wait_is_longer_than_the_snapshot(cli: Cli) -> None:
    assert cli("run", "--wait", "--snapshot-after", 1, "--", "sleep", 0.2)["state"] == "exited"


def test_a_call_that_is_interrupted_answers_and_leaves_the_job(cli: Cli) -> None:
    code = "import time; print('ready', flush=True); time.sleep(60)"
    call = subprocess.Popen(
        cli.argv("run", "--wait", "--", *python(code)), stdout=subprocess.PIPE, env=cli.env, cwd=cli.cwd
    )
    wait_until(lambda: [log for log in cli.root.glob("*/stdout.log") if log.stat().st_size])
    call.send_signal(signal.SIGINT)
    out, _ = call.communicate()
    answer = check(out.decode())
    assert (answer["state"], answer["interrupted"], call.returncode) == ("running", True, 0)
    assert answer["snapshot"]["stdout_tail"] == "ready"
    assert cli("status", answer["job_id"])["state"] == "running"


# Terms


@pytest.mark.parametrize(
    ("text", "ms"),
    [("250ms", 250), ("2s", 2000), ("5m", 300_000), ("1h", 3_600_000), ("1d", 86_400_000), ("1500", 1500)],
)
def test_durations_have_units_and_bare_numbers_are_milliseconds(cli: Cli, text: str, ms: int) -> None:
    answer = cli("run", "--no-wait", "--timeout", text, "--kill-after", text, "--", "true")
    status = cli("status", answer["job_id"])
    assert (status["timeout_ms"], status["kill_after_ms"]) == (ms, ms)


def test_a_bare_until_is_in_seconds(cli: Cli) -> None:
    assert cli("run", "--until", "0.05", "--", "sleep", "60")["waited_ms"] == 50


def test_the_terms_of_a_job_have_defaults(cli: Cli) -> None:
    status = cli("status", cli.start("true"))
    assert (status["timeout_ms"], status["kill_after_ms"]) == (None, 2000)
    assert (status["leftovers"], status["max_log_bytes"]) == ("kill", 1 << 30)
    zero = cli("status", cli("run", "--timeout", 0, "--", "true")["job_id"])
    assert (zero["timeout_ms"], zero["state"]) == (None, "exited")


def test_timeout_ends_the_job(cli: Cli) -> None:
    answer = cli("run", "--timeout", 1000, "--", "sh", "-c", "sleep 60 & echo $!; wait")
    assert (answer["state"], answer["timed_out"], answer["reason"]) == ("killed", True, "timeout")
    assert answer["signal"] == "SIGTERM"
    assert not exists(int(answer["stdout"]))
    assert answer.code == 0


@pytest.mark.parametrize("grace", ["0", "10ms"])
def test_kill_after_ends_by_force_what_does_not_heed_the_timeout(cli: Cli, grace: str) -> None:
    words = ("--timeout", "1s", "--kill-after", grace, "--", "sh", "-c", "trap '' TERM; echo ready; sleep 60")
    answer = cli("run", *words)
    assert answer["stdout"] == "ready\n"
    assert (answer["state"], answer["signal"], answer["timed_out"]) == ("killed", "SIGKILL", True)


def test_a_handler_that_leaves_with_0_was_killed_all_the_same(cli: Cli) -> None:
    code = "import signal, sys; signal.signal(15, lambda *_: sys.exit(0)); print('set', flush=True); signal.pause()"
    answer = cli("run", "--timeout", "1s", "--kill-after", "30s", "--wait", "--", *python(code))
    assert answer["snapshot"]["stdout_tail"] == "set"
    assert (answer["state"], answer["exit_code"], answer["signal"]) == ("killed", 0, None)
    assert (answer["timed_out"], answer["reason"]) == (True, "timeout")


def test_cwd_is_the_working_directory(cli: Cli) -> None:
    below = cli.cwd / "below"
    below.mkdir()
    (cli.cwd / "link").symlink_to(below)
    assert cli("run", "--", "pwd")["stdout"] == f"{cli.cwd}\n"
    for cwd in (below, "below", "./below/../below", "link"):
        answer = cli("run", "--cwd", cwd, "--", "pwd", "-P")
        assert answer["stdout"] == f"{below}\n"
        assert cli("status", answer["job_id"])["cwd"] == str(below)


def test_shell_takes_one_line(cli: Cli) -> None:
    answer = cli("run", "--shell", "echo a | tr a b && exit 4")
    assert (answer["stdout"], answer["exit_code"]) == ("b\n", 4)
    plain = cli("run", "--", "echo", "a | tr a b; $HOME")  # without it, no shell looks at the words
    assert plain["stdout"] == "a | tr a b; $HOME\n"


def test_tags_are_kept_in_order_each_once(cli: Cli) -> None:
    answer = cli("run", "--tag", "b.c-1", "--tag", "a", "--tag", "b.c-1", "--", "true")
    assert answer["tags"] == ["b.c-1", "a"]
    assert cli("status", answer["job_id"])["tags"] == ["b.c-1", "a"]
    assert cli("run", "--", "true")["tags"] == []


@pytest.mark.parametrize("tag", ["", "a b", "a..b", ".a", "a/b", "ä", "a.*"])
def test_what_is_no_tag_is_refused(cli: Cli, tag: str) -> None:
    answer = cli("run", "--tag", tag, "--", "touch", cli.cwd / "done")
    assert (answer["error"]["code"], answer["error"]["details"]) == ("invalid_tag", {"tag": tag})
    assert cli("list", "--all")["jobs"] == []
    assert not (cli.cwd / "done").exists()


def test_progress_every_shows_that_a_silent_job_is_watched(cli: Cli) -> None:
    job_id = cli("run", "--no-wait", "--progress-every", "20ms", "--", "sleep", "60")["job_id"]
    first = cli("status", job_id)["updated_at"]
    wait_until(lambda: cli("status", job_id)["updated_at"] > first)


def test_max_log_bytes_keeps_the_first_and_the_last(cli: Cli) -> None:
    answer = cli("run", "--max-log-bytes", 8000, "--tail-lines", 3, "--", "seq", 100_000)
    job_id = answer["job_id"]
    assert answer["state"] == "exited"
    assert answer["snapshot"]["stdout_tail"] == "99998\n99999\n100000"
    assert answer["snapshot"]["stdout_observed_bytes"] == answer["stdout_total_bytes"] == 588_895
    kept = sum(part.stat().st_size for part in cli.folder(job_id).glob("stdout.log*"))
    assert 4000 <= kept <= 8000
    assert answer["stdout_dropped_bytes"] == 588_895 - kept
    assert Path(answer["stdout_log_path"]).read_text().startswith("1\n2\n3\n")
    status = cli("status", job_id)
    assert (status["max_log_bytes"], status["stdout_dropped_bytes"]) == (8000, 588_895 - kept)


def test_no_bound_of_the_logs_keeps_all(cli: Cli) -> None:
    answer = cli("run", "--max-log-bytes", 0, "--", "seq", 100_000)
    assert Path(answer["stdout_log_path"]).stat().st_size == 588_895
    assert "stdout_dropped_bytes" not in answer


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["sh", "-c", "exit 3"], 3),
        (["true"], 0),
        (["sh", "-c", "kill -9 $$"], 137),
        (["no-such-program"], 127),
        (["sleep", "60"], 124),
    ],
)
def test_exit_code_makes_the_job_s_code_ours(cli: Cli, words: list[str], code: int) -> None:
    way = ("--snapshot-after", 100) if code == 124 else ("--wait",)
    assert cli("run", "--exit-code", *way, "--", *words).code == code


def test_what_a_job_leaves_behind_is_ended(cli: Cli) -> None:
    answer = cli("run", "--", "sh", "-c", "sleep 60 >/dev/null 2>&1 & echo $!")
    assert answer["state"] == "exited"
    assert not exists(int(answer["stdout"]))
    assert answer["leaked"] is True
    assert cli("kill", answer["job_id"])["observed_within_ms"] == 0


def test_what_a_job_leaves_behind_lives_on_if_asked(cli: Cli) -> None:
    answer = cli("run", "--leave", "--", "sh", "-c", "sleep 60 & echo $!")
    assert (answer["state"], answer["leaked"]) == ("exited", True)
    (pid,) = pids_of(cli, answer["job_id"], 1)
    assert exists(pid)
    assert cli("status", answer["job_id"])["leftovers"] == "leave"
    cli("kill", answer["job_id"])
    wait_until(lambda: not exists(pid))


# Input


def test_an_open_pipe_on_stdin_does_not_hang(cli: Cli) -> None:
    reader, writer = os.pipe()
    try:
        answer = cli("run", "--wait", "--", "cat", stdin=reader)
    finally:
        os.close(reader)
        os.close(writer)
    assert (answer["state"], answer["stdout"]) == ("exited", "")


@pytest.mark.parametrize("text", ["", "a", "two\nlines\n", "日本"])
def test_stdin_is_the_text(cli: Cli, text: str) -> None:
    assert cli("run", "--stdin", text, "--", "cat")["stdout"] == text


def test_stdin_is_ours_if_asked(cli: Cli) -> None:
    data = bytes(range(256)) * 1000
    answer = cli("run", "--stdin", "-", "--", "cat", input=data)
    assert Path(answer["stdout_log_path"]).read_bytes() == data
    assert cli("run", "--stdin", "-", "--", "cat", input=b"")["stdout"] == ""


def test_stdin_is_a_file(cli: Cli) -> None:
    (cli.cwd / "input").write_text("of a file")
    assert cli("run", "--stdin-file", "input", "--", "cat")["stdout"] == "of a file"
    assert cli("run", "--stdin-file", "/dev/null", "--", "cat")["stdout"] == ""


def test_a_file_of_input_that_cannot_be_read_is_refused(cli: Cli) -> None:
    os.mkfifo(cli.cwd / "pipe")
    for name in ("missing", "pipe", "."):
        answer = cli("run", "--stdin-file", name, "--", "cat")
        assert (answer["error"]["code"], answer["error"]["details"]) == ("invalid_argument", {"path": name})
    assert cli("list", "--all")["jobs"] == []


def test_input_that_is_too_large_is_refused_and_leaves_no_job(cli: Cli) -> None:
    (cli.cwd / "five").write_text("12345")
    for words, data in (
        (("--stdin", "-"), b"12345"),
        (("--stdin", "12345"), None),
        (("--stdin-file", "five"), None),
    ):
        answer = cli("run", *words, "--stdin-max-bytes", 4, "--", "cat", input=data)
        assert (answer["error"]["code"], answer["error"]["details"]) == ("stdin_too_large", {"limit": 4})
        assert answer.code == 1
    assert [entry for entry in cli.root.iterdir() if not entry.name.startswith(".")] == []
    assert cli("run", "--stdin", "-", "--stdin-max-bytes", 4, "--", "cat", input=b"1234")["stdout"] == "1234"


def test_input_is_kept_nowhere(cli: Cli) -> None:
    job_id = cli("run", "--no-wait", "--stdin", "geheim", "--", "sleep", "60")["job_id"]
    for file in cli.root.rglob("*"):
        if file.is_file():
            assert b"geheim" not in file.read_bytes()
    assert cli("status", job_id)["state"] == "running"


# The environment


def test_env_sets_variables_the_last_one_wins(cli: Cli) -> None:
    answer = cli("run", "--env", "A=1", "--env", "B=x=y", "--env", "A=2", "--", "sh", "-c", "echo $A $B")
    assert answer["stdout"] == "2 x=y\n"
    assert answer["env_vars"] == ["A=1", "B=x=y", "A=2"]
    assert cli("status", answer["job_id"])["env_keys"] == ["A", "B"]
    assert "env_vars" not in cli("run", "--", "true")


def test_env_with_a_name_alone_passes_ours_on(cli: Cli) -> None:
    answer = cli("run", "--no-inherit-env", "--env", "OURS", "--", "/usr/bin/env", env={"OURS": "value"})
    assert answer["stdout"] == "OURS=value\n"
    assert answer["env_vars"] == ["OURS=***"]  # nobody wrote it down, so nobody repeats it
    refused = cli("run", "--env", "NOT_THERE", "--", "true")
    assert refused["error"]["code"] == "invalid_argument"
    assert "NOT_THERE" in refused["error"]["message"]


def test_env_files_come_in_order_before_env(cli: Cli) -> None:
    (cli.cwd / "one").write_text("# a comment\n\nA=one\n B = spaced \nC=one=1\r\n")
    (cli.cwd / "two").write_text("C=two\nD='quoted'")
    words = ("--env", "D=given", "--env-file", "one", "--env-file", "two", "--no-inherit-env")
    answer = cli("run", *words, "--", "/usr/bin/env")
    assert sorted(answer["stdout"].splitlines()) == ["A=one", "B=spaced", "C=two", "D=given"]
    assert answer["env_vars"] == ["D=given"]
    assert cli("status", answer["job_id"])["env_keys"] == ["A", "B", "C", "D"]


def test_an_env_file_that_cannot_be_read_is_refused(cli: Cli) -> None:
    (cli.cwd / "bad").write_text("A=1\nnonsense\n")
    missing = cli("run", "--env-file", "missing", "--", "true")
    assert missing["error"]["details"] == {"path": "missing"}
    bad = cli("run", "--env-file", "bad", "--", "true")
    assert bad["error"]["code"] == "invalid_argument"
    assert "line 2" in bad["error"]["message"]
    assert "nonsense" not in bad["error"]["message"]  # it may be a secret
    assert cli("list", "--all")["jobs"] == []


def test_our_variables_are_inherited_unless_forbidden(cli: Cli) -> None:
    for words in ((), ("--inherit-env",)):
        answer = cli("run", *words, "--", "printenv", "OURS", env={"OURS": "here"})
        assert answer["stdout"] == "here\n"
    bare = cli("run", "--no-inherit-env", "--env", "A=1", "--", "/usr/bin/env", env={"OURS": "here"})
    assert bare["stdout"] == "A=1\n"


def test_a_command_knows_whose_job_it_is(cli: Cli) -> None:
    answer = cli("run", "--", "printenv", "AGENT_EXEC_JOB_ID")
    assert answer["stdout"] == f"{answer['job_id']}\n"


def test_a_masked_value_reaches_only_the_command(cli: Cli) -> None:
    words = ("--env", "NAME=geheim", "--mask", "NAME", "--env", "API_TOKEN=geheim", "--env", "OPEN=shown")
    code = 'test "$NAME$API_TOKEN" = geheimgeheim && echo ready && exec sleep 60'
    answer = cli("run", *words, "--snapshot-after", "200ms", "--", "sh", "-c", code)
    job_id = ready(cli, answer["job_id"])
    assert answer["env_vars"] == ["NAME=***", "API_TOKEN=***", "OPEN=shown"]
    assert "geheim" not in str(answer).replace(code, "")
    for file in cli.folder(job_id).iterdir():
        if file.is_file():
            assert b"NAME=geheim" not in file.read_bytes()
            assert b'"geheim' not in file.read_bytes()
    assert not [line for line in processes_marked(job_id).values() if "=geheim" in line.replace(code, "")]


def test_bytes_that_are_no_text_reach_the_command(cli: Cli) -> None:
    name = os.fsdecode(b"a\xff")
    out = cli.raw("run", "--env", f"V={name}", "--", "sh", "-c", 'printf "$V$0"', name)
    job_id = check(out.stdout.decode())["job_id"]
    assert (cli.folder(job_id) / "stdout.log").read_bytes() == b"a\xffa\xff"
    assert cli("status", job_id)["command"][-1] == name


def test_two_jobs_at_once_do_not_meet(cli: Cli) -> None:
    calls = [
        subprocess.Popen(
            cli.argv("run", "--", "echo", number), stdout=subprocess.PIPE, env=cli.env, cwd=cli.cwd
        )
        for number in range(6)
    ]
    told = [check(call.communicate()[0].decode()) for call in calls]
    assert [answer["stdout"] for answer in told] == [f"{number}\n" for number in range(6)]
    assert len({answer["job_id"] for answer in told}) == 6


def test_a_running_job_is_shown_with_what_it_has_said(cli: Cli) -> None:
    with talker(cli) as job:
        job.out(b"half a line")
        answer = cli("wait", job.id, "--until", 0)
    assert (answer["state"], answer["stdout_tail"]) == ("running", "half a line")


def test_input_that_is_closed_is_refused(cli: Cli) -> None:
    closed = ("sh", "-c", '"$0" run --stdin - -- cat <&-', cli.argv()[0])
    out = subprocess.run(closed, capture_output=True, env=cli.env, cwd=cli.cwd, check=False)
    answer = check(out.stdout.decode())
    assert answer["error"]["code"] == "invalid_argument"
    assert cli("list")["jobs"] == []


def test_a_quota_too_small_to_mean_anything_is_refused(cli: Cli) -> None:
    out = cli.raw("run", "--max-log-bytes", 63, "--", "true")
    assert (out.returncode, out.stdout) == (2, b"")
