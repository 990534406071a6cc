"""Boxes that wait for commands: as many as were asked for, unused if that was asked for, gone with their owner."""

import os
import shutil
import signal
import sys
import uuid
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from time import time
from typing import Any

import pytest

import agent_exec
from agent_exec.engine.engine import warm
from agent_exec.model.errors import InvalidArgument, InvalidState, SandboxUnavailable
from agent_exec.sandbox.sandbox import Sandbox
from sandbox.attacks.conftest import STRONG, make_runner
from sandbox.attacks.ground import PYTHON, World, ended, first_processes, make_package, site
from support import descriptors, exists, processes_marked, wait_until

pytestmark = pytest.mark.skipif(sys.platform != "linux" or not PYTHON, reason="boxes are made by Linux")


@pytest.fixture(scope="session")
def field() -> Iterator[Path]:
    with site() as where:
        make_package(where)
        yield where


@pytest.fixture(params=STRONG)
def world(request: pytest.FixtureRequest, field: Path) -> Iterator[World]:
    """A workspace of a runner of its own, so that its boxes can be counted."""
    base = field / f"world-{uuid.uuid4().hex[:8]}"
    base.mkdir()
    user, backend = request.param.split("-")
    runner = make_runner(user, backend, field)
    runner.do("close")
    yield World(base, runner)
    runner.close()
    shutil.rmtree(base)


def count(world: World, number: int) -> None:
    """Wait until there are so many boxes, and no more."""
    wait_until(lambda: len(first_processes(world.runner)) == number)


def _replaced(world: World, before: set[int]) -> bool:
    """True if two wait, and one of those that did before is gone."""
    now = set(first_processes(world.runner))
    return len(now) == 2 and len(now & before) == 1


def _none(pids: list[int]) -> bool:
    return not any(map(exists, pids))


def test_so_many_wait_and_are_replaced(world: World) -> None:
    for boxes in (1, 3):
        profile = world.profile(tmp_mb=32 + boxes)
        told = world.runner.do("warm", profile=profile, boxes=boxes)
        assert told["backend"] == world.runner.backend
        assert world.runner.do("look")["waiting"] == len(first_processes(world.runner))
        assert len(first_processes(world.runner)) == boxes
        before = set(first_processes(world.runner))
        assert world.runner.run(["true"], world.root, profile).exit_code == 0
        assert before <= set(first_processes(world.runner)), "one that waited was used, and waits again"
        world.runner.do("close")
        count(world, 0)


def test_single_use_boxes_are_replaced(world: World) -> None:
    profile = world.profile(reuse=False)
    world.runner.do("warm", profile=profile, boxes=2)
    waiting = set(first_processes(world.runner))
    assert len(waiting) == 2
    seen = set(waiting)
    for _ in range(3):
        assert world.runner.run(["true"], world.root, profile).exit_code == 0
        wait_until(partial(_replaced, world, waiting))
        waiting = set(first_processes(world.runner))
        seen |= waiting
    assert len(seen) == 5


def test_a_box_without_reuse_is_new(world: World) -> None:
    """Whatever a command leaves, and whatever the kernel counts, the next one finds a new box."""
    leave = r"""
spill("/dev/shm/left"), spill("/tmp/left"), spill("/var/tmp/left")
checked(libc.shmget(7, 4096, 0o1600))
checked(libc.msgget(7, 0o1600))
for _ in range(20):
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)
say("pid", os.getpid())
"""
    look = r"""
say("found", [path for path in ("/dev/shm/left", "/tmp/left", "/var/tmp/left") if os.path.exists(path)])
say("shm", libc.shmget(7, 4096, 0o600))
say("msg", libc.msgget(7, 0o600))
say("pid", os.getpid())
"""
    profile = world.profile(reuse=False)
    pids = set()
    for warmed in (False, True):
        if warmed:
            world.runner.do("warm", profile=profile, boxes=1)
        for _ in range(2):
            pids.add(world.python(leave, profile=profile).results["pid"])
            found = world.python(look, profile=profile).results
            pids.add(found.pop("pid"))
            assert found == {"found": "[]", "shm": "-1", "msg": "-1"}
    assert len(pids) == 1, "the numbers of processes begin anew in each box"


