"""Servers are copies of one process that has loaded them; see warmstart.py."""

import subprocess
import sys
import uuid
from collections.abc import Iterator

import pytest


@pytest.fixture(scope="session", autouse=True)
def warm() -> Iterator[None]:
    pytest.importorskip("mcp", reason="the SDK of the protocol is not installed")
    from apps.mcp import talking

    name = f"agent-exec-tests-{uuid.uuid4().hex}"
    with subprocess.Popen(
        [sys.executable, talking.WARMSTART, "serve", name], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        talking.warm = name
        yield
        talking.warm = ""
