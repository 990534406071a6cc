"""tail: the end of the output, or what came since a cursor."""

import subprocess
from typing import Any

import pytest

from apps.talker import talker
from cli import Cli, check
from support import wait_until

# The end


def test_tail_of_a_job_that_has_ended(cli: Cli) -> None:
    job_id = cli("run", "--", "sh", "-c", "seq 60; echo error >&2")["job_id"]
    answer = cli("tail", job_id)
    assert (answer["type"], answer["state"]) == ("tail", "exited")
    assert answer["stdout_tail"] == "\n".join(map(str, range(11, 61)))
    assert answer["stdout"] == answer["stdout_tail"] + "\n"
    assert (answer["stderr_tail"], answer["stderr"]) == ("error", "error\n")
    assert (answer["truncated"], answer["encoding"]) == (True, "utf-8-lossy")
    assert (answer["stdout_observed_bytes"], answer["stdout_total_bytes"]) == (171, 171)
    assert answer["stdout_included_bytes"] == len(answer["stdout_tail"])
    assert answer["stdout_range"] == [21, 171]
    assert answer["stdout_log_path"] == str(cli.folder(job_id) / "stdout.log")


@pytest.mark.parametrize("name", ["--tail-lines", "--lines"])
def test_tail_lines(cli: Cli, name: str) -> None:
    job_id = cli("run", "--", "printf", r"1\n2\n\n4")["job_id"]
    assert cli("tail", job_id, name, 1)["stdout_tail"] == "4"
    assert cli("tail", job_id, name, 2)["stdout_tail"] == "\n4"
    assert cli("tail", job_id, name, 4)["truncated"] is False
    assert cli("tail", job_id, name, 0)["stdout_tail"] == "1\n2\n\n4"


def test_max_bytes_cuts_between_characters(cli: Cli) -> None:
    job_id = cli("run", "--", "printf", "aé日😀")["job_id"]
    for size, shown in ((10, "aé日😀"), (9, "é日😀"), (8, "日😀"), (6, "😀"), (4, "😀"), (3, ""), (0, "")):
        answer = cli("tail", job_id, "--max-bytes", size)
        assert answer["stdout_tail"] == shown
        assert answer["stdout_included_bytes"] == len(shown.encode()) <= size
        assert answer["stdout_observed_bytes"] == 10
        assert answer["truncated"] is (shown != "aé日😀")


def test_a_large_log_is_read_from_its_end_in_little_memory(cli: Cli) -> None:
    job_id = cli("run", "--", "echo", "begin")["job_id"]
    with (cli.folder(job_id) / "stdout.log").open("r+b") as log:
        log.truncate(8 << 30)  # a hole that takes no room on the disk
        log.seek(0, 2)
        log.write(b"\nend\n")
    limited = ("sh", "-c", 'ulimit -v 300000; exec "$0" "$@"', *cli.argv("tail", job_id, "--tail-lines", 1))
    out = subprocess.run(limited, capture_output=True, env=cli.env, cwd=cli.cwd, check=False)
    answer = check(out.stdout.decode())
    assert (answer["stdout_tail"], answer["stdout_observed_bytes"]) == ("end", (8 << 30) + 5)


def test_bytes_that_are_no_utf8_are_shown_as_such(cli: Cli) -> None:
    job_id = cli("run", "--", "printf", r"\377a\303\n\355\240\200")["job_id"]
    answer = cli("tail", job_id)
    assert answer["stdout_tail"] == "\ufffda\ufffd\n\ufffd\ufffd\ufffd"
    assert (answer["stdout_included_bytes"], answer["stdout_observed_bytes"]) == (7, 7)


def test_a_character_that_is_not_complete_yet_is_left_for_later(cli: Cli) -> None:
    with talker(cli) as job:
        job.out("日本".encode()[:5])
        first = cli("tail", job.id)
        assert (first["stdout"], first["stdout_range"], first["stdout_observed_bytes"]) == ("日", [0, 3], 5)
        job.out("日本".encode()[5:])
        assert cli("tail", job.id, "--cursor", first["cursor"])["stdout"] == "本"
        job.out("é".encode()[:1])
        job.end()
        assert cli("wait", job.id)["stdout"] == "日本\ufffd"  # now it never will be


# Cursors


def test_a_cursor_gives_only_what_came_since(cli: Cli) -> None:
    with talker(cli) as job:
        job.out(b"one\n")
        first = cli("tail", job.id)
        assert first["stdout"] == "one\n"
        nothing = cli("tail", job.id, "--cursor", first["cursor"])
        assert (nothing["stdout"], nothing["stderr"], nothing["more"]) == ("", "", False)
        assert nothing["cursor"] == first["cursor"]
        job.out(b"two\n")
        job.err(b"error\n")
        second = cli("tail", job.id, "--cursor", first["cursor"])
        assert (second["stdout"], second["stderr"]) == ("two\n", "error\n")
        assert (second["stdout_tail"], second["truncated"]) == ("two", False)
        assert (second["stdout_range"], second["stderr_range"]) == ([4, 8], [0, 6])
        job.out(b"three")
        assert cli("tail", job.id, "--cursor", second["cursor"])["stdout"] == "three"


