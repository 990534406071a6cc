"""These tests start many threads, and the system takes a moment longer than Python to be rid of one."""

import os
from collections.abc import Iterator

import pytest

from support import wait_until


@pytest.fixture(autouse=True)
def settled(nothing_left: str) -> Iterator[None]:
    before = len(os.listdir("/proc/self/task"))
    yield
    wait_until(lambda: len(os.listdir("/proc/self/task")) <= before, fail=False)
