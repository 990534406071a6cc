"""What nobody in their right mind does."""

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from agent_exec.faces.oneshot.kit import Toolkit
from faces.oneshot.seen import code, data
from support import exists, peak_memory, python, wait_until

if TYPE_CHECKING:
    from agent_exec.model.choices import ShellMode


def test_a_hundred_threads_at_once(kit: Toolkit, root: Path) -> None:
    answers: dict[int, Any] = {}

    def call(number: int) -> None:
        modes: tuple[ShellMode, ShellMode] = ("default", "direct")
        mode = modes[number % 2]
        answers[number] = kit.exec_command("src", ["printf", f"{number}"], shell_mode=mode, stdin="x")

    threads = [threading.Thread(target=call, args=(number,)) for number in range(100)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {number: data(answer)["stdout"] for number, answer in answers.items()} == {
        number: str(number) for number in range(100)
    }


def test_a_directory_that_goes_away_in_the_last_moment(kit: Toolkit, root: Path) -> None:
    """Between the check and the run: it runs, or it is said; nothing in between."""
    folder = root / "gone"
    stop = threading.Event()

    def disturb() -> None:
        while not stop.is_set():
            folder.mkdir(exist_ok=True)
            shutil.rmtree(folder)

    thread = threading.Thread(target=disturb)
    thread.start()
    try:
        for _ in range(100):
            answer = kit.exec_command("gone", ["true"], shell_mode="direct")
            assert answer["status"] == "success" or code(answer) == "NOT_DIRECTORY"
    finally:
        stop.set()
        thread.join()


def test_memory_is_bounded_for_any_input(kit: Toolkit) -> None:
    data(kit.exec_command(".", ["true"]))
    before = peak_memory()
    flood = "import os\nfor _ in range(4000): os.write(1, b'\\xf0\\x9f\\x98\\x80' * 25_000)"
    found = data(kit.exec_command(".", python(flood), timeout_ms=60_000, max_output_chars=1000))
    assert (found["exit_code"], found["stdout"]) == (0, "😀" * 1000)
    assert peak_memory() - before < 64 << 20


def test_both_streams_of_rubbish(kit: Toolkit) -> None:
    """Random bytes on both streams: what can be read is, and the length is exact."""
    import random

    rubbish = random.Random(5).randbytes(300_000)
    code_ = "import random, os\nr = random.Random(5).randbytes(300_000)\nos.write(1, r)\nos.write(2, r)"
    found = data(kit.exec_command(".", python(code_), max_output_chars=1_000_000))
    assert found["stdout"] == found["stderr"] == rubbish.decode("utf-8", "replace")
    assert not found["stdout_truncated"]
    found = data(kit.exec_command(".", python(code_), max_output_chars=100_000))
    assert found["stdout"] == rubbish.decode("utf-8", "replace")[:100_000]
    assert found["stdout_truncated"]


def test_a_flood_until_the_time_is_over(kit: Toolkit) -> None:
    began = time.monotonic()
    found = data(kit.exec_command(".", ["sh", "-c", "trap '' TERM; yes & yes >&2"], timeout_ms=500))
    assert time.monotonic() - began < 0.5 + 0.5 + 10
    assert (found["timed_out"], found["exit_code"]) == (True, 124)
    assert found["stdout"] == "y\n" * 100_000
    assert found["stdout_truncated"]


def test_a_command_that_stops_itself_is_ended_too(kit: Toolkit) -> None:
    found = data(
        kit.exec_command(".", ["sh", "-c", "echo $$; kill -STOP $$"], timeout_ms=500, shell_mode="direct")
    )
    assert (found["timed_out"], found["exit_code"]) == (True, 124)
    assert not exists(int(found["stdout"]))


def test_a_directory_that_may_not_be_entered(kit: Toolkit, root: Path) -> None:
    (root / "closed").mkdir(mode=0)
    answer = kit.exec_command("closed", ["true"])
    if os.geteuid() == 0:
        assert data(answer)["exit_code"] == 0, "root enters everywhere"
    else:
        assert code(answer) == "NOT_DIRECTORY"


def test_a_pipe_and_a_device_are_no_directories(kit: Toolkit, root: Path) -> None:
    os.mkfifo(root / "pipe")
    assert code(kit.exec_command("pipe", ["true"])) == "NOT_DIRECTORY"


def test_a_directory_with_an_unreadable_name(kit: Toolkit, root: Path) -> None:
    os.mkdir(os.fsencode(root) + b"/\xff\xfe")
    found = data(kit.exec_command("\udcff\udcfe", ["pwd"]))
    assert found["cwd"] == f"{root}/\udcff\udcfe"
    (root / "new\nline 'x' $y").mkdir()
    assert data(kit.exec_command("new\nline 'x' $y", ["pwd"]))["stdout"] == f"{root}/new\nline 'x' $y\n"


def test_an_interrupt_during_the_run_passes_and_leaves_nothing(kit: Toolkit, root: Path) -> None:
    """A real KeyboardInterrupt in the calling thread."""
    main = threading.main_thread()
    assert threading.current_thread() is main
    file = root / "pid"

    def interrupt() -> None:
        wait_until(lambda: file.exists() and file.read_text().endswith("\n"))
        signal.pthread_kill(main.ident or 0, signal.SIGINT)

    sender = threading.Thread(target=interrupt)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        sender.start()
        with pytest.raises(KeyboardInterrupt):
            kit.exec_command(".", ["sh", "-c", "echo $$ > pid; sleep 600"])
    finally:
        sender.join()
        signal.signal(signal.SIGINT, before)
    assert not exists(int(file.read_text()))
    assert data(kit.exec_command(".", ["true"]))["exit_code"] == 0


def test_answers_can_be_written_as_json(kit: Toolkit) -> None:
    import json

    for answer in (
        kit.exec_command(".", ["printf", "\\377"]),
        kit.exec_command("..", ["true"]),
        kit.exec_command(".", ["nothing"], shell_mode="direct"),
        kit.exec_command("missing", ["true"]),
        kit.invoke("exec_command", {"cwd": ".", "command": ["true"], "x": object()}),
        kit.invoke("nothing", {}),
    ):
        assert json.loads(json.dumps(answer)) == answer


def test_without_descriptors_it_is_said_and_nothing_is_lost(root: Path) -> None:
    """In a process of its own, for it takes them all."""
    code_ = f"""
import os, resource
from agent_exec.faces.oneshot.kit import create_agent_toolkit
kit = create_agent_toolkit({str(root)!r}, {{"default_policy": "allow"}})
before = kit.exec_command(".", ["true"])
resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
held = []
try:
    while True:
        held.append(os.open("/dev/null", os.O_RDONLY))
except OSError:
    pass
full = kit.exec_command(".", ["true"])
for fd in held:
    os.close(fd)
after = kit.exec_command(".", ["true"])
print(before["status"], full["status"], full["error"]["code"], after["status"])
"""
    out = subprocess.run([sys.executable, "-c", code_], capture_output=True, text=True, check=False)
    assert (out.stdout, out.stderr) == ("success failure INTERNAL success\n", "")


def test_a_link_that_is_turned_all_the_time(kit: Toolkit, root: Path) -> None:
    """It is followed once: the command runs inside, or not at all."""
    outside = root.parent / "outside"
    outside.mkdir()
    stop = threading.Event()

    def turn() -> None:
        while not stop.is_set():
            for target in (root / "src", outside):
                (root / "next").symlink_to(target)
                (root / "next").replace(root / "turning")

    thread = threading.Thread(target=turn)
    (root / "turning").symlink_to("src")
    thread.start()
    try:
        for _ in range(200):
            answer = kit.exec_command("turning", ["pwd", "-P"])
            if answer["status"] == "success":
                assert data(answer)["stdout"] == f"{root / 'src'}\n"
            else:
                assert code(answer) == "SANDBOX_VIOLATION"
    finally:
        stop.set()
        thread.join()


def test_long_names_do_not_make_long_answers(kit: Toolkit) -> None:
    assert len(kit.invoke("x" * 1_000_000, {})["message"]) < 300
    assert len(kit.exec_command(".", "x" * 1_000_000)["message"]) < 300
