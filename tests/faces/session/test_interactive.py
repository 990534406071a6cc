"""Programs on a terminal: when they wait for input is seen by what the kernel shows, and never guessed.

The issue's first betterment; what the kernel shows is in feasibility.md §11.
"""

import shutil
import sys
from pathlib import Path
from shlex import quote

import pytest

from faces.session.calling import Caller
from support import processes_marked, wait_until

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux shows what a process waits for")
PYTHON = f"{quote(sys.executable)} -IS"


def script(code: str) -> str:
    return f"{PYTHON} -c {quote(code)}"


needs = {
    name: pytest.mark.skipif(shutil.which(name) is None, reason=f"{name} is not installed")
    for name in ("node", "vim", "less", "zsh")
}


@pytest.mark.parametrize(
    ("cmd", "evidence", "echo", "output"),
    [
        pytest.param("cat", "exact", True, "", id="cat"),
        pytest.param("cat | cat", "exact", True, "", id="pipeline"),
        pytest.param("PS1='$ ' exec bash --norc -i", "likely", True, "$ ", id="bash"),
        pytest.param("PS1='z> ' zsh -f -i", "exact", True, "z> ", id="zsh", marks=needs["zsh"]),
        pytest.param(f"{quote(sys.executable)} -q", "likely", True, ">>> ", id="python"),
        pytest.param("node -i", "likely", True, "> ", id="node", marks=needs["node"]),
        pytest.param("read -p 'Name: ' x", "exact", True, "Name: ", id="read"),
        pytest.param("read -s -p 'Password: ' x", "exact", False, "Password: ", id="secret"),
        pytest.param(
            script("import getpass; getpass.getpass('[sudo] password: ')"),
            "exact",
            False,
            "[sudo] password: ",
            id="getpass",
        ),
        pytest.param(script("input('> ')"), "exact", True, "> ", id="input"),
        pytest.param(
            script(
                "import select, sys; print('more?', end='', flush=True); select.select([sys.stdin], [], [])"
            ),
            "likely",
            True,
            "more?",
            id="select",
        ),
        pytest.param(
            script(
                "import select; print('ok? ', end='', flush=True)\n"
                "p = select.poll(); p.register(0, 1); p.poll()"
            ),
            "likely",
            True,
            "ok? ",
            id="poll",
        ),
        pytest.param(
            script(
                "import select; print('ok? ', end='', flush=True)\n"
                "p = select.epoll(); p.register(0, select.EPOLLIN); p.poll()"
            ),
            "likely",
            True,
            "ok? ",
            id="epoll",
        ),
        pytest.param(
            script("import threading; threading.Thread(target=threading.Event().wait).start(); input('t> ')"),
            "exact",
            True,
            "t> ",
            id="threads",
        ),
        pytest.param("read x < /dev/tty", "exact", True, "", id="controlling-terminal"),
    ],
)
def test_waiting_for_input(call: Caller, cmd: str, evidence: str, echo: bool, output: str) -> None:
    """Issue 6, better 1; feasibility.md §11."""
    told = call.run(cmd, tty=True, yield_time_ms=20_000)
    assert (told["awaiting_input"], told["evidence"], told["echo"]) == (True, evidence, echo)
    assert told["output"].endswith(output)


@pytest.mark.parametrize(("cmd", "seen"), [("less file", "line 1"), ("vim -u NONE -N file", "line 1")])
def test_full_screens_wait(call: Caller, work: Path, cmd: str, seen: str) -> None:
    """Issue 6, better 1 and 4: less and vim, on their screens."""
    if shutil.which(cmd.split(maxsplit=1)[0]) is None:
        pytest.skip("not installed")
    (work / "file").write_text("".join(f"line {at}\n" for at in range(1, 101)))
    told = call.run(cmd, tty=True, render="screen", yield_time_ms=20_000)
    assert told["awaiting_input"]
    assert seen in told["output"]
    assert len(told["output"].splitlines()) <= 24
    told = call.type(told["session_id"], "G", yield_time_ms=20_000)
    assert "line 100" in told["output"]
    assert "line 1\n" not in told["output"]
    assert "\x1b" not in told["output"]
    leave = ":q!\r" if cmd.startswith("vim") else "q"
    assert call.type(told["session_id"], leave, wait_for="exit", yield_time_ms=20_000)["exit_code"] == 0


