"""The fixtures of the tests of SWE-ReX, for a server that runs already."""

import os
from collections.abc import AsyncIterator
from functools import partial

import pytest
from swerex.runtime.abstract import (
    BashAction,
    CloseBashSessionRequest,
    Command,
    CreateBashSessionRequest,
)
from swerex.runtime.remote import RemoteRuntime


class RemoteServer:
    """The server."""

    port = int(os.environ["SWEREX_PORT"])
    token = os.environ["SWEREX_TOKEN"]
    headers = {"X-API-Key": token}  # noqa: RUF012 - as the tests read it


@pytest.fixture(scope="session")
def remote_server() -> RemoteServer:
    """Return the server."""
    return RemoteServer()


@pytest.fixture
async def remote_runtime(remote_server: RemoteServer) -> AsyncIterator[RemoteRuntime]:
    """Yield a client; all shells are closed afterwards."""
    client = RemoteRuntime(host="http://127.0.0.1", port=remote_server.port, auth_token=remote_server.token)
    yield client
    await client.close()


@pytest.fixture
async def runtime_with_default_session(remote_runtime: RemoteRuntime) -> AsyncIterator[RemoteRuntime]:
    """Yield a client whose shell `default` is there."""
    await remote_runtime.create_session(CreateBashSessionRequest())
    yield remote_runtime
    await remote_runtime.close_session(CloseBashSessionRequest())


_Action = partial(BashAction, timeout=5)
_Command = partial(Command, timeout=5)
