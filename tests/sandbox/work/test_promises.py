"""What the engine promises holds in a box: exits, output, input, ends, errors, environment."""

import os
import signal
from collections.abc import Iterable
from pathlib import Path

import pytest

import agent_exec
from agent_exec import Command, Engine, Limits, Tail
from agent_exec.sandbox.profile import BoxLimits, Profile
from sandbox.work.boxes import Space, left, need
from support import wait_until

MIB = 1 << 20


@pytest.mark.parametrize("code", [0, 1, 7, 126, 255])
def test_exit_codes(room: Space, code: int) -> None:
    out = room.run("sh", "-c", f"exit {code}")
    assert (out.exit_code, out.signal, out.cause, out.leaked) == (code, None, None, False)


@pytest.mark.parametrize("name", ["TERM", "KILL", "SEGV", "ABRT", "INT", "HUP", "PIPE", "USR1"])
def test_signals(room: Space, name: str) -> None:
    out = room.run("sh", "-c", f"kill -{name} $$; sleep 60")
    assert (out.signal, out.cause) == (f"SIG{name}", None)
    assert out.exit_code is not None
    assert out.exit_code > 128


def test_signals_have_their_plain_meaning(room: Space) -> None:
    """SIGPIPE ends a writer, as in any shell; nothing is blocked or ignored."""
    assert room.sh("yes | head -1; echo over") == "y\nover\n"
    look = ["grep", "-E", "Sig(Blk|Ign|Cgt)", "/proc/self/status"]
    assert room.run(*look).stdout == agent_exec.run(look).stdout


def test_output_is_exact_and_large_on_both_streams(room: Space) -> None:
    code = f"""
import os, threading
def pour(fd, byte):
    left, chunk = {64 * MIB}, byte * 65536
    while left: left -= os.write(fd, chunk[:left])
threads = [threading.Thread(target=pour, args=a) for a in ((1, b"o"), (2, b"e"))]
[t.start() for t in threads]; [t.join() for t in threads]
os.write(1, b"END1"); os.write(2, b"END2")
"""
    out = room.run(room.python, "-IS", "-c", code, keep=Tail(1000))
    assert (out.stdout_observed, out.stderr_observed) == (64 * MIB + 4, 64 * MIB + 4)
    assert out.stdout.endswith(b"ooEND1")
    assert out.stderr.endswith(b"eeEND2")


def test_bytes_of_every_kind(room: Space) -> None:
    every = bytes(range(256)) * 100
    assert room.run("cat", stdin=every).stdout == every


def test_eight_mebibytes_of_input_and_its_end(room: Space) -> None:
    data = os.urandom(8 * MIB)
    import hashlib

    out = room.run("sha256sum", stdin=data)
    assert out.stdout_text.split()[0] == hashlib.sha256(data).hexdigest()
    assert room.run("cat").stdout == b""  # no input at all


def test_interactive_writes(room: Space) -> None:
    with Engine() as engine:
        run = engine.start(Command(["cat"], cwd=room.root, interactive=True), sandbox=room.profile)
        for number in range(5):
            run.write(b"%d\n" % number)
            wait_until(lambda number=number: run.stdout.endswith(b"%d\n" % number))  # type: ignore[misc]
        run.end_input()
        assert run.outcome().stdout == b"0\n1\n2\n3\n4\n"


def test_output_arrives_in_order_and_while_it_runs(room: Space) -> None:
    seen: list[tuple[str, bytes]] = []
    with Engine() as engine:
        command = Command(
            ["sh", "-c", "for n in 1 2 3; do read x; echo out $n; read x; echo err $n >&2; done"],
            cwd=room.root,
            interactive=True,
            on_output=lambda stream, chunk: seen.append((stream, chunk)),
        )
        run = engine.start(command, sandbox=room.profile)
        for count in range(1, 7):
            run.write(b"\n")
            wait_until(lambda count=count: len(seen) == count)  # type: ignore[misc]
        run.outcome()
    assert seen == [
        (stream, f"{word} {n}\n".encode())
        for n in (1, 2, 3)
        for stream, word in (("stdout", "out"), ("stderr", "err"))
    ]


def test_a_timeout(room: Space) -> None:
    out = room.run("sleep", 600, timeout=0.3)
    assert (out.cause, out.signal, out.exit_code) == ("timeout", "SIGTERM", 143)


POLITE = """
import os, signal
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])  # so that it cannot come before it is waited for
os.write(1, b"up\\n"); signal.sigwait([signal.SIGTERM]); os.write(1, b"bye\\n"); os._exit(7)
"""