def test_marks_on_private_folders_do_not_stay(world: World) -> None:
    """The folders themselves are as they were: a default access list would spoil what the next command makes."""
    spoil = r"""
for folder in ("/tmp", "/var/tmp", "/dev/shm"):
    attempt("mark " + folder, lambda: os.setxattr(folder, b"user.mark", b"1"))
    entries = b"".join(struct.pack("<HHI", tag, rights, 0xFFFFFFFF) for tag, rights in ((1, 5), (4, 0), (32, 0)))
    attempt("list " + folder, lambda: os.setxattr(folder, b"system.posix_acl_default", struct.pack("<I", 2) + entries))
    os.chmod(folder, 0o700)
"""
    use = r"""
for folder in ("/tmp", "/var/tmp", "/dev/shm"):
    say("marks " + folder, os.listxattr(folder))
    say("mode " + folder, oct(os.stat(folder).st_mode))
    os.mkdir(folder + "/new")
    attempt("write " + folder, lambda: spill(folder + "/new/file"))
"""
    before = world.python(use).results
    tried = world.python(spoil)
    if not tried.made:
        pytest.skip("these folders have no attributes")
    assert world.python(use).results == before


def test_a_box_that_has_long_been_empty_is_cleaned_too(world: World) -> None:
    """A private folder that has not changed is not looked into again; one that has changed is."""
    look = """
import time
say("age", min(time.time() - os.stat(folder).st_ctime for folder in ("/tmp", "/var/tmp", "/dev/shm")))
say("found", [name for folder in ("/tmp", "/var/tmp", "/dev/shm") for name in os.listdir(folder)])
"""
    profile = world.profile(tmp="private")
    box: list[int] = []
    for mark in ("one", "two"):
        wait_until(lambda: float(world.python(look, profile=profile).results["age"]) > 1)
        assert world.python(look, profile=profile).results["found"] == "[]"  # which has been noted by now
        box = box or first_processes(world.runner)
        world.python(
            f'spill("/tmp/{mark}"), spill("/var/tmp/{mark}"), spill("/dev/shm/{mark}")', profile=profile
        )
        assert world.python(look, profile=profile).results["found"] == "[]"
        assert first_processes(world.runner) == box


def test_a_secret_that_is_replaced_is_not_shown_by_a_box_that_has_long_waited(tmp_path: Path) -> None:
    """A mount comes off when the host renames another file over it; the box has looked there many times."""
    (tmp_path / "sub").mkdir()
    secret = tmp_path / "sub" / "key"
    secret.write_text("first")
    profile = agent_exec.Profile(roots=[tmp_path], deny_read=["sub/key"])
    plan = warm(profile, 1)

    def read(sandbox: Any) -> bytes:
        return agent_exec.run(["/bin/cat", "sub/key"], cwd=tmp_path, sandbox=sandbox).stdout

    wait_until(lambda: read(plan) == b"" and time() - os.stat(tmp_path / "sub").st_ctime > 1)
    assert read(plan) == b""
    (tmp_path / "new").write_text("second")
    (tmp_path / "new").rename(secret)
    with pytest.raises(SandboxUnavailable, match="the check before a command"):
        read(plan)
    assert read(profile) == b"", "the next plan is served by a box that was made for it"


QUEUES = r"""
calls = ARGS["calls"]
def make(name):
    syscall(calls["mq_open"], name, os.O_CREAT | os.O_RDWR, 0o600, 0)
def timer():
    checked(libc.timer_create(1, None, ctypes.byref(ctypes.c_int())))
info = struct.pack("iiiiii104x", 40, 0, -1, 0, os.getpid(), os.getuid())
def queue(target):
    syscall(calls["rt_sigqueueinfo"], target, 40, info)
def count(call, most):
    done = 0
    try:
        while done < most:
            call(done)
            done += 1
    except OSError:
        pass
    return done
"""
_X86 = {"mq_open": 240, "mq_unlink": 241, "rt_sigqueueinfo": 129}
_ARM = {"mq_open": 180, "mq_unlink": 181, "rt_sigqueueinfo": 138}


def test_what_counts_for_the_user_is_not_used_up(world: World) -> None:
    """Signals that wait, also for the first process, and message queues: outside, and for who comes next."""
    exhaust = r"""
say("signals", count(lambda _: queue(os.getppid()), 200000) <= 4096)
say("queues", count(lambda number: make(b"q%d" % number), 100))
"""
    check = r"""
attempt("timer", timer)
signal.pthread_sigmask(signal.SIG_BLOCK, [40])
attempt("signal", lambda: queue(os.getpid()))
name = b"attack%d" % os.getpid()
attempt("queue", lambda: make(name))
"""
    args = {"calls": _ARM if os.uname().machine == "aarch64" else _X86}
    outside = check + "syscall(calls['mq_unlink'], name)\n"
    free = world.python(QUEUES + outside, boxed=False, args=args).results
    before = world.python(QUEUES + check, args=args).results
    assert before == {"timer": "ok", "signal": "ok", "queue": "EMFILE"}
    assert world.python(QUEUES + exhaust, args=args).results == {"signals": "True", "queues": "0"}
    assert world.python(QUEUES + outside, boxed=False, args=args).results == free
    assert world.python(QUEUES + check, args=args).results == before


