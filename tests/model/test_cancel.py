"""A Cancel: callbacks run once, in time, and not after their block."""

import threading

import pytest

from agent_exec.model.cancel import Cancel, check_cancel
from agent_exec.model.errors import InvalidArgument


def test_a_callback_runs_once_when_it_is_set() -> None:
    cancel, seen = Cancel(), list[int]()
    with cancel.calling(lambda: seen.append(1)), cancel.calling(lambda: seen.append(2)):
        assert not seen
        assert not cancel.is_set()
        cancel.set()
        assert sorted(seen) == [1, 2]
        cancel.set()
    assert sorted(seen) == [1, 2]
    assert cancel.is_set()


def test_a_late_callback_runs_at_once() -> None:
    cancel, seen = Cancel(), list[int]()
    cancel.set()
    with cancel.calling(lambda: seen.append(1)):
        assert seen == [1]


def test_no_callback_runs_after_its_block() -> None:
    cancel, seen = Cancel(), list[int]()
    with cancel.calling(lambda: seen.append(1)):
        pass
    cancel.set()
    assert not seen


def test_the_end_of_a_block_waits_for_its_callback() -> None:
    """What a callback uses, such as a descriptor, is there until it has returned."""
    cancel, entered, go = Cancel(), threading.Event(), threading.Event()
    order: list[str] = []

    def callback() -> None:
        entered.set()
        go.wait()
        order.append("callback")

    def wait() -> None:
        with cancel.calling(callback):
            entered.wait()
            go.set()
        order.append("closed")

    threads = [threading.Thread(target=wait)]
    threads[0].start()
    while not cancel._callbacks:  # until it is registered
        pass
    threads.append(threading.Thread(target=cancel.set))
    threads[1].start()
    for thread in threads:
        thread.join()
    assert order == ["callback", "closed"]


def test_it_can_be_set_where_it_is_registered() -> None:
    """As by a signal handler, which runs in the thread that it interrupts."""
    cancel = Cancel()
    with cancel._lock:
        cancel.set()
    assert cancel.is_set()


def test_a_wait() -> None:
    cancel = Cancel()
    assert not cancel.wait(0)
    threading.Timer(0.01, cancel.set).start()
    assert cancel.wait()
    assert cancel.wait(60)


def test_only_a_cancel_will_do() -> None:
    check_cancel(None)
    check_cancel(Cancel())
    with pytest.raises(InvalidArgument, match=r"agent_exec\.Cancel; got Event"):
        check_cancel(threading.Event())
