"""Fails twice, then passes."""

import pathlib
import sys

count = pathlib.Path(".flaky")
number = int(count.read_text()) + 1 if count.exists() else 1
count.write_text(str(number))
for case in range(800):
    print(f"test_{case} ... ok")
if number < 3:
    print(f"test_socket ... FAILED: ConnectionResetError: Connection reset by peer (try {number})")
    sys.exit(1)
print(f"test_socket ... ok\n801 passed (try {number})")
