"""A storm: every process forks for ever and ignores signals: storm.py MOST SECONDS [hop].

At most MOST processes are there at once, by a limit of its own making, and all
of them end by themselves after SECONDS, and say so. It says too when no
more can be forked. With `hop`, each leads a session of
its own. As root it becomes another user first, for whom the limit holds.
"""

import os
import resource
import signal
import sys
import time

most, seconds = int(sys.argv[1]), float(sys.argv[2])
if os.geteuid() == 0 and os.getpid() > 400:  # not in a box, which counts by itself
    os.setgroups([])
    os.setuid(54321)
if os.getpid() > 400:
    there = 0
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            there += os.stat(f"/proc/{name}").st_uid == os.getuid()
        except OSError:
            continue  # it has just ended
    resource.setrlimit(resource.RLIMIT_NPROC, (there + most, there + most))
for number in set(signal.valid_signals()) - {signal.SIGKILL, signal.SIGSTOP}:
    signal.signal(number, signal.SIG_IGN)
end = time.monotonic() + seconds
full = b"full\n"
os.write(1, b"ready\n")
while time.monotonic() < end:
    try:
        if os.fork() == 0 and sys.argv[3:] == ["hop"]:
            os.setsid()
    except OSError:
        full = full[os.write(1, full) :]
os.write(1, b"outlasted\n")
os._exit(0)