@pytest.mark.parametrize(
    ("program", "ending"),
    [
        ("echo partial >&2; echo up; exec sleep 600", ("SIGTERM", 143, b"up\n", b"partial\n")),
        (POLITE, (None, 7, b"up\nbye\n", b"")),
        ("trap '' TERM; echo up; sleep 600 & wait", ("SIGKILL", 137, b"up\n", b"")),
    ],
    ids=["plain", "polite", "deaf"],
)
def test_a_stop_is_polite_then_by_force(
    room: Space, program: str, ending: tuple[str | None, int, bytes, bytes]
) -> None:
    grace = 0.1 if ending[0] == "SIGKILL" else 1000
    argv = [room.python, "-IS", "-c", program] if program == POLITE else ["sh", "-c", program]
    with Engine() as engine:
        command = Command(argv, cwd=room.root, limits=Limits(grace=grace))
        run = engine.start(command, sandbox=room.profile)
        wait_until(lambda: run.stdout == b"up\n")
        run.stop()
        out = run.outcome()
    assert out.cause == "stopped"
    assert (out.signal, out.exit_code, out.stdout, out.stderr) == ending


def test_a_stopped_command_gets_the_polite_signal(room: Space, nothing_left: str) -> None:
    with Engine() as engine:
        line = "trap 'exit 5' TERM; kill -STOP $$; exit 600"
        command = Command(["sh", "-c", line], cwd=room.root, limits=Limits(grace=1000))
        run = engine.start(command, sandbox=room.profile)
        wait_until(lambda: _states(left(nothing_left, "exit 600")) == ["T"])
        run.stop()
        out = run.outcome()
    assert (out.cause, out.exit_code) == ("stopped", 5)


def _states(pids: Iterable[int]) -> list[str]:
    return [Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] for pid in pids]


@pytest.mark.parametrize("count", [1, 60])
@pytest.mark.parametrize("kind", ["plain", "group", "session", "daemon", "deaf"])
def test_the_whole_tree_ends(room: Space, kind: str, count: int, nothing_left: str) -> None:
    with Engine() as engine:
        command = Command(room.child("tree", kind, count), cwd=room.root, limits=Limits(grace=0.2))
        run = engine.start(command, sandbox=room.profile)
        wait_until(lambda: b"ready" in run.stdout and run.stdout.count(b"\n") == count + 1)
        assert len(left(nothing_left, "tree.py")) == count + 1
        run.stop()
        out = run.outcome()
        assert left(nothing_left, "tree.py") == {}  # at this very moment
        assert (out.cause, out.signal) == ("stopped", "SIGKILL" if kind == "deaf" else "SIGTERM")


@pytest.mark.parametrize(("program", "count"), [("spreader", 200), ("forker", 100_000)])
def test_a_child_that_forks_while_it_is_being_killed(
    room: Space, program: str, count: int, nothing_left: str
) -> None:
    with Engine() as engine:
        command = Command(room.child(program, count), cwd=room.root, limits=Limits(grace=0.05))
        run = engine.start(command, sandbox=room.profile)
        wait_until(lambda: b"ready" in run.stdout)
        run.stop()
        run.outcome()
        assert left(nothing_left, f"{program}.py") == {}
        assert (
            engine.start(Command(["echo", "again"], cwd=room.root), sandbox=room.profile).outcome().stdout
            == b"again\n"
        )


def test_a_storm_of_forks_is_ended_by_us_and_not_by_itself(room: Space, nothing_left: str) -> None:
    """By one call: nothing that forks outruns that."""
    with Engine() as engine:
        command = Command(room.child("storm", 0, 20), cwd=room.root, limits=Limits(grace=0.05))
        run = engine.start(command, sandbox=Profile(roots=[str(room.root)], limits=BoxLimits(procs=128)))
        wait_until(lambda: b"full" in run.stdout)
        run.stop()
        out = run.outcome()
        assert (out.signal, b"outlasted" in out.stdout) == ("SIGKILL", False)
        assert left(nothing_left, "storm.py") == {}


def test_a_box_stopped_from_outside_continues(room: Space, nothing_left: str) -> None:
    with Engine() as engine:
        command = Command(["sleep", "600.75"], cwd=room.root, limits=Limits(timeout=1))
        run = engine.start(command, sandbox=room.profile)
        wait_until(lambda: left(nothing_left, "600.75"))
        (pid,) = left(nothing_left, "600.75")
        first = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
        os.kill(first, signal.SIGSTOP)
        assert run.outcome().timed_out


def test_what_is_left_is_ended_and_reported(room: Space, nothing_left: str) -> None:
    out = room.run(*room.child("daemon"))
    assert (out.exit_code, out.leaked) == (0, True)
    assert left(nothing_left, "daemon.py") == {}
    out = room.run("sh", "-c", "sleep 600.5 >/dev/null 2>&1 & echo x")
    assert (out.exit_code, out.leaked) == (0, True)
    assert left(nothing_left, "600.5") == {}
    assert not room.run("true").leaked


