"""Runs the tests of SWE-ReX, with its own client, against `agent-exec serve --compat swerex`.

    python3 -m venv /tmp/peer && /tmp/peer/bin/pip install swe-rex aiohttp pytest pytest-asyncio requests
    pip download --no-deps --no-binary :all: swe-rex
    tar xzf swe_rex-*.tar.gz
    python tools/swerex/swerex.py swe_rex-*/ --python /tmp/peer/bin/python [--sandbox PROFILE] [-- WORD...]

What follows -- is for pytest.

The tests are copied beside a conftest.py of ours, whose fixtures connect to the server; nothing
else is changed. Their fixtures are not in the source distribution. Exits as pytest does.
"""

import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

TESTS = ("test_server.py", "test_execution.py", "test_runtime.py")
READY = re.compile(r"at http://\S+:(\d+)\n")
TIMEOUT = 60.0


def main() -> int:
    """Start the server, run the tests, end the server."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("source", type=Path, help="the source distribution of swe-rex, unpacked")
    parser.add_argument("--python", default=sys.executable, help="a Python that has swe-rex and pytest")
    parser.add_argument("--sandbox", default="full-access", help="what confines the commands")
    words = sys.argv[1:]
    mine = words[: words.index("--")] if "--" in words else words
    asked = parser.parse_args(mine, argparse.Namespace(pytest=words[len(mine) + 1 :]))
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made).resolve()
        tests = folder / "tests"
        tests.mkdir()
        for name in TESTS:
            shutil.copy(asked.source / "tests" / name, tests)
        shutil.copy(Path(__file__).with_name("fixtures.py"), tests / "conftest.py")
        (tests / "__init__.py").touch()
        (folder / "pytest.ini").write_text(
            "[pytest]\nasyncio_mode = auto\nasyncio_default_fixture_loop_scope = function\n"
        )
        workspace = folder / "workspace"
        workspace.mkdir()
        return serve_and_test(asked, folder, workspace)


def serve_and_test(asked: argparse.Namespace, folder: Path, workspace: Path) -> int:
    """Run the tests against a server of this workspace."""
    state = {"XDG_STATE_HOME": str(folder / "state"), "AGENT_EXEC_ROOT": str(folder / "jobs")}
    token = folder / "token"
    words = ("--workspace", workspace, "--sandbox", asked.sandbox, "--port", "0", "--token-file", token)
    argv = [sys.executable, "-m", "agent_exec", "serve", "--compat", "swerex", *map(str, words)]
    said = folder / "said"
    with (
        said.open("wb") as errors,
        subprocess.Popen(argv, stderr=errors, env={**os.environ, **state}, cwd=workspace) as server,
    ):
        try:
            limit = time.monotonic() + TIMEOUT
            while not (found := READY.search(said.read_text())):
                if server.poll() is not None or time.monotonic() > limit:
                    sys.stderr.write(said.read_text())
                    return 2
                time.sleep(0.05)
            peer = {"SWEREX_PORT": found[1], "SWEREX_TOKEN": token.read_text().strip()}
            run = [asked.python, "-m", "pytest", "-q", "-rfEx", "--no-header", "-p", "no:cacheprovider"]
            run += ["--basetemp", str(workspace / "tmp"), "tests", *asked.pytest]
            return subprocess.run(run, cwd=folder, env={**os.environ, **peer}, check=False).returncode
        finally:
            server.send_signal(signal.SIGTERM)


if __name__ == "__main__":
    sys.exit(main())
