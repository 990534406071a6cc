"""One of three builds: part.py NAME; the one called b fails."""

import sys
import time

name = sys.argv[1]
for number in range(900):
    print(f"{name}: compiling module_{number}.ts -> dist/module_{number}.js ({number % 7} ms)", flush=True)
time.sleep(1)
if name == "b":
    problem = "Argument of type 'string' is not assignable to parameter of type 'number'."
    print(f"src/cart/total.ts(41,17): error TS2345: {problem}")
    sys.exit(2)
print(f"{name}: done")