def test_nothing_of_a_confined_command_can_be_left(room: Space) -> None:
    with pytest.raises(agent_exec.AgentExecError) as caught:
        agent_exec.run(["true"], cwd=str(room.root), leftovers="leave", sandbox=room.profile)
    assert caught.value.code == "invalid_argument"


def test_stop_kill_and_signal(room: Space) -> None:
    with Engine() as engine:
        deaf = ["sh", "-c", "trap '' TERM; echo up; sleep 60 & wait"]
        run = engine.start(Command(deaf, cwd=room.root, limits=Limits(grace=1000)), sandbox=room.profile)
        wait_until(lambda: run.stdout == b"up\n")
        run.stop()
        wait_until(lambda: run.phase == "stopping")
        run.stop()
        assert (run.outcome().cause, run.outcome().signal) == ("stopped", "SIGKILL")
        run = engine.start(
            Command(["sleep", "60"], cwd=room.root, limits=Limits(grace=1000)), sandbox=room.profile
        )
        run.kill()
        assert run.outcome().signal == "SIGKILL"
        heard = ["sh", "-c", "trap 'echo heard; exit 3' USR1; echo up; while :; do sleep 0.01; done"]
        run = engine.start(Command(heard, cwd=room.root), sandbox=room.profile)
        wait_until(lambda: run.stdout == b"up\n")
        run.signal("USR1")
        out = run.outcome()
        assert out.stdout.startswith(b"up\nheard")


def test_a_stop_while_the_box_is_being_made(room: Space) -> None:
    with Engine() as engine:
        for action in ("stop", "kill"):
            run = engine.start(Command(["sleep", "600"], cwd=room.root), sandbox=room.profile)
            getattr(run, action)()
            assert run.outcome().cause == "stopped"


def test_a_timeout_shorter_than_the_making_of_a_box(room: Space) -> None:
    out = room.run("sleep", 600, timeout=0.005)
    assert out.cause == "timeout"
    assert room.run("echo", "x").stdout == b"x\n"


