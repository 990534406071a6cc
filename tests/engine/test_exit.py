"""Promise 1: every way to end, and every way not to start."""

import os
import sys
from pathlib import Path

import pytest

import agent_exec
from agent_exec.model import errors
from support import processes_marked, python


@pytest.mark.parametrize("code", [0, 1, 2, 125, 126, 127, 255])
def test_exit_code_is_the_commands_own(code: int) -> None:
    out = agent_exec.run(["sh", "-c", f"exit {code}"])
    assert (out.exit_code, out.signal, out.cause, out.timed_out) == (code, None, None, False)
    assert out.ok == (code == 0)


@pytest.mark.parametrize(
    ("name", "number"), [("TERM", 15), ("KILL", 9), ("INT", 2), ("SEGV", 11), ("RTMIN", 34)]
)
def test_a_signal_is_128_and_its_number_and_its_name(name: str, number: int) -> None:
    out = agent_exec.run(["bash", "-c", f"ulimit -c 0; kill -{number} $$"])
    assert (out.exit_code, out.signal, out.cause) == (128 + number, f"SIG{name}", None)


def test_duration_and_pid_are_reported() -> None:
    out = agent_exec.run(["sh", "-c", "echo $$"])
    assert int(out.stdout) == out.pid
    assert out.duration > 0


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "plain").write_text("no program\n")
    (tmp_path / "text").write_text("echo no first line\n")
    (tmp_path / "text").chmod(0o755)
    (tmp_path / "orphan").write_text("#!/no/such/interpreter\n")
    (tmp_path / "orphan").chmod(0o755)
    (tmp_path / "hello").write_text("#!/bin/sh\necho hello from $PWD\n")
    (tmp_path / "hello").chmod(0o755)
    (tmp_path / "sub").mkdir()
    (tmp_path / "dangling").symlink_to("nowhere")
    return tmp_path


@pytest.mark.parametrize(
    ("argv", "kind", "named"),
    [
        (["no-such-program"], errors.CommandNotFound, "no-such-program"),
        (["./missing"], errors.CommandNotFound, "./missing"),
        (["/no/such/path"], errors.CommandNotFound, "/no/such/path"),
        (["./plain/below"], errors.CommandNotFound, "./plain/below"),
        (["./dangling"], errors.CommandNotFound, "./dangling"),
        (["./plain"], errors.CommandNotExecutable, "./plain"),
        (["./sub"], errors.CommandNotExecutable, "./sub"),
        (["./text"], errors.CommandNotExecutable, "./text"),
        (["./orphan"], errors.CommandNotExecutable, "./orphan"),
    ],
)
def test_a_program_that_cannot_run_is_a_typed_error_that_names_it(
    folder: Path, nothing_left: str, argv: list[str], kind: type[errors.AgentExecError], named: str
) -> None:
    with pytest.raises(agent_exec.AgentExecError) as caught:
        agent_exec.run(argv, cwd=folder)
    assert type(caught.value) is kind
    assert caught.value.code == kind.code
    assert named in caught.value.message
    assert caught.value.details["program"] == named
    assert not [line for line in processes_marked(nothing_left).values() if named in line]


@pytest.mark.parametrize(
    ("cwd", "kind"),
    [
        ("missing", errors.WorkdirNotFound),
        ("plain", errors.NotADirectory),
        ("plain/below", errors.NotADirectory),
        ("dangling", errors.WorkdirNotFound),
    ],
)
def test_a_directory_that_cannot_be_used_is_a_typed_error_that_names_it(
    folder: Path, cwd: str, kind: type[errors.AgentExecError]
) -> None:
    with pytest.raises(agent_exec.AgentExecError) as caught:
        agent_exec.run(["true"], cwd=folder / cwd)
    assert type(caught.value) is kind
    assert str(folder / cwd) in caught.value.message


WITHOUT_PRIVILEGE = """
import ctypes, os, sys
sys.path.append(sys.argv[1])
import agent_exec
class Header(ctypes.Structure):
    _fields_ = [("version", ctypes.c_uint32), ("pid", ctypes.c_int)]
none = (ctypes.c_uint32 * 6)()
if ctypes.CDLL(None).capset(ctypes.byref(Header(0x20080522, 0)), none) != 0:
    raise SystemExit("capset failed")
def attempt(argv, cwd):
    try:
        agent_exec.run(argv, cwd=cwd)
    except agent_exec.AgentExecError as error:
        print(error.code, flush=True)
attempt(["true"], sys.argv[2])
attempt([sys.argv[2] + "/x"], "/")
"""


def test_a_forbidden_directory_is_its_own_error(tmp_path: Path) -> None:
    """Even root is forbidden something once it has given up its capabilities."""
    forbidden = tmp_path / "forbidden"
    forbidden.mkdir(mode=0o000)
    source = str(Path(agent_exec.__file__).parent.parent)
    out = agent_exec.run(python(WITHOUT_PRIVILEGE, source, forbidden))
    assert out.stdout_text.split() == ["workdir_forbidden", "command_not_executable"], out.stderr_text


def test_the_callers_own_directory_may_be_gone(tmp_path: Path) -> None:
    code = """
import os, sys
sys.path.append(sys.argv[1])
import agent_exec
os.mkdir("gone"); os.chdir("gone"); os.rmdir("../gone")
try:
    agent_exec.run(["true"])
except agent_exec.AgentExecError as error:
    print(error.code)
print(agent_exec.run(["pwd"], cwd="/").stdout_text)
"""
    out = agent_exec.run(python(code, Path(agent_exec.__file__).parent.parent), cwd=tmp_path)
    assert out.stdout_text.split() == ["workdir_not_found", "/"], out.stderr_text


