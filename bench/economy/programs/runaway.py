"""Starts daemons that leave its process group, and goes on forever."""

import os
import time

for _ in range(3):
    if os.fork() == 0:
        os.setsid()
        if os.fork():
            os._exit(0)
        while True:
            time.sleep(0.5)
print("started 3 daemons", flush=True)
while True:
    time.sleep(0.5)