BUSY = "while True: pass"
SLOW = "import time; print('Working... ', end='', flush=True); time.sleep(600)"
SOCKET = """
import select, socket
a, b = socket.socketpair()
print('Downloading: 10%', end='', flush=True)
p = select.poll(); p.register(a, select.POLLIN); p.poll()
"""
CHILD = "import subprocess; print('building ', end='', flush=True); subprocess.run(['sleep', '600'])"
STOPPED = "import os, signal; print('x', end='', flush=True); os.kill(0, signal.SIGSTOP); input()"
RAW_AND_BUSY = """
import os, select, tty
tty.setraw(0)
if os.fork() == 0:
    while True: pass
print('x', end='', flush=True)
select.select([0], [], [])
"""
BUSY_THREAD = "import threading\ndef f():\n while True: pass\nthreading.Thread(target=f).start()\ninput('> ')"
COOKED_POLL = "import select; print('serving', flush=True); select.select([0], [], [])"
WRITES_ONLY = "import select; print('x', end='', flush=True); p = select.poll(); p.register(0, 0); p.poll()"
OUT_OF_FRONT = """
import os
if os.fork() == 0:
    os.setpgid(0, 0)
    os.read(0, 1)
print('x', end='', flush=True)
os.wait()
"""
OWN_SESSION = """
import os, time
if os.fork() == 0:
    os.setsid()
    os.read(0, 1)
print('x', end='', flush=True)
time.sleep(600)
"""
READS_A_PIPE = "import os; r, w = os.pipe(); print('x', end='', flush=True); os.read(r, 1)"


@pytest.mark.parametrize(
    "cmd",
    [
        pytest.param("sleep 600", id="sleep"),
        pytest.param("printf 'Password: '; sleep 600", id="sleep-after-prompt"),
        pytest.param(script(BUSY), id="busy"),
        pytest.param(f"{PYTHON} -m http.server --bind 127.0.0.1 0", id="server"),
        pytest.param(script(SLOW), id="slow"),
        pytest.param(script(SOCKET), id="socket"),
        pytest.param(script(CHILD), id="child"),
        pytest.param(script(STOPPED), id="stopped"),
        pytest.param(script(RAW_AND_BUSY), id="raw-and-busy"),
        pytest.param(script(BUSY_THREAD), id="busy-thread"),
        pytest.param(script(COOKED_POLL), id="cooked-poll"),
        pytest.param(script(WRITES_ONLY), id="poll-for-nothing"),
        pytest.param(script(OUT_OF_FRONT), id="reader-in-the-background"),
        pytest.param(script(OWN_SESSION), id="reader-of-another-session"),
        pytest.param(script(READS_A_PIPE), id="reads-a-pipe"),
        pytest.param("sleep 600 | cat", id="pipeline-of-a-sleeper"),
    ],
)
def test_not_waiting_for_input(call: Caller, cmd: str) -> None:
    """Issue 6, better 1: a busy or merely slow program is never called waiting."""
    told = call.run(cmd, tty=True, yield_time_ms=700)
    assert "session_id" in told
    assert not told.get("awaiting_input")
    assert (
        "Process is waiting for input"
        not in call("write_stdin", session_id=told["session_id"], chars="", wait_for="idle:1").text
    )


OTHER_TERMINAL = "import os; m, s = os.openpty(); print('x', end='', flush=True); os.read(s, 1)"


def test_a_reader_of_another_terminal_does_not_wait_for_us(call: Caller) -> None:
    """Issue 6, better 1: blocked in read on *the* terminal."""
    assert not call.run(script(OTHER_TERMINAL), tty=True, yield_time_ms=500).get("awaiting_input")