def test_the_environment_is_scrubbed(room: Space, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (
        "MY_API_KEY",
        "GITHUB_TOKEN",
        "DB_PASSWORD",
        "AWS_PROFILE",
        "SSH_AUTH_SOCK",
        "LD_PRELOAD_X",
        "PYTHONPATH",
        "BASH_ENV",
    ):
        monkeypatch.setenv(name, "s3cret-value")
    monkeypatch.setenv("UNHEARD_OF", "s3cret-value")
    monkeypatch.setenv("LC_TIME", "kept")
    monkeypatch.setenv("HOME", "/root")
    lines = dict(line.split("=", 1) for line in room.sh("env -0 | tr '\\n\\0' ' \\n'").splitlines())
    assert "s3cret-value" not in lines.values()
    assert (lines["LC_TIME"], lines["HOME"], lines["PATH"]) == ("kept", "/root", os.environ["PATH"])
    assert (lines["TMPDIR"], lines["AGENT_EXEC_SANDBOX"], lines["AGENT_EXEC_NET"]) == ("/tmp", "ns", "off")
    kept = room.wearing(env=("MY_API_KEY",))
    assert kept.sh("echo $MY_API_KEY") == "s3cret-value\n"
    given = room.run("env", env={"ONLY": "1", "PATH": "/usr/bin:/bin", "X_TOKEN": "s"})
    assert sorted(line.split(b"=")[0] for line in given.stdout.splitlines()) == [
        b"AGENT_EXEC_NET",
        b"AGENT_EXEC_SANDBOX",
        b"ONLY",
        b"PATH",
        *([b"TAR_OPTIONS"] if os.geteuid() == 0 else []),
        b"TMPDIR",
        b"XDG_CACHE_HOME",
        b"npm_config_cache",
    ]


def test_one_environment_after_the_other_in_one_box(room: Space) -> None:
    for value in ("1", "2", "2", "3"):
        assert (
            room.run("sh", "-c", "echo $V", env={"V": value, "PATH": "/usr/bin:/bin"}).stdout_text
            == f"{value}\n"
        )


def test_working_directories(room: Space) -> None:
    below = room.root / "below"
    below.mkdir()
    assert room.run("pwd", cwd=below).stdout_text == f"{below}\n"
    with pytest.raises(agent_exec.AgentExecError) as caught:
        room.run("true", cwd=room.root / "missing")
    assert caught.value.code == "workdir_not_found"
    (room.root / "file").touch()
    with pytest.raises(agent_exec.AgentExecError):
        room.run("true", cwd=room.root / "file")
    assert room.run("true").ok


@pytest.mark.parametrize("tty", [False, True])
def test_what_a_box_hides_is_refused_and_named(room: Space, hidden: Path, tty: bool) -> None:
    """A working directory, a program, the interpreter of a script: as long as the machine has them."""
    with pytest.raises(agent_exec.AgentExecError, match="sandbox") as caught:
        room.run("true", cwd=hidden, tty=tty)
    assert caught.value.code == "workdir_not_found"
    assert str(hidden) in caught.value.message
    program = hidden / "program"
    program.write_text("#!/bin/sh\necho seen\n")
    program.chmod(0o755)
    script = room.root / "script"
    script.write_text(f"#!{program}\n")
    script.chmod(0o755)
    path = {"PATH": f"{hidden}:/usr/bin:/bin"}
    for name, env in ((str(program), None), ("program", path), (str(script), None)):
        assert agent_exec.run([name], env=env).stdout == b"seen\n"
        with pytest.raises(agent_exec.AgentExecError, match="sandbox") as caught:
            room.run(name, env=env, tty=tty)
        assert caught.value.code == "command_not_executable"
        assert name in caught.value.message
    assert room.run("true").ok


def test_programs_that_are_not_there(room: Space) -> None:
    with pytest.raises(agent_exec.AgentExecError) as caught:
        room.run("no-such-program-at-all")
    assert caught.value.code == "command_not_found"
    (room.root / "text").write_text("no program")
    with pytest.raises(agent_exec.AgentExecError) as caught:
        room.run("./text")
    (room.root / "script").write_text("#!/no/such/interpreter\n")
    (room.root / "script").chmod(0o755)
    with pytest.raises(agent_exec.AgentExecError):
        room.run("./script")
    assert room.run("true").ok


class Trouble(Exception):
    pass


@pytest.mark.parametrize("threaded", [True, False, None])
def test_an_exception_in_on_output_ends_the_tree_and_is_raised(
    room: Space, threaded: bool | None, nothing_left: str
) -> None:
    def fail(_stream: str, _chunk: bytes) -> None:
        raise Trouble("in the callback")

    argv = ["sh", "-c", "setsid sleep 600.25 & echo $!; sleep 600.25"]
    with pytest.raises(Trouble, match="in the callback"):
        if threaded is None:
            agent_exec.run(argv, cwd=str(room.root), on_output=fail, sandbox=room.profile)
        else:
            with Engine(threaded=threaded) as engine:
                engine.start(Command(argv, cwd=room.root, on_output=fail), sandbox=room.profile).outcome()
    assert left(nothing_left, "600.25") == {}
    assert room.run("true").ok


def test_the_identity_of_a_pid(room: Space) -> None:
    """The command's own number, in its own namespace: not one that means anything outside."""
    out = room.run("sh", "-c", "echo $$")
    assert out.stdout_text.strip() == str(out.pid)
    assert out.pid is not None
    assert out.pid < 400


def test_the_limits_of_the_profile(room: Space) -> None:
    from agent_exec.sandbox.profile import BoxLimits

    small = room.wearing(limits=BoxLimits(file_mb=1, open_files=64, memory_mb=2000, cpu=100))
    assert small.sh("ulimit -n; ulimit -f").split() == ["64", "2048"]
    out = small.run("dd", "if=/dev/zero", "of=big", "bs=1M", "count=3")
    assert out.signal == "SIGXFSZ" or b"File too large" in out.stderr
    out = room.wearing(limits=BoxLimits(cpu=1)).run("sh", "-c", "while :; do :; done")
    assert (out.signal, out.cause) == ("SIGXCPU", None)


def test_the_processor_time_of_one_command_is_not_charged_to_the_next(room: Space) -> None:
    from agent_exec.sandbox.profile import BoxLimits

    busy = room.wearing(limits=BoxLimits(cpu=1))
    for _ in range(3):
        out = busy.run(room.python, "-IS", "-c", "import time\nwhile time.process_time() < 0.5: pass")
        assert out.ok, out


def test_a_wall_clock_limit_of_the_profile(room: Space) -> None:
    from agent_exec.sandbox.profile import BoxLimits

    out = room.wearing(limits=BoxLimits(wall=0.3)).run("sleep", 600)
    assert out.cause == "timeout"


@pytest.mark.parametrize("procs", [64, 320])
def test_many_processes_one_after_the_other_in_a_small_box(room: Space, procs: int) -> None:
    """Numbers of processes are few in a box, and come again soon; the kernel keeps the first 300 then."""
    from agent_exec.sandbox.profile import BoxLimits

    need("dash")
    small = room.wearing(limits=BoxLimits(procs=procs))
    for _ in range(3):
        out = small.run("dash", "-c", "for n in $(seq 150); do /bin/true || exit 1; done; echo fine")
        assert (out.stdout, out.stderr) == (b"fine\n", b""), out
    assert small.run("sh", "-c", "exit 9").exit_code == 9
