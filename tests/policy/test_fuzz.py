"""The fuzzer: a fixed small number of its lines passes, and it notices a judge with a hole."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

from agent_exec.policy.shell.parsed_line import Reading

TOOL = Path(__file__).parents[2] / "tools" / "fuzz_policy.py"


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    spec = importlib.util.spec_from_file_location("fuzz_policy", TOOL)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["fuzz_policy"] = module
    spec.loader.exec_module(module)
    return module


def test_no_generated_line_that_passes_runs_the_canary(tool: ModuleType) -> None:
    *_, tally = tool.fuzz(seed=1, lines=1500)
    assert tally.judged == 1500
    assert tally.passed > 30
    assert tally.failures == []


def test_a_seed_gives_the_same_lines_again(tool: ModuleType) -> None:
    known = tool.corpus()
    lines = [tool.generate(7, number, known) for number in range(50)]
    assert lines == [tool.generate(7, number, known) for number in range(50)]
    assert lines != [tool.generate(8, number, known) for number in range(50)]
    assert all("canary" in line for line in lines)


def test_a_judge_that_believes_too_much_is_found_out(
    tool: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    for check in ("begins", "ends"):
        monkeypatch.setattr(Reading, check, lambda _self, _node: True)
    monkeypatch.setattr(tool, "generate", lambda _seed, _number, _known: "x=()#a canary")
    *_, tally = tool.fuzz(seed=1, lines=1)
    assert ("allowed", "bash", "x=()#a canary") in tally.failures
