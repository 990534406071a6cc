"""Runs commands in a box as an ordinary user, and prints what became of them: driver.py SOURCE ROOT.

Not imported: a program, started with a Python of the system under another user.
"""

import json
import os
import signal
import sys

sys.path.insert(0, sys.argv[1])
root = sys.argv[2]

import agent_exec  # noqa: E402
from agent_exec import Command, Engine, Limits  # noqa: E402
from agent_exec.sandbox.profile import BoxLimits, Profile  # noqa: E402

PROFILE = Profile("workspace-write", [root])
POOL = "import multiprocessing as m\nif __name__ == '__main__':\n    print(m.get_context('fork').Pool(2).map(abs, [-1, 2]))\n"
found: dict[str, object] = {}


def sh(name: str, line: str, profile: Profile = PROFILE, *, tty: bool = False) -> None:
    out = agent_exec.run(["bash", "-ec", line], cwd=root, timeout=60, tty=tty, sandbox=profile)
    found[name] = [out.exit_code, out.stdout_text, out.stderr_text, out.leaked]


with open(f"{root}/pool.py", "w") as file:
    file.write(POOL)
sh("first", "echo first")
sh("who", "id -u; cat /proc/self/uid_map | tr -s ' '")
sh("write", "echo kept > file; mkdir -p d/e; ln file d/e/hard; mv d moved; cat moved/e/hard")
sh("kept", "cat file")
sh("tmp", "a=$(mktemp); echo x > $a; cat $a; cat <<E\nhere\nE\necho s > /dev/shm/x; cat /dev/shm/x")
sh("streams", "echo a >/dev/stdout; echo b >/dev/fd/1; echo e >/dev/stderr")
sh("terminal", "tty; stty size; echo x >/dev/tty", tty=True)
sh("script", "script -qec 'echo in' /dev/null")
sh("outside", "! touch /etc/x 2>/dev/null; ! touch /var/tmp/../x 2>/dev/null; touch /var/tmp/ok; echo fine")
sh("pool", f"{sys.executable} pool.py")
sh(
    "rights",
    "grep -E '^(Cap(Prm|Eff|Bnd)|NoNewPrivs|Seccomp):' /proc/self/status | cut -f2 | sort -u | tr '\\n' ' '",
)
sh("namespaces", "! unshare -U true 2>/dev/null; ! mount -t tmpfs none /tmp 2>/dev/null; echo none")
sh(
    "server",
    f"{sys.executable} - <<'E'\nimport socket\ns = socket.create_server(('127.0.0.1', 0))\nc = socket.create_connection(s.getsockname())\nprint('connected')\nE",
)
sh(
    "many",
    "for n in $(seq 50); do echo $n & done | sort -n | tail -1; wait",
    Profile("workspace-write", [root], limits=BoxLimits(procs=400)),
)
sh("reading", "cat file; ! touch new 2>/dev/null; echo r > /tmp/r; cat /tmp/r", Profile("read-only", [root]))
sh(
    "git",
    "mkdir g; cd g; git init -q; echo x > a; git add a; git -c user.name=a -c user.email=a@b commit -qm m; git log --format=%s",
)
out = agent_exec.run(["sh", "-c", "setsid sleep 600 & sleep 600"], cwd=root, timeout=0.3, sandbox=PROFILE)
found["timeout"] = [out.cause, out.signal]
out = agent_exec.run(
    ["sh", "-c", "trap '' TERM; echo deaf; sleep 600 & wait"],
    cwd=root,
    timeout=0.3,
    grace=0.1,
    sandbox=PROFILE,
)
found["deaf"] = [out.cause, out.signal]
out = agent_exec.run(["sh", "-c", "setsid sleep 600 >/dev/null 2>&1 & exit 3"], cwd=root, sandbox=PROFILE)
found["leaked"] = [out.exit_code, out.leaked]
out = agent_exec.run(["wc", "-c"], cwd=root, stdin=b"x" * (8 << 20), sandbox=PROFILE)
found["input"] = out.stdout_text.strip()
with Engine() as engine:
    runs = [
        engine.start(Command(["cat"], cwd=root, interactive=True, limits=Limits(timeout=60)), sandbox=PROFILE)
        for _ in range(6)
    ]
    for index, run in enumerate(runs):
        run.write(b"%d" % index)
        run.end_input()
    found["at once"] = [run.outcome().stdout_text for run in runs]
found["signals"] = signal.getsignal(signal.SIGCHLD) == signal.SIG_DFL
found["descriptors"] = len(os.listdir("/proc/self/fd")) < 30
print(json.dumps(found))
