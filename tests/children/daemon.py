"""Leaves a daemon behind in a session of its own, which holds the output open, and prints its pid."""

import os
import time

if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.write(1, b"%d\n" % os.getpid())
        time.sleep(3600)
    os._exit(0)
os.wait()
