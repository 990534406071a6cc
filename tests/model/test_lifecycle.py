"""The state table: every path ends, and no phase is forgotten."""

from pathlib import Path

from agent_exec.model.lifecycle import EVENTS, PHASES, TABLE, picture

ALIVE = [phase for phase in PHASES if phase != "ended"]


def test_every_phase_and_event_is_named() -> None:
    for (phase, event), (to, _) in TABLE.items():
        assert phase in PHASES
        assert event in EVENTS
        assert to in PHASES
    assert {event for _, event in TABLE} == set(EVENTS)


def test_every_live_phase_accepts_stop_abort_and_failure() -> None:
    for phase in PHASES:
        assert (phase, "stop") in TABLE
        assert (phase, "abort") in TABLE
    for phase in ALIVE:
        assert TABLE[phase, "failed"] == ("ended", ("finish",))


def test_it_is_finished_exactly_once_and_on_every_way_to_the_end() -> None:
    for (phase, _), (to, effects) in TABLE.items():
        assert ("finish" in effects) == (to == "ended" and phase != "ended")
        assert effects.count("finish") <= 1


def test_force_is_used_once_on_each_way() -> None:
    """And again only when its clock says that something resists it."""
    for (phase, event), (to, effects) in TABLE.items():
        assert ("kill" in effects) == (to == "killing" and (phase != "killing" or event == "expired"))
        if phase in ("killing", "ended"):
            assert not {"terminate", "spawn"} & set(effects)


def test_from_everywhere_there_is_a_way_to_the_end() -> None:
    reach = {"ended"}
    while True:
        more = {phase for (phase, _), (to, _) in TABLE.items() if to in reach} - reach
        if not more:
            break
        reach |= more
    assert reach == set(PHASES)


def test_where_a_clock_runs_its_end_is_known() -> None:
    clocks = {"time_run": "running", "time_grace": "stopping", "time_drain": "lingering"}
    for to, effects in TABLE.values():
        for effect in effects:
            if effect in clocks:
                assert to == clocks[effect]
                assert (to, "expired") in TABLE


def test_the_picture_in_the_documentation_is_the_table() -> None:
    text = (Path(__file__).parents[2] / "ARCHITECTURE.md").read_text()
    assert picture() in text, "print agent_exec.model.lifecycle.picture() into ARCHITECTURE.md"