def test_a_relay_does_not_wait(call: Caller) -> None:
    """Issue 6, better 1: what script, ssh, sudo and docker do, a terminal that is passed on to another."""
    code = "import pty; pty.spawn(['sleep', '600'])"
    assert not call.run(script(code), tty=True, yield_time_ms=500).get("awaiting_input")


def test_an_orphan_of_the_group_is_busy(call: Caller) -> None:
    """Issue 6, better 1: every running process of the foreground group is asleep."""
    number = call.asked("exec bash --norc --noprofile -i")
    busy = "sh -c '(while :; do :; done &) ; exec cat'\n"
    assert not call.type(number, busy, yield_time_ms=500).get("awaiting_input")


def test_pipes_never_wait_for_input(call: Caller) -> None:
    """Reference §1.1: without a terminal, stdin is empty."""
    assert call.run("cat; read x; echo $?")["output"] == "1\n"


def test_two_thousand_round_trips(call: Caller) -> None:
    """Issue 6, better 1: every answer holds the whole answer, and the prompt."""
    number = call.asked("exec bash --norc --noprofile -i")
    call.type(number, "PS1='ready> '; bind 'set enable-bracketed-paste off'\n")
    for at in range(2000):
        told = call.type(number, f"echo $(({at}+1))\n", yield_time_ms=20_000)
        assert told["output"] == f"echo $(({at}+1))\n{at + 1}\nready> "
        assert told["awaiting_input"]


def test_round_trips_while_others_work(call: Caller) -> None:
    """Issue 6, better 1: also on a machine that has other work to do."""
    for _ in range(3):
        call.background("while :; do :; done")
    number = call.asked(f"{PYTHON} -q")
    for at in range(100):
        told = call.type(number, f"{at}+1\n", yield_time_ms=20_000)
        assert told["output"] == f"{at}+1\n{at + 1}\n>>> "


def test_a_conversation(call: Caller) -> None:
    """Issue 6, done when: start a REPL, type, get answers, interrupt a loop, end it."""
    number = call.asked(f"{PYTHON} -q")
    assert call.type(number, "1+1\n")["output"] == "1+1\n2\n>>> "
    told = call.type(number, "while True: pass\n\n", yield_time_ms=250)
    assert not told.get("awaiting_input")
    told = call.type(number, "\x03", yield_time_ms=20_000)
    assert "KeyboardInterrupt" in told["output"]
    assert told["output"].endswith(">>> ")
    assert call.type(number, "raise SystemExit(7)\n", wait_for="exit", yield_time_ms=20_000)["exit_code"] == 7


def test_end_of_input_by_key_and_by_tool(call: Caller) -> None:
    """Reference §1.13: ^D is the end of input on a terminal."""
    told = call.type(call.asked("cat; echo done"), "a\n\x04", wait_for="exit", yield_time_ms=20_000)
    assert (told["exit_code"], told["output"]) == (0, "a\na\ndone\n")
    number = call.asked("cat; echo done")
    call.type(number, "half")
    assert call.told("close_stdin", session_id=number)["session_id"] == number
    told = call.type(number, "", wait_for="exit")
    assert told["exit_code"] == 0
    assert told["output"].endswith("done\n")


def test_interrupt_by_key(call: Caller) -> None:
    """Reference §1.13: ^C reaches the line discipline."""
    told = call.type(call.background("sleep 600", tty=True), "\x03", wait_for="exit", yield_time_ms=20_000)
    assert told["exit_code"] == 130
    number = call.background("trap 'echo caught; exit 5' INT; while :; do sleep 0.01; done", tty=True)
    told = call.type(number, "\x03", wait_for="exit", yield_time_ms=20_000)
    assert told["exit_code"] == 5
    assert "caught" in told["output"]