def test_a_relative_program_is_seen_from_cwd(folder: Path) -> None:
    assert agent_exec.run(["./hello"], cwd=folder).stdout_text == f"hello from {folder}\n"
    assert agent_exec.run(["../hello"], cwd=folder / "sub").stdout_text == f"hello from {folder / 'sub'}\n"


def test_a_bare_name_is_looked_up_in_the_commands_own_path(folder: Path) -> None:
    assert agent_exec.run(["hello"], env={"PATH": f"/nowhere:{folder}"}).ok
    assert agent_exec.run(["hello"], cwd=folder, env={"PATH": "/nowhere:"}).ok, "an empty entry is cwd"
    with pytest.raises(errors.CommandNotFound) as caught:
        agent_exec.run(["hello"], env={"PATH": "/nowhere"})
    assert "/nowhere" not in caught.value.message, "the value may be a secret of the command's"
    with pytest.raises(errors.CommandNotExecutable):
        agent_exec.run(["plain"], env={"PATH": f"{folder}"})
    assert agent_exec.run(["true"], env={}).ok, "no PATH at all means the usual places"


def test_a_relative_cwd_is_relative_to_the_callers(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    assert agent_exec.run(["pwd"], cwd="sub").stdout_text == f"{folder / 'sub'}\n"
    assert agent_exec.run(["pwd"]).stdout_text == f"{folder}\n"


def test_the_environment_is_the_callers_now_or_exactly_the_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROBE", "one")
    assert agent_exec.run(["sh", "-c", "echo $PROBE"]).stdout == b"one\n"
    monkeypatch.setenv("PROBE", "two")
    assert agent_exec.run(["sh", "-c", "echo $PROBE"]).stdout == b"two\n"
    only = agent_exec.run(["/usr/bin/env"], env={"A": "1", "B": "ü"})
    assert sorted(only.stdout_text.split()) == ["A=1", "B=ü"]
    assert agent_exec.run(["/usr/bin/env"], env={b"C": b"\xff"}).stdout == b"C=\xff\n"
    assert agent_exec.run(["/usr/bin/env"], env={}).stdout == b""


def test_words_arrive_byte_for_byte() -> None:
    words = ["", " ", "a b", "$HOME", "*", "'\"", "ü", "-n", "\n", "x" * 100_000]
    out = agent_exec.run(
        python("import sys; sys.stdout.write('\\0'.join(sys.argv[1:]))", *words),
        keep=agent_exec.Head(1 << 20),
    )
    assert out.stdout_text.split("\0") == words
    assert agent_exec.run(["printf", "%s", b"\xff\xfe"]).stdout == b"\xff\xfe"


def test_a_command_larger_than_any_socket_buffer_arrives() -> None:
    words = ["y" * 100_000] * 12
    out = agent_exec.run(python("import sys; print(sum(map(len, sys.argv[1:])))", *words))
    assert int(out.stdout) == 1_200_000


def test_a_command_larger_than_the_system_allows_is_a_typed_error() -> None:
    with pytest.raises(errors.LaunchFailed) as caught:
        agent_exec.run(["true", "x" * (4 << 20)])
    assert "too long" in caught.value.message


def test_a_command_starts_with_clean_signals_and_its_own_session() -> None:
    code = """
import os
print(os.getpid() == os.getsid(0) == os.getpgid(0))
for line in open("/proc/self/status"):
    if line.startswith(("SigBlk", "SigIgn")):
        print(int(line.split()[1], 16) & ~(3 << 31))
"""
    # Python itself ignores SIGPIPE (13) and SIGXFSZ (25); 32 and 33 are the C library's own.
    out = agent_exec.run([sys.executable, "-IS", "-c", code])
    assert out.stdout_text.split() == ["True", "0", str(1 << 12 | 1 << 24)]
    shell = agent_exec.run(["grep", "-E", "SigBlk|SigIgn", "/proc/self/status"])
    assert {int(line.split()[1], 16) & ~(3 << 31) for line in shell.stdout_text.splitlines()} == {0}


def test_what_the_caller_ignores_or_blocks_is_not_inherited() -> None:
    code = """
import signal, sys
sys.path.append(sys.argv[1])
signal.signal(signal.SIGHUP, signal.SIG_IGN); signal.signal(signal.SIGTERM, signal.SIG_IGN)
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1, signal.SIGTERM])
import agent_exec
for line in agent_exec.run(["grep", "-E", "SigBlk|SigIgn", "/proc/self/status"]).stdout_text.splitlines():
    print(int(line.split()[1], 16) & ~(3 << 31))
"""
    out = agent_exec.run([sys.executable, "-c", code, str(Path(agent_exec.__file__).parent.parent)])
    assert out.stdout_text.split() == ["0", "0"], out.stderr_text


def test_a_command_sees_three_descriptors_and_no_more() -> None:
    leak = os.open("/dev/null", os.O_RDONLY)
    os.set_inheritable(leak, True)
    try:
        for tty in (False, True):
            out = agent_exec.run(["sh", "-c", "ls /proc/$$/fd"], tty=tty)
            # A shell on a terminal may keep the terminal open as well.
            assert [fd for fd in out.stdout_text.split() if int(fd) < 10] == ["0", "1", "2"]
    finally:
        os.close(leak)
