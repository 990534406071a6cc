"""Starts N processes of a kind below it, prints their pids, and waits: tree.py KIND N."""

import os
import signal
import sys
import time

kind, count = sys.argv[1], int(sys.argv[2])


def rest() -> None:
    if kind == "deaf":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    while True:
        time.sleep(3600)


def say(pid: int) -> None:
    os.write(1, b"%d\n" % pid)


if kind == "deaf":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)

for index in range(count):
    if os.fork():
        if kind in ("daemon", "session"):
            os.wait() if kind == "daemon" else None
        continue
    if kind == "group":
        os.setpgid(0, 0)
    elif kind == "session":
        os.setsid()
    elif kind == "daemon":
        os.setsid()
        if os.fork():
            os._exit(0)
        os.setsid()
    elif kind == "chain" and index < count - 1:
        say(os.getpid())
        continue
    say(os.getpid())
    rest()
if kind == "chain":
    pass
os.write(1, b"ready\n")
rest()
