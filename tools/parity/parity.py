"""Runs the integration tests of the Rust agent-exec against ours, and prints what passes, by category.

    python tools/parity/parity.py CRATE [--only NAME] [--theirs] [--jobs N]

CRATE is the unpacked crate `agent-exec` of the registry, with its tests built:
`cargo test --release --no-run`. With `--theirs` its own program is tested, to
know which tests fail on this machine anyway.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

HERE = Path(__file__).parent
SUITES = ("integration", "mcp_integration", "serve_integration", "wait_observation", "opencode_integration")
VERSIONS = {"0.1.": "0.1", "0.2.24": "0.1", "0.2.40": "0.5"}
"""The schema versions of the answers of crates, by their names."""
CATEGORIES = (
    ("deadlines (abandon)", "abandon"),
    ("create, start, restart", "^create_|^start_|^restart_|_start_"),
    ("notify, output match", "notify|output_match|hermes|opencode|webhook"),
    ("compression", "compression"),
    ("root-bound references", "root_reference"),
    ("completions", "completion"),
    ("configuration, shell wrapper", "shell_wrapper|config"),
    ("yaml", "yaml"),
    ("skills", "install_skills"),
    ("tags", "tag"),
    ("full.log", "full_log|log_files|log_path_override"),
    ("gc", "gc"),
    ("input", "stdin"),
    ("prefixes", "prefix"),
    ("list, ps, delete", "^list|^ps_|delete|^rm_"),
    ("status", "^status"),
    ("wait", "^wait"),
    ("kill", "^kill"),
    ("run", "^run|env_|mask|^argv|progress"),
)


def main() -> int:
    """Run the suites of a crate; return 0."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("crate", type=Path)
    parser.add_argument("--only", default="")
    parser.add_argument("--theirs", action="store_true")
    parser.add_argument("--jobs", default="2")
    parser.add_argument("--suites", nargs="+", default=SUITES, choices=SUITES)
    asked = parser.parse_args()
    passed, failed = Counter[str](), Counter[str]()
    for suite in asked.suites:
        program = built(asked.crate, suite)
        if program is None:
            continue
        only = [asked.only] if asked.only else []
        found = results(asked.crate, program, only, asked.jobs, theirs=asked.theirs)
        failures = [test for test, ok in found.items() if not ok]
        if failures and suite != "serve_integration":  # many of them at once may be too slow
            found |= results(asked.crate, program, ["--exact", *failures], "1", theirs=asked.theirs)
        good = sum(found.values())
        print(f"{suite}: {good} of {len(found)}")
        for test, ok in sorted(found.items()):
            kind = "HTTP server" if suite == "serve_integration" else category(test)
            (passed if ok else failed)[kind] += 1
            if not ok:
                print(f"  failed  {kind:<28} {test}")
    print(f"\n{'category':<30}{'passed':>8}{'failed':>8}")
    for kind in sorted({*passed, *failed}):
        print(f"{kind:<30}{passed[kind]:>8}{failed[kind]:>8}")
    total = sum(passed.values())
    print(f"{'all':<30}{total:>8}{sum(failed.values()):>8}")
    return 0


def built(crate: Path, suite: str) -> Path | None:
    """Return the newest program of a suite of tests."""
    found = [path for path in crate.glob(f"target/*/deps/{suite}-*") if not path.suffix]
    return max(found, key=lambda path: path.stat().st_mtime, default=None)


def results(crate: Path, program: Path, only: list[str], jobs: str, *, theirs: bool) -> dict[str, bool]:
    """Return which tests of a program pass, with our program, or theirs, beside it."""
    version = next((value for name, value in VERSIONS.items() if f"agent-exec-{name}" in crate.name), "0.5")
    ours = Path(sys.executable).with_name("agent-exec")
    with tempfile.TemporaryDirectory() as folder:
        tests = Path(shutil.copy(program, Path(folder, program.name)))
        beside = Path(folder, "agent-exec")
        if theirs:
            shutil.copy(program.parents[1] / "agent-exec", beside)
        else:
            beside.write_text((HERE / "agent-exec").read_text().replace("#!PYTHON", f"#!{sys.executable}"))
            beside.chmod(0o755)
        env = {
            **os.environ,
            "PARITY_PROGRAM": str(ours),
            "PARITY_SCHEMA": version,
            "PARITY_DIALECT": "0.1" if "agent-exec-0.1." in crate.name else "0.2",
            "PARITY_SOURCE": str(HERE.parents[1] / "src"),
            "PATH": f"{ours.parent}:{os.environ['PATH']}",
        }
        env["TMPDIR"] = folder
        out = subprocess.run(
            [tests, f"--test-threads={jobs}", *only],
            env=env, cwd=crate, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True, check=False, errors="replace",
        )  # fmt: skip
        log = Path(tempfile.gettempdir(), f"parity-{'theirs' if theirs else 'ours'}-{program.name}.log")
        log.write_text(out.stdout)
        print(f"({log})")
    return {
        name: word == "ok"
        for name, word in re.findall(r"^test (\S+) \.\.\. (ok|FAILED)", out.stdout, re.MULTILINE)
    }


def category(test: str) -> str:
    """Return what a test is about, by its name."""
    return next((kind for kind, pattern in CATEGORIES if re.search(pattern, test)), "other")


if __name__ == "__main__":
    sys.exit(main())