def test_reading_takes_nothing_away(cli: Cli) -> None:
    answer = cli("run", "--", "seq", 3)
    job_id = answer["job_id"]
    start = f"{answer['cursor'].partition('-')[0]}-0-0"
    readers = [dict(cli("tail", job_id, "--cursor", start)) for _ in range(3)]
    assert readers[0] == readers[1] == readers[2]
    assert readers[0]["stdout"] == "1\n2\n3\n"
    assert dict(cli("tail", job_id)) == dict(cli("tail", job_id))


def test_run_and_wait_give_cursors_too(cli: Cli) -> None:
    with talker(cli) as job:
        job.out(b"one\n")
        waited = cli("wait", job.id, "--until", 0)
        assert waited["stdout"] == "one\n"
        job.out(b"two\n")
        assert cli("tail", job.id, "--cursor", waited["cursor"])["stdout"] == "two\n"
    answer = cli("run", "--", "echo", "one")
    assert answer["stdout"] == "one\n"
    assert cli("tail", answer["job_id"], "--cursor", answer["cursor"])["stdout"] == ""


def test_all_output_is_read_piece_by_piece(cli: Cli) -> None:
    text = "".join(f"{number} 日é\n" for number in range(300))
    (cli.cwd / "text").write_text(text)
    answer = cli("run", "--", "sh", "-c", "cat text; cat text >&2")
    cursor = f"{answer['cursor'].partition('-')[0]}-0-0"
    read = {"stdout": "", "stderr": ""}
    more = True
    while more:
        piece = cli("tail", answer["job_id"], "--cursor", cursor, "--max-bytes", 1000)
        assert piece["stdout_included_bytes"] <= 1000
        for stream in read:
            read[stream] += piece[stream]
        more, cursor = piece["more"], piece["cursor"]
        assert piece["truncated"] is more
    assert read == {"stdout": text, "stderr": text}
    assert cursor == answer["cursor"]


def test_the_cursor_of_another_job_is_refused(cli: Cli) -> None:
    one, two = (cli("run", "--", "echo", "x") for _ in range(2))
    answer = cli("tail", one["job_id"], "--cursor", two["cursor"])
    assert answer["error"]["code"] == "invalid_argument"
    assert answer["error"]["details"] == {"cursor": two["cursor"]}
    assert answer.code == 1


@pytest.mark.parametrize(
    "garbage", ["", "x", "0", "-", "--", "a-b-c", "{id}", "{id}-1", "{id}-1-2-3", "{id}-z-0"]
)
def test_garbage_is_no_cursor(cli: Cli, garbage: str) -> None:
    answer = cli("run", "--", "echo", "x")
    cursor = garbage.replace("{id}", answer["cursor"].partition("-")[0])
    assert cli("tail", answer["job_id"], f"--cursor={cursor}")["error"]["code"] == "invalid_argument"


def test_a_cursor_reports_dropped_output(cli: Cli) -> None:
    answer = cli("run", "--max-log-bytes", 8000, "--", "seq", 20_000)
    job_id = answer["job_id"]
    cursor = f"{answer['cursor'].partition('-')[0]}-0-0"
    read, skipped, more = "", 0, True
    while more:
        piece = cli("tail", job_id, "--cursor", cursor)
        read += piece["stdout"]
        skipped += piece.get("stdout_skipped_bytes", 0)
        more, cursor = piece["more"], piece["cursor"]
    assert skipped == answer["stdout_dropped_bytes"] > 0
    assert len(read) + skipped == answer["stdout_total_bytes"]
    assert read.startswith("1\n2\n")
    assert read.endswith("19999\n20000\n")


# Both streams in order


def texts(answer: dict[str, Any]) -> list[tuple[str, str]]:
    return [(piece["stream"], piece["text"]) for piece in answer["merged"]]


def test_merged_is_in_the_order_of_arrival(cli: Cli) -> None:
    with talker(cli) as job:
        job.out(b"1\n")
        job.err(b"2\n")
        job.out(b"3\n")
        job.err(b"4 ")
        job.err(b"5\n")
        answer = cli("tail", job.id, "--merged")
        started = cli("status", job.id)["started_at"]
        job.end()
        finished = cli("wait", job.id)["finished_at"]
    joined = [(stream, text) for stream, text in texts(answer) if stream == "stderr" and text[0] in "45"]
    assert "".join(text for _, text in joined) == "4 5\n"
    assert texts(answer)[:3] == [("stdout", "1\n"), ("stderr", "2\n"), ("stdout", "3\n")]
    times = [piece["time"] for piece in answer["merged"]]
    assert times == sorted(times)
    assert started <= times[0]
    assert times[-1] <= finished
    assert (answer["stdout_included_bytes"], answer["stderr_included_bytes"]) == (3, 5)
    assert "stdout_tail" not in answer
    assert "stdout" not in answer


