"""Keys by their names become the bytes that a terminal sends."""

import pytest

from agent_exec.model.errors import InvalidArgument
from agent_exec.terminal.keys import translate


@pytest.mark.parametrize(
    ("text", "sent"),
    [
        ("ls -l<Enter>", b"ls -l\r"),
        ("<C-c>", b"\x03"),
        ("<c-C>", b"\x03"),
        ("<C-d><C-[><C-@><C-Space><C-\\><C-?>", b"\x04\x1b\0\0\x1c\x7f"),
        ("<Up><Down><Right><Left><Home><End>", b"\x1b[A\x1b[B\x1b[C\x1b[D\x1b[H\x1b[F"),
        ("<Tab><S-Tab><Esc><BS><Del><Insert><Space>", b"\t\x1b[Z\x1b\x7f\x1b[3~\x1b[2~ "),
        ("<PageUp><PageDown>", b"\x1b[5~\x1b[6~"),
        ("<F1><F2><F3><F4><F5>", b"\x1bOP\x1bOQ\x1bOR\x1bOS\x1b[15~"),
        ("<F6><F7><F8><F9><F10><F11><F12>", b"\x1b[17~\x1b[18~\x1b[19~\x1b[20~\x1b[21~\x1b[23~\x1b[24~"),
        ("<A-x><M-X><A-Enter><C-A-c>", b"\x1bx\x1bX\x1b\r\x1b\x03"),
        ("<C-Right><S-F5><C-S-Up><S-F1>", b"\x1b[1;5C\x1b[15;2~\x1b[1;6A\x1b[1;2P"),
        ("<lt>Up>", b"<Up>"),
        ("a < b > c <> << <<EOF\n", b"a < b > c <> << <<EOF\n"),
        ("x<y<Enter>", b"x<y\r"),
        ("größer", "größer".encode()),
        ("", b""),
    ],
)
def test_keys(text: str, sent: bytes) -> None:
    assert translate(text) == sent


def test_the_other_form_of_cursor_keys() -> None:
    assert translate("<Up><Home><C-Up><F1><Del>", application=True) == b"\x1bOA\x1bOH\x1b[1;5A\x1bOP\x1b[3~"


@pytest.mark.parametrize(
    "name", ["Foo", "C-Foo", "html", "F13", "F0", "C-", "X-a", "C-é", "stdio.h", "S-C-x", "/a"]
)
def test_an_unknown_name_is_refused_by_name(name: str) -> None:
    with pytest.raises(InvalidArgument, match="unknown key") as caught:
        translate(f"text <{name}> more")
    assert f"<{name}>" in caught.value.message
    assert caught.value.details == {"key": name}
