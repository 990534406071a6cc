"""Who confines, on machines that lack this or that: the strongest that works, or nobody, and then nothing is run."""

import errno
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import agent_exec
from agent_exec.engine.engine import shared_spawner
from agent_exec.model.command import Launch
from agent_exec.model.errors import LaunchFailed, SandboxUnavailable
from agent_exec.sandbox import backends
from agent_exec.sandbox import sandbox as module
from agent_exec.sandbox.backends import BWRAP, LANDLOCK, NS, backend
from agent_exec.sandbox.linux import bwrap, landlock
from agent_exec.sandbox.plan.ours import ours
from agent_exec.sandbox.plan.plan import Plan
from agent_exec.sandbox.profile import Profile
from agent_exec.sandbox.sandbox import Sandbox, shared_sandbox
from cli import Cli
from sandbox.attacks.ground import NOBODY, PYTHON, make_package, site

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="boxes are made by Linux")

WITHOUT_NAMESPACES = [
    "unshare",
    "-Ur",
    "sh",
    "-c",
    'echo 0 >/proc/sys/user/max_user_namespaces; exec "$@"',
    "sh",
]
NESTED = ["unshare", "-Ur"]
LAUNCH = Launch(
    program=b"/bin/true",
    argv=(b"true",),
    cwd=b"/",
    env={},
    tty=False,
    size=agent_exec.Terminal(),
    input=False,
)
OTHER_MACHINE = ["setarch", "i686"]

FILTER = r"""
import os, sys
sys.path.insert(0, sys.argv[1])
from agent_exec.sandbox.linux import privileges, seccomp
from agent_exec.sandbox.linux.calls import AUDIT, machine, table
calls = table(machine())
code = seccomp.Assembler()
code.load(seccomp.NUMBER)
for name in sys.argv[2].split(","):
    code.equal(calls[name], yes="absent")
code.give(seccomp.ALLOW)
code.label("absent")
code.give(seccomp.ERRNO | int(sys.argv[3]))
privileges.forbid_new_privileges()
seccomp.apply(code.assemble())
os.execvp(sys.argv[4], sys.argv[4:])
"""
"""Runs a program on a kernel that lacks some calls, as far as it can see."""


def lacking(package: Path, calls: str, number: int) -> list[str]:
    return [PYTHON or sys.executable, "-IS", "-c", FILTER, str(package), calls, str(number)]


def source() -> Path:
    return Path(agent_exec.__file__).parents[1]