def test_merged_goes_on_from_a_cursor(cli: Cli) -> None:
    with talker(cli) as job:
        job.out(b"1\n")
        first = cli("tail", job.id, "--merged")
        job.err(b"2\n")
        job.out(b"3\n")
        second = cli("tail", job.id, "--merged", "--cursor", first["cursor"])
        assert texts(second) == [("stderr", "2\n"), ("stdout", "3\n")]
        third = cli("tail", job.id, "--merged", "--cursor", second["cursor"])
        assert (third["merged"], third["more"]) == ([], False)


def test_merged_shows_the_last_lines_of_both_together(cli: Cli) -> None:
    with talker(cli) as job:
        job.out(b"1\n2\n")
        job.err(b"3\n4\n")
        job.out(b"5\n")
        assert texts(cli("tail", job.id, "--merged", "--tail-lines", 2)) == [
            ("stderr", "4\n"),
            ("stdout", "5\n"),
        ]
        everything = cli("tail", job.id, "--merged", "--tail-lines", 0)
        assert texts(everything) == [("stdout", "1\n2\n"), ("stderr", "3\n4\n"), ("stdout", "5\n")]


def test_merged_keeps_characters_whole(cli: Cli) -> None:
    with talker(cli) as job:
        job.out("日".encode()[:1])
        job.err(b"e\n")
        job.out("日".encode()[1:])
        answer = cli("tail", job.id, "--merged")
    assert texts(answer) == [("stderr", "e\n"), ("stdout", "日")]


def test_no_byte_is_stored_twice(cli: Cli) -> None:
    job_id = cli("run", "--", "sh", "-c", "seq 20000; seq 20000 >&2")["job_id"]
    stored = sum(file.stat().st_size for file in cli.folder(job_id).iterdir() if file.is_file())
    assert stored < 1.2 * 2 * 108_894
    assert cli("tail", job_id, "--merged")["merged"]


# Search


def test_grep_shows_only_lines_that_match(cli: Cli) -> None:
    code = "printf 'an error\\nfine\\nError: 日本\\nlast'; echo 'no error' >&2"
    job_id = cli("run", "--", "sh", "-c", code)["job_id"]
    answer = cli("tail", job_id, "--grep", "[eE]rror")
    assert answer["stdout_tail"] == "an error\nError: 日本"
    assert answer["stderr_tail"] == "no error"
    assert answer["grep"] == {"pattern": "[eE]rror", "stdout_matches": 2, "stderr_matches": 1}
    assert (answer["stdout_included_bytes"], answer["stdout_observed_bytes"]) == (22, 32)
    assert cli("tail", job_id, "--grep", "本$")["stdout_tail"] == "Error: 日本"
    assert cli("tail", job_id, "--grep", "^last$")["stdout_tail"] == "last"
    nothing = cli("tail", job_id, "--grep", "nowhere")
    assert (nothing["ok"], nothing["stdout_tail"], nothing["grep"]["stdout_matches"]) == (True, "", 0)


def test_grep_finds_what_the_tail_does_not_show(cli: Cli) -> None:
    job_id = cli("run", "--", "sh", "-c", "echo needle; seq 100000")["job_id"]
    assert "needle" not in cli("tail", job_id)["stdout_tail"]
    answer = cli("tail", job_id, "--grep", "needle")
    assert (answer["stdout_tail"], answer["truncated"]) == ("needle", False)


def test_grep_shows_the_last_matches(cli: Cli) -> None:
    job_id = cli("run", "--", "seq", 100)["job_id"]
    lines = cli("tail", job_id, "--grep", "9", "--tail-lines", 2)
    assert (lines["stdout_tail"], lines["truncated"]) == ("98\n99", True)
    size = cli("tail", job_id, "--grep", "9", "--max-bytes", 6)
    assert (size["stdout_tail"], size["truncated"]) == ("98\n99", True)


def test_grep_goes_on_from_a_cursor(cli: Cli) -> None:
    with talker(cli) as job:
        job.out(b"error 1\n")
        first = cli("tail", job.id, "--grep", "error")
        assert first["stdout_tail"] == "error 1"
        job.out(b"fine\nerror 2\n")
        second = cli("tail", job.id, "--grep", "error", "--cursor", first["cursor"])
        assert (second["stdout_tail"], second["grep"]["stdout_matches"]) == ("error 2", 1)
        third = cli("tail", job.id, "--grep", "error", "--cursor", second["cursor"])
        assert (third["stdout_tail"], third["grep"]["stdout_matches"]) == ("", 0)