def test_reuse_is_part_of_what_a_box_is(world: World) -> None:
    """A box that has served others is never given to who wants a new one."""
    used, new = world.profile(), world.profile(reuse=False)
    code = "spill('/dev/shm/x')\nsay('pid', os.getpid())"
    pids = [int(world.python(code, profile=used).results["pid"]) for _ in range(3)]
    assert pids == sorted(set(pids)), "one box, which goes on counting"
    assert len({world.python(code, profile=new).results["pid"] for _ in range(3)}) == 1


def test_boxes_end_with_their_owner(world: World) -> None:
    """Those that wait too, whichever way it ends."""
    world.runner.do("warm", profile=world.profile(), boxes=3)
    world.runner.do("close")
    count(world, 0)
    world.runner.do("warm", profile=world.profile(), boxes=3)
    assert len(first_processes(world.runner)) == 3
    world.runner.kill()
    assert ended(world.runner.mark), processes_marked(world.runner.mark)


def test_a_waiting_box_that_was_killed_is_replaced(world: World) -> None:
    """Its next command is run in another, confined as well; and as many wait as before."""
    profile = world.profile()
    world.runner.do("warm", profile=profile, boxes=2)
    for _ in range(3):
        wait_until(lambda: len(first_processes(world.runner)) == world.runner.do("look")["waiting"])
        doomed = first_processes(world.runner)
        for pid in doomed:
            os.kill(pid, signal.SIGKILL)
        wait_until(partial(_none, doomed))
        script = f"echo $AGENT_EXEC_SANDBOX; touch {world.out}/evil 2>&1 | grep -c ."
        found = world.runner.run(["/bin/sh", "-c", script], world.root, profile)
        for _ in range(3):
            if found.error in {"keeper_lost", "sandbox_unavailable"}:  # one whose end nobody had heard of yet
                assert not (world.out / "evil").exists()
                found = world.runner.run(["/bin/sh", "-c", script], world.root, profile)
        assert (found.error, found.out) == ("", f"{world.runner.backend}\n1\n")
        assert not (world.out / "evil").exists()
        # One more if the command took so long that others were made ready meanwhile.
        wait_until(lambda: len(first_processes(world.runner)) in {2, 3})


def test_a_box_that_died_while_others_are_used_is_replaced(world: World) -> None:
    profile = world.profile()
    world.runner.do("warm", profile=profile, boxes=2)
    oldest = min(first_processes(world.runner))  # the last one to be used
    os.kill(oldest, signal.SIGKILL)
    wait_until(partial(_none, [oldest]))
    for _ in range(3):
        found = world.runner.run(["true"], world.root, profile)
        assert found.exit_code == 0 or found.error == "keeper_lost", found  # nobody had heard of its end yet
    world.runner.do("warm", profile=profile, boxes=2)
    assert len(first_processes(world.runner)) >= 2


def test_failures_are_raised(world: World) -> None:
    (world.root / "inner").mkdir()
    world.own()
    missing = {"name": "workspace-write", "roots": [str(world.base / "nowhere")]}
    assert world.runner.do("warm", profile=missing, boxes=1)["error"] == "invalid_argument"
    for boxes in (-1, True, 1.5, "2", None):
        assert world.runner.do("warm", profile=world.profile(), boxes=boxes)["error"] == "invalid_argument"
    assert world.runner.do("warm", profile=world.profile(net=["a b"]), boxes=1)["error"] == "invalid_argument"
    assert first_processes(world.runner) == []


def test_none_and_too_many(world: World) -> None:
    """Zero is none, and ends the keeping; there is a bound to how many wait."""
    profile = world.profile(reuse=False)
    world.runner.do("warm", profile=profile, boxes=2)
    assert "backend" in world.runner.do("warm", profile=profile, boxes=0)
    for _ in range(3):
        assert world.runner.run(["true"], world.root, profile).exit_code == 0
    count(world, 0)
    world.runner.do("warm", profile=profile, boxes=1000)
    assert world.runner.do("look")["waiting"] <= 8
    count(world, world.runner.do("look")["waiting"])