def test_bytes_arrive_as_they_were_typed(call: Caller, work: Path) -> None:
    """Reference §1.13: bytes are written raw."""
    everything = "".join(map(chr, range(1, 128))) + "é€😀\x1b[A" + "\udcff"
    data = everything.encode("utf-8", "surrogateescape")
    number = call.asked(
        script(
            f"import os, tty; tty.setraw(0); print('?', end='', flush=True); d = b''\n"
            f"while len(d) < {len(data)}: d += os.read(0, 1000)\n"
            "open('typed', 'wb').write(d)"
        )
    )
    assert call.type(number, everything, wait_for="exit", yield_time_ms=20_000)["exit_code"] == 0
    assert (work / "typed").read_bytes() == data


def test_named_keys(call: Caller, work: Path) -> None:
    """Issue 6, better 3: named keys."""
    number = call.asked(
        script(
            "import os, tty; tty.setraw(0); print('?', end='', flush=True); d = b''\n"
            "while not d.endswith(b'.'): d += os.read(0, 1000)\n"
            "open('typed', 'wb').write(d)"
        )
    )
    call.type(number, "<C-c><Up><Enter>.", keys=True, wait_for="exit", yield_time_ms=20_000)
    assert (work / "typed").read_bytes() == b"\x03\x1b[A\r."
    assert "write_stdin failed" in call.refused("write_stdin", session_id=number, chars="<Nope>", keys=True)


def test_much_is_typed_at_once(call: Caller) -> None:
    """Issue 6, better 1: nobody waits while we still have something to type."""
    size = 300_000
    number = call.asked(
        script(
            "import os, tty; tty.setraw(0); print('?', end='', flush=True); n = 0\n"
            f"while n < {size}: n += len(os.read(0, 100000))\n"
            "print('\\r\\nall', n, flush=True); os.read(0, 1)"
        )
    )
    told = call.type(number, "x" * size, yield_time_ms=20_000)
    assert f"all {size}" in told["output"]


def test_typing_to_a_flood(call: Caller) -> None:
    """Issue 6, done when: floods."""
    number = call.background("yes", tty=True, max_output_tokens=100)
    told = call.type(number, "hello\n", max_output_tokens=100, yield_time_ms=250)
    assert not told.get("awaiting_input")
    told = call.type(number, "\x03", wait_for="exit", max_output_tokens=100, yield_time_ms=20_000)
    assert told["exit_code"] == 130


def test_a_password_is_not_shown(call: Caller) -> None:
    """Issue 6, better 1: secret prompts are recognised by echo that is off."""
    result = call("exec_command", cmd="read -s -p 'Password: ' x; echo; echo ${#x}", tty=True)
    assert "Note: what is typed now is not echoed" in result.text
    assert result.structured is not None
    told = call.type(result.structured["session_id"], "hunter2\n", wait_for="exit", yield_time_ms=20_000)
    assert told["output"].strip() == "7"


def test_the_size_of_the_terminal(call: Caller) -> None:
    """Reference §1.8: 24 by 80; issue 6, better 3: resize."""
    number = call.asked("stty size; while read x; do stty size; done")
    assert call.told("read_output", session_id=number)["output"] == "24 80\r\n"
    assert call.told("resize", session_id=number, rows=50, columns=132)["session_id"] == number
    wait_until(lambda: "50 132\n" in call.type(number, "\n")["output"])
    assert call.run("stty size", tty=True, rows=3, columns=7)["output"] == "3 7\n"


def test_a_program_that_closes_its_terminal(call: Caller) -> None:
    """Issue 6: whatever a program does, calls are answered."""
    told = call.run(
        script("import os, time; os.closerange(0, 3); time.sleep(600)"), tty=True, yield_time_ms=250
    )
    number = told["session_id"]
    assert call.type(number, "x\n", yield_time_ms=250)["session_id"] == number
    assert call.told("kill_session", session_id=number)["exit_code"] == 143


