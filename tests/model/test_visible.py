"""Text of others in sentences of ours."""

import pytest

from agent_exec.model.visible import is_plainly_a_name, visible


def test_what_can_be_seen_is_as_it_is() -> None:
    assert visible("make -j8 'é 日本'") == "make -j8 'é 日本'"


@pytest.mark.parametrize(
    "code", [0, 7, 10, 27, 0x7F, 0x85, 0x9B, 0x202E, 0x2066, 0x200F, 0x61C, 0x2028, 0xDCFF]
)
def test_what_a_screen_would_obey_is_written_out(code: int) -> None:
    told = visible(f"a{chr(code)}b")
    assert told.isprintable()
    assert told[0] + told[-1] == "ab"
    assert "\\" in told


def test_a_path_is_plain_or_not() -> None:
    assert all(map(is_plainly_a_name, ("/etc/x", "~/a.b-c_d+e", "é", "x@y")))
    assert not any(map(is_plainly_a_name, ("", "a b", "a'b", "a)b", "a\nb", "a\x9bb", "a;b", "a" * 257)))
