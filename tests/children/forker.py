"""Forks and exits without end, so that its pid is never the same for long: forker.py TOTAL.

Runs under a limit of its own making: at most TOTAL forks.
"""

import os
import signal
import sys

signal.signal(signal.SIGTERM, signal.SIG_IGN)
os.write(1, b"ready\n")
for _ in range(int(sys.argv[1])):
    if os.fork():
        os._exit(0)
