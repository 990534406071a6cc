"""Servers are copies of one process that has loaded them; see warmstart.py."""

from collections.abc import Iterator
from pkgutil import walk_packages

import pytest

import agent_exec
from warmstart import serving

OTHERS = ("agent_exec.apps.shell", "agent_exec.host.windows", "agent_exec.host.ports", "agent_exec.__main__")
"""Modules that no server here loads."""


@pytest.fixture(scope="session", autouse=True)
def warm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    pytest.importorskip("mcp", reason="the SDK of the protocol is not installed")
    from apps.mcp import talking

    state = tmp_path_factory.mktemp("state")
    patch = pytest.MonkeyPatch()
    patch.setenv("XDG_STATE_HOME", str(state))  # or the tests would ask the person at this machine
    every = walk_packages(agent_exec.__path__, "agent_exec.")
    modules = [module.name for module in every if not module.name.startswith(OTHERS)]
    with serving("runpy", *modules) as talking.warm:
        yield
    talking.warm = ""
    patch.undo()