@pytest.fixture(autouse=True)
def unproven(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was found out about this machine before is forgotten."""
    monkeypatch.setattr(module, "_shared", Sandbox())


@pytest.fixture
def degraded(tmp_path: Path) -> Iterator[Path]:
    """A file with a profile that is content with little; not in /tmp, where such commands may write."""
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        path = Path(folder) / "degraded.json"
        profile = {"name": "workspace-write", "roots": [str(tmp_path / "work")], "min_strength": "degraded"}
        path.write_text(json.dumps(profile))
        yield path


class Machine:
    """The program, as it is on some machine."""

    def __init__(self, cli: Cli, before: list[str]) -> None:
        self.cli = cli
        self.before = before

    def __call__(self, *words: object) -> dict[str, Any]:
        done = subprocess.run(
            [*self.before, *self.cli.argv("sandbox", *words)],
            capture_output=True,
            check=False,
            cwd=self.cli.cwd,
            env=self.cli.env,
            timeout=60,
        )
        assert done.stdout, done.stderr.decode()
        found: dict[str, Any] = json.loads(done.stdout)
        return found

    def doctor(self) -> dict[str, dict[str, Any]]:
        return {one["name"]: one for one in self("doctor")["backends"]}

    def refuses(self, *options: object) -> str:
        """Have it refuse a command, which is then not run; return the words."""
        found = self(*options, "run", "--", "sh", "-c", "echo >ran")
        assert not found["ok"], found
        assert found["error"]["code"] == "sandbox_unavailable"
        assert not (self.cli.cwd / "ran").exists()
        return str(found["error"]["message"])


def machine(cli: Cli, before: list[str]) -> Machine:
    """Return the program on another machine, or skip where that cannot be played."""
    if not shutil.which(before[0]) or subprocess.run([*before, "true"], check=False).returncode:
        pytest.skip(f"{before[0]} does not work here")
    return Machine(cli, before)


def test_without_user_namespaces(cli: Cli, degraded: Path) -> None:
    """Case 60: refused, unless the profile allows for less; then it says how much less."""
    here = machine(cli, WITHOUT_NAMESPACES)
    told = here.doctor()
    assert not told["ns"]["available"]
    assert told["ns"]["reason"].startswith("namespaces: ")
    assert not told["bwrap"]["available"]
    assert here("doctor")["chosen"] is None
    words = here.refuses()
    assert "ns: namespaces" in words
    assert 'min_strength="degraded"' in words
    if not told["landlock"]["available"]:
        pytest.skip("no Landlock here")
    assert told["landlock"]["strength"] == "degraded"
    assert told["landlock"]["unenforced"]
    found = here(
        "--profile", degraded, "run", "--", "sh", "-c", "echo $AGENT_EXEC_SANDBOX >ran; echo >/etc/evil"
    )
    assert found["ok"], found
    assert found["sandbox"]["backend"] == "landlock"
    assert found["sandbox"]["strength"] == "degraded"
    assert len(found["sandbox"]["unenforced"]) >= 5
    assert (cli.cwd / "ran").read_text() == "landlock\n"
    assert not Path("/etc/evil").exists()


def test_without_landlock(cli: Cli, degraded: Path) -> None:
    """Case 60: it is a wall of every backend, so without it there is none."""
    here = machine(cli, lacking(source(), "landlock_create_ruleset", errno.ENOSYS))
    told = here.doctor()
    assert not any(one["available"] for one in told.values())
    assert told["ns"]["reason"].startswith("Landlock: ")
    assert told["landlock"]["reason"].startswith("Landlock: ")
    here.refuses()
    here.refuses("--profile", degraded)


@pytest.mark.parametrize("number", [errno.ENOSYS, errno.EPERM, errno.EOPNOTSUPP])
def test_without_anything(cli: Cli, degraded: Path, number: int) -> None:
    """Neither namespaces nor Landlock, whatever the kernel calls it."""
    here = machine(cli, lacking(source(), "unshare,landlock_create_ruleset", number))
    assert not any(one["available"] for one in here.doctor().values())
    here.refuses()
    here.refuses("--profile", degraded)


@pytest.mark.parametrize("call", ["landlock_restrict_self", "landlock_add_rule", "capset"])
def test_without_one_call(cli: Cli, degraded: Path, call: str) -> None:
    """Half a wall is none."""
    here = machine(cli, lacking(source(), call, errno.ENOSYS))
    here.refuses()
    here.refuses("--profile", degraded)


def test_without_the_filter(cli: Cli, degraded: Path) -> None:
    """A kernel without seccomp; the one that plays it has one already, which does not count as ours."""
    here = machine(cli, lacking(source(), "seccomp", errno.ENOSYS))
    told = here.doctor()
    assert not any(one["available"] for one in told.values())
    assert told["landlock"]["reason"].startswith("seccomp: ")
    here.refuses("--profile", degraded)


def test_without_the_new_mount_calls(cli: Cli) -> None:
    """An old kernel: namespaces work, what is needed in them does not; bubblewrap does without it."""
    here = machine(cli, lacking(source(), "mount_setattr,open_tree,move_mount", errno.ENOSYS))
    told = here.doctor()
    assert not told["ns"]["available"]
    if told["bwrap"]["available"]:
        found = here("run", "--", "true")
        assert found["ok"], found
        assert found["sandbox"]["backend"] == "bwrap"
    else:
        here.refuses()


def test_a_machine_whose_calls_are_not_known(cli: Cli, degraded: Path) -> None:
    """A program that sees another architecture knows none of its numbers."""
    here = machine(cli, OTHER_MACHINE)
    if subprocess.run([*OTHER_MACHINE, "uname", "-m"], capture_output=True, check=False).stdout != b"i686\n":
        pytest.skip("this machine cannot be taken for another")
    told = here.doctor()
    assert not any(one["available"] for one in told.values())
    here.refuses()
    here.refuses("--profile", degraded)
    for profile in ("read-only",):
        here.refuses("--profile", profile)


def test_nested(cli: Cli) -> None:
    """In a namespace of somebody else's, as its root, boxes are as strong as ever."""
    here = machine(cli, NESTED)
    assert here.doctor()["ns"]["available"]
    victim = cli.cwd.parent / "victim"
    victim.write_text("precious")
    found = here(
        "run", "--", "sh", "-c", f"echo >in; echo evil >{victim}; id -u; grep CapEff /proc/self/status"
    )
    assert found["ok"], found
    assert (found["sandbox"]["backend"], found["sandbox"]["strength"]) == ("ns", "full")
    assert found["stdout"].split() == ["0", "CapEff:", "0" * 16]
    assert victim.read_text() == "precious"
    assert (cli.cwd / "in").exists()


def test_a_box_in_a_box() -> None:
    """Inside, nothing as strong can be made, and so nothing is run there in the name of it."""
    if not PYTHON:
        pytest.skip("no interpreter that everybody may run")
    with site() as where:
        make_package(where)
        work = where / "work"
        work.mkdir()
        profile = Profile("workspace-write", [work], show=[str(where)])  # it may lie in the home
        found = agent_exec.run([PYTHON, "-IS", "-c", _refused(where, work)], cwd=work, sandbox=profile)
        assert found.stdout.split()[0] == b"sandbox_unavailable", found
        assert not (work / "ran full").exists()


def _refused(package: Path, work: Path) -> str:
    """Return a program that runs commands by a copy of the package, and prints how that failed."""
    return (
        f"import sys; sys.path.insert(0, {str(package)!r}); import agent_exec\n"
        "for strength in ('full', 'degraded'):\n"
        "    try:\n"
        f"        agent_exec.run(['touch', 'ran ' + strength], cwd={str(work)!r}, sandbox=agent_exec.Profile("
        f"'workspace-write', [{str(work)!r}], min_strength=strength))\n"
        "    except agent_exec.AgentExecError as error:\n"
        "        print(error.code)\n"
    )


def test_another_system(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for platform in ("freebsd14", "win32", "cygwin", ""):
        assert backends.backends(platform) == ()
    monkeypatch.setattr(module, "backends", lambda: ())
    for strength in ("full", "degraded"):
        profile = Profile("workspace-write", [tmp_path], min_strength=strength)
        with pytest.raises(SandboxUnavailable, match="no sandbox for this system"):
            agent_exec.run(["/bin/sh", "-c", "echo >ran"], cwd=tmp_path, sandbox=profile)
    assert list(tmp_path.iterdir()) == []


def test_a_plan_without_a_backend_is_never_carried_out(tmp_path: Path) -> None:
    plan = shared_sandbox().look(Profile("workspace-write", [tmp_path]), ours())
    launch = LAUNCH
    assert plan.backend == ""
    with pytest.raises(SandboxUnavailable):
        shared_sandbox().confine(launch, plan)
    for name in ("none", "full", "NS", "ns "):
        with pytest.raises((SandboxUnavailable, StopIteration)):
            shared_sandbox().confine(launch, plan.replace(backend=name))
    assert shared_sandbox().confine(launch, plan.replace(backend="ns")).box is not None


def test_full_access_is_the_only_way_to_no_box(tmp_path: Path) -> None:
    launch = LAUNCH
    assert shared_sandbox().confine(launch, Plan(Profile("full-access"))) is launch


@pytest.fixture
def places(monkeypatch: pytest.MonkeyPatch) -> Callable[[list[str]], None]:
    def be(found: list[str], uid: int = NOBODY) -> None:
        monkeypatch.setattr(bwrap, "PLACES", tuple(found))
        monkeypatch.setattr(os, "geteuid", lambda: uid)

    return be


def test_bwrap_is_refused(places: Callable[..., None], tmp_path: Path) -> None:
    """When it is not there, when commands could change it, and for root."""
    root = tmp_path / "root"
    root.mkdir()
    plan = shared_sandbox().look(Profile("workspace-write", [root]), ours())
    tool = tmp_path / "bwrap"
    places([str(tool)])
    assert "not installed" in BWRAP.refuses(plan)
    tool.touch()
    assert BWRAP.refuses(plan) == ""
    places([str(tool)], uid=0)
    assert "root" in BWRAP.refuses(plan)
    (root / "bwrap").touch()
    places([str(root / "bwrap")])
    assert "lies in a root" in BWRAP.refuses(plan)
    tool.unlink()
    tool.symlink_to(root / "bwrap")
    places([str(tool)])
    assert "lies in a root" in BWRAP.refuses(plan)


def test_bwrap_says_that_its_boxes_share_no_loopback(tmp_path: Path) -> None:
    shared = Profile("workspace-write", [str(tmp_path)], loopback="one")
    for profile, told in (
        (shared, True),
        (shared.replace(loopback=""), False),
        (shared.replace(net="on"), False),
    ):
        plan = Plan(profile, backend="bwrap")
        assert any(gap.startswith("loopback: ") for gap in BWRAP.gaps(plan)) is told
        assert plan.loopback == ("" if profile.net == "off" else None)
        assert NS.gaps(plan) == ()


def test_bwrap_is_not_looked_for_where_others_may_write(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "bwrap").write_text("#!/bin/sh\ntouch ran\n")
    (tmp_path / "bwrap").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    assert all(place.startswith(("/usr/", "/bin/")) for place in bwrap.PLACES)
    spec = shared_sandbox().box(Plan(Profile("read-only"), backend="bwrap")).spec
    assert bwrap.wrap(dict(spec), ["true"])[0] in bwrap.PLACES
    missing = {**spec, "own": [b"/tmp/nowhere/rules.toml", b"/etc"], "tmp_mb": 1}
    assert "/tmp/nowhere/rules.toml" not in bwrap.wrap(missing, ["true"])


def test_an_old_landlock(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a version does not know is told; too little is refused."""
    plan = Plan(Profile("workspace-write"))
    for version, refused, told in (
        (1, True, True),
        (2, True, True),
        (3, False, True),
        (5, False, True),
        (6, False, False),
    ):
        monkeypatch.setattr(landlock, "abi", lambda version=version: version)
        assert bool(LANDLOCK.refuses(plan)) is refused, version
        assert any("signalled" in gap for gap in LANDLOCK.gaps(plan)) is told, version


def unavailable(number: int | None, step: str = "namespaces") -> SandboxUnavailable:
    return SandboxUnavailable("made up", errno=number, step=step)


@pytest.fixture
def tried(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Says what becomes of the attempts to make boxes, by the name of the backend; and who was tried."""
    told: dict[str, Any] = {"tried": []}

    def attempt(_sandbox: Sandbox, one: Any, plan: Plan, _spawner: object) -> None:
        told["tried"].append(one.name)
        problem = told.get(one.name)
        problem = problem(plan) if callable(problem) else problem
        if problem is not None:
            raise problem

    monkeypatch.setattr(Sandbox, "_try", attempt)
    monkeypatch.setattr(os, "geteuid", lambda: NOBODY)
    monkeypatch.setattr(bwrap, "PLACES", ("/bin/sh",))
    monkeypatch.setattr(landlock, "abi", lambda: 7)
    return told


def settle(root: Path, **fields: Any) -> Plan:
    profile = Profile("workspace-write", [root], **fields)
    return shared_sandbox().plan(profile, shared_spawner(), ours())


def test_the_strongest_is_chosen(tried: dict[str, Any], tmp_path: Path) -> None:
    assert settle(tmp_path, min_strength="degraded").backend == "ns"
    assert settle(tmp_path).backend == "ns"
    assert tried["tried"] == ["ns"], "what was seen to work is not tried again"


def test_the_next_one_is_chosen_for_good(tried: dict[str, Any], tmp_path: Path) -> None:
    tried["ns"] = unavailable(errno.EPERM)
    for _ in range(3):
        plan = settle(tmp_path, min_strength="degraded")
        assert plan.backend == "bwrap"
        assert plan.unenforced == BWRAP.gaps(plan)
    assert tried["tried"] == ["ns", "ns", "bwrap"], (
        "once with the plan, once with the smallest, and never again"
    )


def test_the_weakest_is_not_chosen_for_good(tried: dict[str, Any], tmp_path: Path) -> None:
    """As long as nothing strong was seen to work, all of it is tried each time."""
    tried["ns"] = tried["bwrap"] = unavailable(errno.EPERM)
    assert settle(tmp_path, min_strength="degraded").backend == "landlock"
    with pytest.raises(SandboxUnavailable):
        settle(tmp_path)
    del tried["ns"]
    assert settle(tmp_path, min_strength="degraded").backend == "ns"


@pytest.mark.parametrize("number", [errno.ESTALE, errno.ENOENT, errno.EACCES, errno.ELOOP])
def test_the_fault_of_a_plan_leads_to_nothing_weaker(
    tried: dict[str, Any], tmp_path: Path, number: int
) -> None:
    """If a smaller plan can be carried out, this one is refused by name."""
    tried["ns"] = lambda plan: unavailable(number, "the roots") if plan.roots else None
    with pytest.raises(SandboxUnavailable) as caught:
        settle(tmp_path, min_strength="degraded")
    assert caught.value.details["step"] == "the roots"
    assert set(tried["tried"]) == {"ns"}


@pytest.mark.parametrize("number", [errno.EAGAIN, errno.ENOMEM, errno.EMFILE, errno.ENFILE])
def test_a_machine_that_is_busy(tried: dict[str, Any], tmp_path: Path, number: int) -> None:
    """It is refused now, by nobody weaker, and works again when there is room."""
    tried["ns"] = unavailable(number, "its first process")
    for _ in range(2):
        with pytest.raises(SandboxUnavailable):
            settle(tmp_path, min_strength="degraded")
    assert set(tried["tried"]) == {"ns"}
    del tried["ns"]
    assert settle(tmp_path).backend == "ns"


def test_a_machine_that_becomes_busy_meanwhile(tried: dict[str, Any], tmp_path: Path) -> None:
    """The second look is as little proof as the first, if it only meets a lack of room."""
    problems = iter([unavailable(errno.EIO), unavailable(errno.EAGAIN)])
    tried["ns"] = lambda _plan: next(problems, None)
    try:
        settle(tmp_path, min_strength="degraded")
    except SandboxUnavailable:
        pass
    assert "ns" not in shared_sandbox()._useless
    assert settle(tmp_path).backend == "ns"


def test_no_helper_at_all(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Not a matter of the backend: told as it is, and forgotten."""

    def fails(*_: object) -> None:
        raise LaunchFailed("no helper", errno=errno.EAGAIN)

    with monkeypatch.context() as patch:
        patch.setattr(Sandbox, "_try", fails)
        with pytest.raises(LaunchFailed):
            settle(tmp_path, min_strength="degraded")
    assert shared_sandbox()._useless == {}
    assert settle(tmp_path).backend in {"ns", "bwrap"}


def test_a_root_that_vanishes_before_the_box_is_made(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Between the plan and the box: refused with the root's step, and not tried elsewhere."""
    root = tmp_path / "root"
    root.mkdir()
    make = Sandbox.box

    def late(sandbox: Sandbox, plan: Plan) -> Any:
        if plan.roots and root.exists():
            root.rename(tmp_path / "moved")
        return make(sandbox, plan)

    monkeypatch.setattr(Sandbox, "box", late)
    with pytest.raises(SandboxUnavailable) as caught:
        settle(root, min_strength="degraded")
    assert caught.value.details["step"] == "the roots"
    assert shared_sandbox()._useless == {}


def test_names() -> None:
    assert [one.name for one in backends.backends("linux")] == ["ns", "bwrap", "landlock"]
    assert backend("ns") is NS
    assert {one.name for one in backends.ALL if one.strength == "full"} == {"ns", "bwrap"}


def test_a_patched_copy_whose_numbers_are_wrong() -> None:
    """A copy of the package for a machine that it does not know refuses on this one too."""
    if not PYTHON:
        pytest.skip("no interpreter that everybody may run")
    with site() as where:
        make_package(where)
        numbers = where / "agent_exec" / "sandbox" / "linux" / "calls.py"
        numbers.write_text(
            numbers.read_text().replace(
                '_ARCHITECTURES = ("x86_64", "aarch64")', '_ARCHITECTURES = ("vax", "pdp11")'
            )
        )
        work = where / "work"
        work.mkdir()
        done = subprocess.run(
            [PYTHON, "-IS", "-c", _refused(where, work)], capture_output=True, text=True, check=False
        )
        assert done.stdout == "sandbox_unavailable\n" * 2, done.stderr
        assert list(work.iterdir()) == []
