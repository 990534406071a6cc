"""Outputs of several megabytes, made line by line in the shape of real ones, instead of being stored."""

import json
from collections.abc import Callable, Iterator


def pytest_one_of_many() -> Iterator[str]:
    """One failure among 60 000 passes, as `pytest -v` prints them."""
    count, bad = 60_000, 41_237
    yield "============================= test session starts =============================="
    yield "platform linux -- Python 3.11.2, pytest-9.2.0, pluggy-1.7.0 -- /srv/venv/bin/python3"
    yield "cachedir: .pytest_cache"
    yield "rootdir: /srv/project"
    yield f"collecting ... collected {count} items"
    yield ""
    for n in range(count):
        verdict = "FAILED" if n == bad else "PASSED"
        yield f"tests/test_grid.py::test_cell[{n // 300}-{n % 300}] {verdict} [{(n + 1) * 100 // count:3}%]"
    yield ""
    yield "=================================== FAILURES ==================================="
    yield "______________________________ test_cell[137-137] ______________________________"
    yield ""
    yield "row = 137, column = 137"
    yield ""
    yield '    @pytest.mark.parametrize("column", range(300))'
    yield '    @pytest.mark.parametrize("row", range(200))'
    yield "    def test_cell(row, column):"
    yield ">       assert cell(row, column) == row * column"
    yield "E       assert 18768 == (137 * 137)"
    yield "E        +  where 18768 = cell(137, 137)"
    yield ""
    yield "tests/test_grid.py:9: AssertionError"
    yield "=========================== short test summary info ============================"
    yield "FAILED tests/test_grid.py::test_cell[137-137] - assert 18768 == (137 * 137)"
    yield "================== 1 failed, 59999 passed in 71.42s (0:01:11) =================="


def go_json_one_of_many() -> Iterator[str]:
    """One failure among 20 000 passes, as `go test -json` prints them."""

    def event(second: float, action: str, **more: object) -> str:
        time = f"2026-11-16T15:{int(second) // 60:02}:{second % 60:09.6f}Z"
        return json.dumps({"Time": time, "Action": action, "Package": "example.org/grid", **more})

    yield event(0, "start")
    for n in range(20_000):
        test, second = f"TestCell/{n:05}", n / 500
        yield event(second, "run", Test=test)
        yield event(second, "output", Test=test, Output=f"=== RUN   {test}\n")
        if n == 7:
            yield event(second, "output", Test=test, Output="    grid_test.go:14: cell(0, 7) = 8, want 7\n")
        verdict = "FAIL" if n == 7 else "PASS"
        yield event(second, "output", Test=test, Output=f"    --- {verdict}: {test} (0.00s)\n")
        yield event(second, verdict.lower(), Test=test, Elapsed=0)
    yield event(40, "output", Test="TestCell", Output="--- FAIL: TestCell (40.00s)\n")
    yield event(40, "fail", Test="TestCell", Elapsed=40)
    yield event(40, "output", Output="FAIL\n")
    yield event(40.1, "output", Output="FAIL\texample.org/grid\t40.104s\n")
    yield event(40.1, "fail", Elapsed=40.104)


def fail_first_then_passes() -> Iterator[str]:
    """A failure on line 1, behind it nothing but passes, as a runner without a summary prints them."""
    yield "FAIL test_login: expected 200, got 500 (server/auth.py:88)"
    for n in range(100_000):
        yield f"PASS test_page_{n:06} ({n % 97}.{n % 10} ms)"


def green_build() -> Iterator[str]:
    """A long green build, as `make` with one short line a file prints it."""
    for n in range(1, 40_001):
        folder = ("core", "net", "ui", "store")[n % 4]
        yield f"[{n * 100 // 40_000:3}%] Building C object {folder}/CMakeFiles/{folder}.dir/part_{n:05}.c.o"
        if n % 10_000 == 0:
            yield f"[{n * 100 // 40_000:3}%] Linking C static library lib{folder}.a"
            yield f"[{n * 100 // 40_000:3}%] Built target {folder}"


def service_log_with_one_crash() -> Iterator[str]:
    """A service's log with times: requests by the ten thousand, one traceback in the middle, and a green end."""
    for n in range(50_000):
        second, milli = divmod(n * 37, 1000)
        time = f"2026-11-16 {9 + second // 3600:02}:{second // 60 % 60:02}:{second % 60:02},{milli:03}"
        yield f"{time} INFO worker-{n % 8} request={n:08x} GET /items/{n * 7919 % 10_007} 200 {n % 83 + 3}ms"
        if n == 31_415:
            yield f"{time} ERROR worker-{n % 8} request={n:08x} unhandled exception"
            yield "Traceback (most recent call last):"
            yield '  File "/srv/project/app/worker.py", line 61, in handle'
            yield "    return self.routes[path](request)"
            yield '  File "/srv/project/app/items.py", line 23, in show'
            yield '    return render(self.items[int(request.parts["id"])])'
            yield "KeyError: 9973"


def download_bar() -> Iterator[str]:
    r"""A progress bar redrawn with \r, and its last line: only the end of it matters."""
    total = 20_000
    bar = (f"\rDownloading {n * 100 // total:3}% [{'#' * (n * 40 // total):40}] {n} kB" for n in range(total))
    yield "".join(bar) + f"\rDownloading 100% [{'#' * 40}] {total} kB"
    yield "Saved data.tar"


MAKERS: dict[str, Callable[[], Iterator[str]]] = {
    maker.__name__: maker
    for maker in (
        download_bar,
        fail_first_then_passes,
        go_json_one_of_many,
        green_build,
        pytest_one_of_many,
        service_log_with_one_crash,
    )
}


def generate(name: str) -> bytes:
    return "".join(f"{line}\n" for line in MAKERS[name]()).encode()
