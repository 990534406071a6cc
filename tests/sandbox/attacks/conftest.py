"""Every attack is made as root, if we are, and as an ordinary user; behind each strong backend."""

import os
import shutil
import sys
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from sandbox.attacks.ground import PYTHON, SHARED, Runner, World, make_package, site

USERS = ("root", "nobody") if sys.platform == "linux" and os.getuid() == 0 else ("self",)
PRIMITIVES = {
    "ns": ["unshare", "--user", "--mount", "true"],
    "bwrap": ["bwrap", "--ro-bind", "/", "/", "--unshare-all", "true"],
    "landlock": ["grep", "-q", "landlock", "/sys/kernel/security/lsm"],
}
"""What tells whether a backend has what it needs; attacks are skipped without it, and never otherwise."""

EVERY = [*(f"{user}-{kind}" for user in USERS for kind in ("ns", SHARED)), f"{USERS[-1]}-bwrap"]
STRONG = EVERY
"""Each user and each kind of box; AGENT_EXEC_EVERY_RUNNER=1 tries every pair of them."""
if len(USERS) > 1 and not os.environ.get("AGENT_EXEC_EVERY_RUNNER"):
    STRONG = ["root-ns", f"nobody-{SHARED}", "nobody-bwrap"]


@pytest.fixture(scope="session")
def ground() -> Iterator[Path]:
    """A folder for all that the attacks need, readable by everybody."""
    if sys.platform != "linux":
        pytest.skip("boxes are made by Linux")
    if not PYTHON:
        pytest.skip("no interpreter that everybody may run")
    with site() as where:
        make_package(where)
        yield where


def make_runner(user: str, kind: str, ground: Path) -> Runner:
    """Return somebody who runs commands, behind this kind of backend; skip where it cannot work."""
    if user == "nobody" and not shutil.which("setpriv"):
        pytest.skip("setpriv is not here")
    where = ground / f"home-{user}-{kind}"
    where.mkdir(exist_ok=True)  # pytest may end this one and ask for it again
    runner = Runner(user, ground, where, kind)
    backend = runner.backend
    if user == "nobody":
        os.chown(where, runner.uid, runner.uid)
    if runner.run(["true"], "/", {"name": "read-only", "min_strength": "degraded"}).error:
        found = runner.run(PRIMITIVES[backend], "/", None)
        runner.close()
        if found.error or found.exit_code != 0:
            pytest.skip(f"{backend} does not work for {user} here")
        pytest.fail(f"what {backend} needs is here, and yet there is no box")
    return runner


@pytest.fixture(scope="session", params=STRONG)
def runner(request: pytest.FixtureRequest, ground: Path) -> Iterator[Runner]:
    """Somebody who runs commands, with boxes that stay warm from test to test."""
    user, kind = request.param.split("-")
    found = make_runner(user, kind, ground)
    yield found
    found.close()


@pytest.fixture
def new_runner(runner: Runner, ground: Path) -> Iterator[Callable[[], Runner]]:
    """Further ones of the same user, for tests that end them."""
    made: list[Runner] = []

    def make() -> Runner:
        home = ground / f"other-{uuid.uuid4().hex[:8]}"
        home.mkdir()
        os.chown(home, runner.uid, runner.uid if runner.uid != os.getuid() else -1)
        made.append(Runner(runner.user, ground, home, runner.kind))
        return made[-1]

    yield make
    for one in made:
        one.close()


@pytest.fixture
def worlds(runner: Runner, ground: Path) -> Iterator[Callable[[], World]]:
    """Makes workspaces with something to protect beside them."""
    made: list[Path] = []

    def make() -> World:
        base = ground / f"world-{uuid.uuid4().hex[:8]}"
        base.mkdir()
        made.append(base)
        return World(base, runner)

    yield make
    for base in made:
        shutil.rmtree(base, ignore_errors=True)


@pytest.fixture
def world(worlds: Callable[[], World]) -> World:
    """One of them."""
    return worlds()


@pytest.fixture
def warm(worlds: Callable[[], World], new_runner: Callable[[], Runner]) -> World:
    """One whose commands surely share a box: a runner keeps only a few of those that wait."""
    found = worlds()
    found.runner = new_runner()
    return found