def test_what_is_no_regular_expression_is_refused(cli: Cli) -> None:
    job_id = cli("run", "--", "true")["job_id"]
    answer = cli("tail", job_id, "--grep", "(")
    assert (answer["error"]["code"], answer["error"]["details"]) == ("invalid_argument", {"pattern": "("})
    assert answer.code == 1


def test_the_tail_of_a_command_that_never_ran_is_empty(cli: Cli) -> None:
    job_id = cli("run", "--", "no-such-program")["job_id"]
    answer = cli("tail", job_id)
    assert (answer["state"], answer["stdout"], answer["stderr"]) == ("failed", "", "")


def test_the_tail_grows_while_the_job_runs(cli: Cli) -> None:
    job_id = cli.start("sh", "-c", "for i in 1 2 3; do echo $i; sleep 0.05; done; sleep 60")
    wait_until(lambda: cli("tail", job_id)["stdout_tail"] == "1\n2\n3")


def test_a_cursor_takes_lines_from_the_oldest_on(cli: Cli) -> None:
    job_id = cli("run", "--", "seq", "5")["job_id"]
    cursor = f"{job_id[-10:]}-0-0"
    answer = cli("tail", job_id, "--cursor", cursor, "--tail-lines", 2)
    assert (answer["stdout"], answer["more"]) == ("1\n2\n", True)
    answer = cli("tail", job_id, "--cursor", answer["cursor"])
    assert (answer["stdout"], answer["more"]) == ("3\n4\n5\n", False)


def test_a_search_from_a_cursor_waits_for_the_whole_line(cli: Cli) -> None:
    with talker(cli) as job:
        job.out(b"first error\nan err")
        answer = cli("tail", job.id, "--grep", "error")
        assert answer["stdout_tail"] == "first error"
        job.out(b"or\nnothing\n")
        answer = cli("tail", job.id, "--grep", "error", "--cursor", answer["cursor"])
        assert answer["stdout_tail"] == "an error"
        answer = cli("tail", job.id, "--grep", "error", "--cursor", answer["cursor"])
        assert (answer["stdout_tail"], answer["more"]) == ("", False)
        job.out(b"error at the very end")
        job.end()
        cli("wait", job.id)
        answer = cli("tail", job.id, "--grep", "error", "--cursor", answer["cursor"])
        assert answer["stdout_tail"] == "error at the very end"


def test_a_search_from_a_cursor_goes_on_where_it_stopped(cli: Cli) -> None:
    job_id = cli("run", "--", "seq", "100")["job_id"]
    cursor = f"{job_id[-10:]}-0-0"
    seen: list[str] = []
    for _ in range(10):
        answer = cli("tail", job_id, "--grep", "5", "--cursor", cursor, "--tail-lines", 4)
        seen += answer["stdout_tail"].split()
        cursor = answer["cursor"]
        if not answer["more"]:
            break
    assert seen == [str(n) for n in range(101) if "5" in str(n)]


def test_empty_lines_can_be_searched_for(cli: Cli) -> None:
    job_id = cli("run", "--", "printf", r"a\n\nb\n\n")["job_id"]
    answer = cli("tail", job_id, "--grep", "^$")
    assert (answer["grep"]["stdout_matches"], answer["stdout_tail"]) == (2, "\n")


def test_a_match_that_is_too_long_is_cut_and_passed(cli: Cli) -> None:
    job_id = cli("run", "--", "sh", "-c", "echo x1; printf 'x%01000d\\n' 2; echo x3")["job_id"]
    answer = cli("tail", job_id, "--grep", "x", "--max-bytes", 100)
    assert answer["stdout_tail"] == "x3"
    cursor, seen = f"{job_id[-10:]}-0-0", []
    for _ in range(9):
        answer = cli("tail", job_id, "--grep", "x", "--cursor", cursor, "--max-bytes", 100)
        seen += answer["stdout_tail"].split()
        cursor = answer["cursor"]
        if not answer["more"]:
            break
    assert seen == ["x1", "x" + "0" * 98, "x3"]


def test_merged_says_what_it_leaves_out(cli: Cli) -> None:
    job_id = cli("run", "--", "sh", "-c", "seq 40; seq 41 80 >&2")["job_id"]
    answer = cli("tail", job_id, "--merged")
    text = "".join(entry["text"] for entry in answer["merged"])
    assert len(text.splitlines()) == 50
    assert answer["truncated"] is True
    shown = answer["stdout_included_bytes"] + answer["stderr_included_bytes"]
    assert shown == len(text) - 2, "all but the last newline of each stream"
    assert answer["stdout_range"][0] > 0
