"""Takes pictures of every view of the dashboard, at the size of a desk and of a phone.

`screenshots.py FOLDER [--light]` starts a server with its own files in a temporary
folder, has it run something worth seeing, and writes PNGs into FOLDER. It needs
Chromium and the requirements of the tests.
"""

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from browser import Tab, browse  # noqa: E402 - which is found by the line above
from support import wait_until  # noqa: E402

DESK, PHONE = (1280, 800), (390, 844)
RULES = """
[[rule]]
prefix = ["git", ["status", "log", "diff", "fetch"]]
verdict = "allow"

[[rule]]
prefix = ["git", "push"]
verdict = "ask"
reason = "a push is seen by others"

[[rule]]
prefix = ["rm", "-rf"]
verdict = "deny"
reason = "use trash"
"""
BUILD = r"""
printf '\033[1m==> configure\033[0m\n'
for n in 1 2 3 4 5 6 7 8 9 10 11 12; do printf '\033[32m  ok\033[0m   src/part_%02d.c\n' $n; done
printf '\033[33mwarning:\033[0m unused variable "left" in src/part_07.c\n' >&2
printf '\033[31mFAILED\033[0m tests/test_parse.py::test_empty - AssertionError: [] != None\n'
printf 'src/parse.c:118:9: error: expected expression before "}" token\n' >&2
printf '\033[1m==> 1 failed, 41 passed in 3.20s\033[0m\n'; exit 1
"""
SERVE = r"""
echo "listening on http://127.0.0.1:5173"; n=0
while :; do
    n=$((n+1))
    printf '\033[90m%s\033[0m GET /items/%s \033[32m200\033[0m %sms\n' "$(date +%T)" $n $((n % 7 + 3))
    sleep 0.7
done
"""
TOP = r"""
bar='||||||||||||||||||||||||||||||||||||||||||||||||||||||||||||'; i=0
while :; do
    i=$((i+1)); printf '\033[H\033[2J'
    printf '\033[1;36mtasks\033[0m  8 total, 2 running   load 0.42 0.38 0.31   tick %s\n\n' $i
    printf '\033[7m  PID  CPU%%  MEM   COMMAND                                            \033[0m\n'
    for n in 1 2 3 4 5 6 7 8; do
        c=$(( (i * n * 7) % 50 )); printf '%5s  %4s  %3sM  ' $((4100 + n * 13)) $c $((n * 12 + 8))
        printf "\033[3$((n % 6 + 1))m%s\033[0m\n" "${bar:0:$c}"
    done
    sleep 0.5
done
"""
PROGRAMS = {
    "make": BUILD,
    "npm": SERVE,
    "htop": TOP,
    "cargo": "echo '    Finished dev in 0.41s'; sleep 600",
    "ruff": "echo 'All checks passed!'",
    "mypy": "echo 'Success: no issues found in 41 source files'",
    "pytest": "echo '41 passed in 0.32s'",
}
"""What the commands of the demonstration do, by their names."""


