"""The loop itself: what is due is done, once, to whom it is meant for, whatever else happens."""

import os

import pytest

from agent_exec.engine.loop import Loop

READ = 1


@pytest.fixture(params=[True, False], ids=["many", "few"])
def loop(request: pytest.FixtureRequest) -> Loop:
    return Loop(many=request.param, wakeable=True)


def test_an_event_of_a_closed_descriptor_does_not_reach_its_successor(loop: Loop) -> None:
    readers = [os.pipe() for _ in range(2)]
    seen: list[str] = []
    fresh: list[int] = []

    def first(events: int) -> None:
        """Whoever of the two is called first closes the other, and a new one gets its number."""
        for reader, writer in readers:
            loop.unwatch(reader)
            os.close(reader)
            os.close(writer)
        seen.append("first")
        reader, writer = os.pipe()
        fresh.extend((reader, writer))
        loop.watch(reader, READ, lambda _: seen.append("stale"))
        again, more = os.pipe()
        fresh.extend((again, more))
        loop.watch(again, READ, lambda _: seen.append("stale"))
        assert {reader, again} & {pair[0] for pair in readers}

    for reader, writer in readers:
        loop.watch(reader, READ, first)
        os.write(writer, b"x")
    loop.turn()
    assert seen == ["first"]
    for fd in fresh:
        loop.unwatch(fd)
        os.close(fd)
    loop.close()


def test_a_call_that_raises_loses_none_of_the_others(loop: Loop) -> None:
    seen: list[int] = []
    loop.post(lambda: seen.append(1))
    loop.post(lambda: seen.append(1 // 0))
    loop.post(lambda: seen.append(3))
    with pytest.raises(ZeroDivisionError):
        loop.turn()
    loop.turn()
    assert seen == [1, 3]
    assert loop.idle
    loop.close()


def test_calls_that_post_again_do_not_starve_the_rest(loop: Loop) -> None:
    turns: list[int] = []

    def again() -> None:
        turns.append(1)
        if len(turns) < 1000:
            loop.post(again)

    reader, writer = os.pipe()
    seen: list[int] = []
    loop.watch(reader, READ, seen.append)
    os.write(writer, b"x")
    loop.post(again)
    loop.turn()
    loop.turn()
    assert seen
    assert len(turns) <= 2
    loop.unwatch(reader)
    os.close(reader)
    os.close(writer)
    loop.close()


def test_timers_come_in_order_and_a_cancelled_one_never(loop: Loop) -> None:
    seen: list[str] = []
    late = loop.after(0.02, lambda: seen.append("late"))
    loop.after(0.01, lambda: seen.append("soon"))
    never = [loop.after(0.005, lambda: seen.append("never")) for _ in range(10)]
    for timer in never:
        timer.cancel()
        timer.cancel()
    while not loop.idle:
        loop.turn()
    assert seen == ["soon", "late"]
    late.cancel()
    loop.close()