def test_warm_boxes_of_one_kind_serve_no_other(world: World) -> None:
    """A box that waits for one profile is no box for another."""
    world.runner.do("warm", profile=world.profile(), boxes=2)
    found = world.python("attempt('write', lambda: spill(ROOT + '/x'))", profile=world.profile("read-only"))
    assert found.results == {"write": "EROFS"}
    hidden = world.profile(deny_read=[str(world.out)])
    found = world.python("attempt('read', lambda: os.listdir(OUT))", profile=hidden)
    assert not found.made


def test_a_way_out_for_each_that_waits(world: World) -> None:
    """A warm box has its proxy, which ends with it; single use ends both."""
    code = "attempt('dial', lambda: socket.create_connection(WAY_OUT, 20))"
    for reuse in (True, False):
        profile = world.profile(net=["example.org"], reuse=reuse)
        world.runner.do("warm", profile=profile, boxes=2)
        assert world.runner.do("look")["threads"].count("agent-exec-proxy") == 2
        for _ in range(4):
            assert world.python(code, profile=profile).results == {"dial": "ok"}
        world.runner.do("close")
        assert "agent-exec-proxy" not in world.runner.do("look")["threads"]
        count(world, 0)


def test_nothing_piles_up(world: World) -> None:
    """Descriptors, threads and processes, over fifty boxes of one command each."""
    profile = world.profile(reuse=False, net=["example.org"])
    world.runner.do("warm", profile=profile, boxes=1)
    looks = []
    for number in range(51 if world.runner.backend == "ns" else 16):
        assert world.runner.run(["true"], world.root, profile).exit_code == 0
        if number % 15 == 0:
            count(world, 1)
            looks.append(world.runner.do("look"))
    first, last = looks[0], looks[-1]
    assert len(last["threads"]) == len(first["threads"])
    assert len(last["fds"]) == len(first["fds"])
    wait_until(lambda: len(processes_marked(world.runner.mark)) <= 5)


def test_after_a_fork(world: World) -> None:
    """The copy makes boxes of its own and leaves the original's alone."""
    from sandbox.attacks.ground import request

    profile = world.profile()
    world.runner.do("warm", profile=profile, boxes=2)
    boxes = set(first_processes(world.runner))
    asked = request(["/bin/sh", "-c", "echo $$"], world.root, profile)
    for _ in range(2):
        forked = world.runner.do("fork", request=asked)
        assert forked["exit_code"] == 0
        warmed = world.runner.do("fork", request={"do": "warm", "profile": profile, "boxes": 1})
        assert warmed["backend"] == world.runner.backend
        assert set(first_processes(world.runner)) >= boxes
        assert world.runner.ask(asked)["exit_code"] == 0
    # One more than before if a command took so long that the next box was made meanwhile; none of the copies'.
    wait_until(lambda: len(first_processes(world.runner)) == world.runner.do("look")["waiting"])
    assert set(first_processes(world.runner)) >= boxes


def test_an_engine_and_its_plan(tmp_path: Path) -> None:
    """The plan that is given back starts in a box that waits, and the engine's end is that of all of them."""
    profile = agent_exec.Profile("workspace-write", [tmp_path])
    with agent_exec.Engine() as engine:
        plan = engine.warm(profile, 2)
        assert plan.backend in {"ns", "bwrap"}
        before = descriptors()
        for _ in range(3):
            run = engine.start(agent_exec.Command(["true"], cwd=tmp_path), sandbox=plan)
            assert run.outcome().ok
        wait_until(lambda: descriptors().keys() <= before.keys())
        for boxes in (-1, True, 2.0, "1", None):
            with pytest.raises(InvalidArgument):
                engine.warm(profile, boxes)  # type: ignore[arg-type]
        with pytest.raises(InvalidArgument):
            engine.warm({"name": "read-only"})  # type: ignore[arg-type]
        engine.warm(agent_exec.Profile("full-access"), 2)
    with pytest.raises(InvalidState):
        engine.warm(profile, 1)


def test_a_box_that_cannot_be_made_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever warms hears why; nothing waits afterwards, and nothing is left."""
    make = Sandbox.box
    plan = warm(agent_exec.Profile("workspace-write", [tmp_path]), 1)

    def faulty(sandbox: Sandbox, given: Any) -> Any:
        whole = make(sandbox, given)
        return whole.replace(spec={**whole.spec, "roots": [(b"/no such folder", 1, 1)]}, digest="faulty")

    with monkeypatch.context() as patch:
        patch.setattr(Sandbox, "box", faulty)
        with pytest.raises(SandboxUnavailable, match="the roots"):
            warm(plan, 3)
    assert agent_exec.run(["true"], cwd=tmp_path, sandbox=plan).ok