class Demo:
    """A server with something to see."""

    def __init__(self, url: str, token: str, folder: Path) -> None:
        self.url = url
        self.token = token
        self.folder = folder

    def __call__(self, method: str, path: str, body: "dict[str, Any] | None" = None) -> "Any":
        """Send a request; return the answer."""
        wire = HTTPConnection(self.url.removeprefix("http://"), timeout=60)
        head = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        wire.request(method, path, json.dumps(body) if body is not None else None, head)
        found = json.loads(wire.getresponse().read())
        wire.close()
        return found

    def asks(self, argv: list[str]) -> None:
        """Start a command that waits for an approval."""
        self("POST", "/v1/jobs", {"argv": argv})

    def fill(self) -> None:
        """Start jobs and sessions."""
        run = "/v1/jobs"
        lines = ["ruff check .", "pytest -q tests/unit", "mypy src", "make docs"]
        for number in range(40):
            tags = [("lint", "test", "ci.linux")[number % 3]]
            self("POST", run, {"line": lines[(number * 7 % 10) // 3], "observe": 0, "tags": tags})
        self.build = self("POST", run, {"argv": ["make", "test"], "tags": ["build.linux"]})["job_id"]
        broken = ["python3", "-c", "import sys; sys.exit('no such table: users')"]
        self("POST", run, {"argv": broken, "tags": ["migrate"]})
        self.server = self("POST", run, {"line": "npm run dev", "tags": ["web"], "observe": 0})["job_id"]
        self("POST", run, {"line": "cargo watch -x check", "observe": 0})
        size = {"tty": True, "login": False, "yield_time_ms": 500, "rows": 18, "columns": 76}
        self("POST", "/v1/sessions", {"cmd": "htop", **size})
        self.shell = self("POST", "/v1/sessions", {"cmd": "python3 -q", **size})["session_id"]
        typed = "from pathlib import Path\nfor one in sorted(Path('.').iterdir()): print(one)\n\n2 ** 64\n"
        self("POST", f"/v1/sessions/{self.shell}/write", {"chars": typed})


@contextmanager
def demo() -> Iterator[Demo]:
    """Start a server whose files are its own; end it with all that it runs."""
    with tempfile.TemporaryDirectory(prefix="demo-") as name:
        top = Path(name, "you")
        project = top / "project"
        for part in ("src", "tests", "docs"):
            (project / part).mkdir(parents=True)
        (project / "README.md").write_text("# project\n")
        (project / "Makefile").write_text("test:\n\tpytest -q\n")
        (top / "bin").mkdir()
        for program, script in PROGRAMS.items():
            (top / "bin" / program).write_text(f"#!/bin/bash\n{script}")
            (top / "bin" / program).chmod(0o755)
        rules = top / "rules.toml"
        rules.write_text(RULES)
        env = {
            **os.environ,
            "PATH": f"{top / 'bin'}:{os.environ['PATH']}",
            "PYTHON_BASIC_REPL": "1",
            "AGENT_EXEC_ROOT": str(top / "jobs"),
            **{f"XDG_{kind}_HOME": str(top / kind.lower()) for kind in ("STATE", "CONFIG", "DATA")},
        }
        words = [
            sys.executable,
            "-m",
            "agent_exec",
            "serve",
            "--port",
            "0",
            "--sandbox",
            "full-access",
            "--rules",
            str(rules),
        ]
        said = top / "said"
        with (
            said.open("wb") as errors,
            subprocess.Popen(words, cwd=project, env=env, stderr=errors) as process,
        ):
            try:
                wait_until(lambda: "TOKEN is in" in said.read_text() or process.poll() is not None)
                line = said.read_text()
                url = line.partition(" at ")[2].split()[0]
                found = Demo(
                    url, Path(line.rpartition("TOKEN is in ")[2].strip()).read_text().strip(), project
                )
                found.fill()
                try:
                    yield found
                finally:
                    for job in found("GET", "/v1/jobs?states=running")["jobs"]:
                        found("POST", f"/v1/jobs/{job['job_id']}/kill", {})
            finally:
                process.terminate()


async def take(tab: Tab, found: Demo, folder: Path) -> None:
    """Take all pictures with one tab."""
    views = {
        "home": (
            "/",
            "!!document.querySelector('.question') && document.querySelectorAll('.tile').length > 1",
        ),
        "jobs": ("/jobs", "document.querySelectorAll('.row').length > 9"),
        "job": (f"/jobs/{found.build}", "document.querySelectorAll('.line').length > 12"),
        "job-running": (f"/jobs/{found.server}", "document.querySelectorAll('.line').length > 2"),
        "session": (f"/sessions/{found.shell}", "!!document.querySelector('.xterm')"),
        "typing": (f"/sessions/{found.shell}", "!!document.querySelector('.actions .primary')"),
        "run": ("/run", "!!document.querySelector('.run textarea')"),
        "events": ("/events", "document.querySelectorAll('.event').length > 9"),
        "policy": ("/policy", "!!document.querySelector('.policy textarea')"),
    }
    await tab.becomes("document.querySelector('.state')?.className", "state up")
    push = asyncio.create_task(asyncio.to_thread(found.asks, ["git", "push", "origin", "main"]))
    for size, (width, height) in (("desk", DESK), ("phone", PHONE)):
        await tab.resize(width, height)
        for name, (path, shown) in views.items():
            await tab.value(f"location.hash = {json.dumps(path)}")
            await tab.becomes(shown, True)
            if name in ("run", "policy"):
                text = (
                    "git fetch && git push origin main"
                    if name == "run"
                    else "git status && rm -rf build | tee log"
                )
                await tab.value("document.querySelector('textarea').focus()")
                await tab.call("Input.insertText", text=text)
                await tab.becomes("!!document.querySelector('.verdict, p.preview')", True)
            if name == "typing":
                await tab.click(".actions .primary")
                await tab.shows("you type")
                await tab.type("sum(range(101))\r")
            await asyncio.sleep(1)  # what terminals and last lines show comes by itself
            (folder / f"{name}-{size}.png").write_bytes(await tab.picture())
            if name == "typing":
                await tab.click(".actions .primary")
                await tab.shows("watching")
    await tab.value("location.hash = '/'")
    await tab.click("[data-answer=no]")
    await push


def main() -> None:
    """Take the pictures."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--light", action="store_true", help="in the light theme")
    asked = parser.parse_args()
    asked.folder.mkdir(parents=True, exist_ok=True)
    with demo() as found, tempfile.TemporaryDirectory(prefix="profile-") as profile:

        async def work(tab: Tab) -> None:
            await tab.call(
                "Emulation.setEmulatedMedia",
                features=[{"name": "prefers-color-scheme", "value": "light" if asked.light else "dark"}],
            )
            try:
                await take(tab, found, asked.folder)
            finally:
                (asked.folder / "last.png").write_bytes(await tab.picture())
                print(*tab.failed, sep="\n")

        browse(Path(profile), f"{found.url}/#token={found.token}", work, width=DESK[0], height=DESK[1])


if __name__ == "__main__":
    main()
