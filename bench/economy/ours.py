"""The thirteen tasks through `agent-exec mcp`: each returns True if the right answer came back."""

import re
from collections.abc import Callable
from pathlib import Path

from bench.economy.agent import Agent

Task = Callable[[Agent], bool]
LONG = 60_000

WRONG = """*** Begin Patch
*** Update File: app/price.py
@@ def net(gross: float) -> float:
-    return gross / 1.16
+    return gross / 1.07
*** Update File: app/cart.py
@@
-    return sum(gross(item) for item in items)
+    return round(sum(gross(item) for item in items), 2)
*** Update File: app/__init__.py
@@
-VERSION = "1.0"
+VERSION = "1.1"
*** End Patch
"""
RIGHT = WRONG.replace("gross / 1.16", "gross / 1.19")


def session(answer: str) -> int:
    """Return the number of the session that an answer names."""
    found = re.search(r"session(?:_id|)\D{0,16}(\d+)", answer, re.IGNORECASE)
    assert found is not None, answer
    return int(found[1])


def repl(agent: Agent) -> bool:
    first = agent.call("exec_command", cmd="python3 -q", tty=True, input="x = 6\nx * 7\n")
    number = session(first)
    second = agent.call("write_stdin", session_id=number, chars="x += 1; x * 7\n")
    third = agent.call("write_stdin", session_id=number, chars="x ** 2; exit()\n")
    return "42" in first and "49" in second and "49" in third


def server(agent: Agent) -> bool:
    number = session(
        agent.call("exec_command", cmd="python3 -m http.server 8765 >/dev/null 2>&1", wait_for="port:8765")
    )
    used = agent.call("exec_command", cmd="curl -s http://127.0.0.1:8765/app/price.py | head -1")
    ended = agent.call("kill_session", session_id=number)
    return "def net(gross" in used and "ended" in ended


def questions(agent: Agent) -> bool:
    first = agent.call("exec_command", cmd="python3 login.py", tty=True, input="hunter2\n")
    done = agent.call("write_stdin", session_id=session(first), chars="314159\ny\n", wait_for="exit")
    return "tk-7741" in done


def failure_expert(agent: Agent) -> bool:
    return is_failure(agent.call("exec_command", cmd="python3 suite.py | grep -A5 FAILED"))


def failure_plain(agent: Agent) -> bool:
    if is_failure(agent.call("exec_command", cmd="python3 suite.py", yield_time_ms=30_000)):
        return True
    return is_failure(agent.call("exec_command", cmd="python3 suite.py | grep -n -A5 FAILED"))


def is_failure(answer: str) -> bool:
    return all(word in answer for word in ("test_refund", "19.90", "19.99", "test_module_203.py:88"))


def build_expert(agent: Agent) -> bool:
    cmd = "python3 build.py > build.log; echo exit $?; grep warning build.log; tail -1 build.log"
    return is_build(agent.call("exec_command", cmd=cmd, yield_time_ms=30_000))


def build_plain(agent: Agent) -> bool:
    answer = agent.call("exec_command", cmd="python3 build.py")
    if not is_build(answer):
        answer += agent.call("write_stdin", session_id=session(answer), chars="", yield_time_ms=LONG)
    return is_build(answer)


def is_build(answer: str) -> bool:
    return all(f"left_{number}" in answer for number in (1200, 3400, 5100)) and "3 warnings" in answer


def runaway(agent: Agent) -> bool:
    number = session(agent.call("exec_command", cmd="python3 runaway.py", wait_for="match:started"))
    return "ended" in agent.call("kill_session", session_id=number) and _none_left()


def _none_left() -> bool:
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and b"runaway.py" in (entry / "cmdline").read_bytes():
                return False
        except OSError:
            continue
    return True


def patch(agent: Agent) -> bool:
    agent.call("apply_patch", input=WRONG)
    agent.call("apply_patch", input=RIGHT)
    cmd = "python3 -c 'import app, app.price; print(app.VERSION, round(app.price.net(107), 6))'"
    return "1.1 100.0" in agent.call("exec_command", cmd=cmd)


def three_expert(agent: Agent) -> bool:
    cmd = "for n in a b c; do python3 part.py $n >$n.log & done; wait; grep -h 'error\\|done' ?.log"
    return is_three(agent.call("exec_command", cmd=cmd))


def three_plain(agent: Agent) -> bool:
    return is_three("".join(agent.call("exec_command", cmd=f"python3 part.py {name}") for name in "abc"))


def is_three(answer: str) -> bool:
    return all(word in answer for word in ("a: done", "c: done", "total.ts(41,17)", "TS2345"))


def flaky_expert(agent: Agent) -> bool:
    cmd = "for i in 1 2 3 4 5; do python3 flaky.py >f.log && break; done; tail -1 f.log"
    return "801 passed (try 3)" in agent.call("exec_command", cmd=cmd)


def flaky_plain(agent: Agent) -> bool:
    return any("801 passed" in agent.call("exec_command", cmd="python3 flaky.py") for _ in range(5))


def killed(agent: Agent) -> bool:
    job = re.search(r"[0-9A-Z]{4,}", agent.call("run", command=["python3", "long.py"], until=1).upper())
    assert job is not None
    agent.restart()
    return "9f31c2" in agent.call("wait", job_id=job[0], until=60)


def masked(agent: Agent) -> bool:
    return is_masked(agent.call("exec_command", cmd="make 2>/dev/null | tail -3"))


def is_masked(answer: str) -> bool:
    return "failed: 2" in answer or "Error 2" in answer or "exit code 2" in answer


def screen(agent: Agent) -> bool:
    first = agent.call("exec_command", cmd="TERM=xterm python3 screen.py", tty=True, render="screen")
    done = agent.call("write_stdin", session_id=session(first), chars="<Down><Enter>", keys=True)
    return "Deploy to production" in first and "chosen: Deploy to production" in done


def chatty(agent: Agent) -> bool:
    news = agent.folder / "news.txt"
    number = session(agent.call("exec_command", cmd="python3 chatty.py", wait_for="match:listening"))
    seen = []
    for line in ("disk sda1 is full", "certificate expires in 2 days"):
        with news.open("a") as file:
            file.write(f"{line}\n")
        seen.append(agent.call("write_stdin", session_id=number, chars="", wait_for="match:ERROR"))
    return is_news(*seen)


def is_news(first: str, second: str) -> bool:
    return "sda1" in first and "certificate" in second and "sda1" not in second


EXPERT: dict[str, Task] = {
    "1 REPL, three answers with state": repl,
    "2 dev server: ready, used, stopped": server,
    "3 password, code, yes": questions,
    "4 one failure in 15 MB": failure_expert,
    "5 25 s build: result and warnings": build_expert,
    "6 runaway with daemons": runaway,
    "7 patch of 3 files, wrong then right": patch,
    "8 three builds at once, one fails": three_expert,
    "9 flaky, at most 5 tries": flaky_expert,
    "10 killed in the middle, go on": killed,
    "11 masked failure": masked,
    "12 full-screen program": screen,
    "13 what is new in a chatty log": chatty,
}
PLAIN: dict[str, Task] = {
    "4 one failure in 15 MB": failure_plain,
    "5 25 s build: result and warnings": build_plain,
    "8 three builds at once, one fails": three_plain,
    "9 flaky, at most 5 tries": flaky_plain,
    "11 masked failure": masked,
    "13 what is new in a chatty log": chatty,
}