def test_a_program_that_leaves_its_terminal(call: Caller, nothing_left: str) -> None:
    """Reference §3, and better: also who has a session of its own ends with the session."""
    code = (
        "import os, time\nif os.fork() == 0:\n os.setsid()\n if os.fork() == 0: time.sleep(600)\n os._exit(0)"
    )
    told = call.run(script(code) + "; cat", tty=True, yield_time_ms=20_000)
    number = told["session_id"]
    call.told("kill_session", session_id=number)
    assert not [line for line in marked(number) if "sleep(600)" in line]


def marked(number: int) -> list[str]:
    return list(processes_marked(f"AGENT_EXEC_SESSION_ID={number}").values())


def test_foreground_games(call: Caller) -> None:
    """Issue 6, better 1: the terminal's foreground group, whoever makes himself that."""
    code = """
import os, signal, time
signal.signal(signal.SIGTTOU, signal.SIG_IGN)
pid = os.fork()
if pid == 0:
    os.setpgid(0, 0)
    os.tcsetpgrp(0, os.getpid())
    print('child> ', end='', flush=True)
    os.read(0, 100)
    os._exit(0)
os.waitpid(pid, 0)
os.tcsetpgrp(0, os.getpgrp())
print('parent works', flush=True)
time.sleep(600)
"""
    number = call.asked(script(code))
    told = call.type(number, "x\n", yield_time_ms=400)
    assert not told.get("awaiting_input")
    call.read_until(number, "parent works")


def test_text_is_readable(call: Caller) -> None:
    """Issue 6, better 4: progress bars collapsed, colours dropped."""
    cmd = (
        "for i in 1 50 100; do printf '\\r%3d%%' $i; done; "
        "printf '\\n\\033[31mred\\033[0m \\033]0;title\\007end\\n'"
    )
    assert call.run(cmd, tty=True)["output"] == "100%\nred end\n"
    raw = call.run(cmd, tty=True, render="raw")["output"]
    assert "\x1b[31m" in raw
    assert "  1%\r 50%\r100%" in raw


def test_a_line_that_goes_on_is_not_repeated(call: Caller) -> None:
    """Issue 6, better 4: `output` is what is new."""
    number = call.asked(script("a = input('name: '); print(f'hello {a}'); input('again: ')"))
    told = call.type(number, "bob\n", yield_time_ms=20_000)
    assert told["output"] == "bob\nhello bob\nagain: "


def test_sequences_that_break_terminals(call: Caller) -> None:
    """Issue 6, better 4: whatever is printed, there is an answer."""
    cmd = (
        "printf '\\033[999999999;999999999H\\033[99999999999999999999A\\033P never ended \\033[?1049h alt "
        "\\033[8;9999;9999t\\033]52;c;aGk=\\007\\0\\377\\376\\033[6n\\033[c'; head -c 20000 /dev/urandom"
    )
    for render in ("text", "screen", "raw"):
        told = call.run(cmd, tty=True, render=render, rows=2, columns=2)
        assert told["exit_code"] == 0
        told["output"].encode()
        if render != "raw":
            assert "\x1b" not in told["output"]


def test_background_jobs_of_a_shell_do_not_hide_its_prompt(call: Caller) -> None:
    """Issue 6, better 1: only the foreground group counts."""
    number = call.asked("exec bash --norc --noprofile -i")
    told = call.type(number, "sleep 600 &\n", yield_time_ms=20_000)
    assert told["awaiting_input"]
    told = call.type(number, "sleep 601\n", yield_time_ms=300)
    assert not told.get("awaiting_input")
    told = call.type(number, "\x1a", yield_time_ms=20_000)
    assert told["awaiting_input"]
    assert "Stopped" in told["output"]


def test_a_pattern_that_never_ends_blocks_nothing(call: Caller) -> None:
    """Some patterns take for ever on some texts; the deadline and every other call must not wait for them."""
    number = call.asked("printf 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!'; exec cat")
    found = call.type(number, "x", wait_for="match:(a+)+$", yield_time_ms=250)
    assert found["session_id"] == number
    assert call.run("echo fine")["output"] == "fine\n"
