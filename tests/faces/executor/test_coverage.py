"""Every branch of the executor is tested by its own tests, and this proves it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import agent_exec

HERE = Path(__file__).parent
FACE = Path(agent_exec.__file__).parent / "faces" / "executor"
REPEATING = """
    what_the_system_refuses fifty_threads interrupts_at_any_moment mebibytes both_forms on_output_that_raises
    exception_of_on_output confines_what_it_runs what_the_sandbox_refused too_much_output flood
    timeout_is_the_calls fourth_at_once several_event_loops after_every_kind_of_end one_queue next_in_queue
    goes_from_term_to_kill character_at_the_limit
""".split()
"""Words in the names of tests that cost much, and go through no branch that the others leave out."""


@pytest.mark.timeout(600)  # it runs most tests of the face once more
def test_c41_every_line_and_branch_is_covered(tmp_path: Path) -> None:
    settings = tmp_path / "coveragerc"
    settings.write_text(
        f"[run]\nbranch = true\nsource = {FACE}\ndata_file = {tmp_path / 'data'}\n"
        "[report]\nexclude_also =\n    if TYPE_CHECKING:\n"
    )
    coverage = [sys.executable, "-m", "coverage"]
    tests = [
        "-m",
        "pytest",
        "-p",
        "no:xdist",
        "-p",
        "no:randomly",
        "-p",
        "no:cacheprovider",
        "-o",
        "addopts=",
    ]
    ran = subprocess.run(
        [
            *coverage,
            "run",
            f"--rcfile={settings}",
            *tests,
            "-q",
            "-x",
            "-k",
            f"not ({' or '.join(REPEATING)})",
            "--import-mode=importlib",
            f"--ignore={__file__}",
            str(HERE),
        ],
        cwd=HERE.parents[2],
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    report = tmp_path / "report.json"
    made = subprocess.run(
        [*coverage, "json", f"--rcfile={settings}", "-o", str(report)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert made.returncode == 0, made.stdout + made.stderr
    files = json.loads(report.read_text())["files"]
    assert {Path(file).name for file in files} == {file.name for file in FACE.glob("*.py")}
    holes = {
        Path(file).name: {"lines": found["missing_lines"], "branches": found["missing_branches"]}
        for file, found in files.items()
        if found["missing_lines"] or found["missing_branches"]
    }
    assert not holes, f"not covered by {HERE.name}'s tests: {holes}"
