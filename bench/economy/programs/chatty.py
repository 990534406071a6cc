"""A server's log: much that is alike, and now and then a line that matters, whenever news.txt grows."""

import pathlib
import time

news, seen, number = pathlib.Path("news.txt"), 0, 0
now = ""
print("listening", flush=True)
while True:
    for _ in range(120):
        number += 1
        now = f"2026-03-01T10:{number // 60 % 60:02}:{number % 60:02}Z"
        print(f"{now} GET /health 200 {number % 9} ms", flush=True)
    lines = news.read_text().splitlines() if news.exists() else []
    for line in lines[seen:]:
        print(f"{now} ERROR {line}", flush=True)
    seen = len(lines)
    time.sleep(0.2)
