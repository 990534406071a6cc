"""A build of 25 seconds that prints much, warns three times and succeeds."""

import time

total = 6000
for number in range(total):
    unit = f"unit_{number}"
    print(f"[{number + 1}/{total}] cc -O2 -Wall -Isrc/include -c src/{unit}.c -o build/{unit}.o", flush=True)
    if number in (1200, 3400, 5100):
        place = f"src/{unit}.c:{number % 90 + 1}:9"
        print(f"{place}: warning: unused variable 'left_{number}' [-Wunused-variable]")
    if number % 200 == 199:
        time.sleep(25 * 200 / total)
print("build/app: linked, 3 warnings")
