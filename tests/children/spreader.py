"""Keeps forking children that stay, while it is being killed: spreader.py MOST."""

import os
import signal
import sys
import time

signal.signal(signal.SIGTERM, signal.SIG_IGN)
os.write(1, b"ready\n")
for _ in range(int(sys.argv[1])):
    if os.fork() == 0:
        while True:
            time.sleep(3600)
    time.sleep(0.001)
while True:
    time.sleep(3600)
