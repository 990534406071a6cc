"""A picture of a screen is XML that shows its text in its colours."""

from xml.etree import ElementTree as ET

import pytest
from hypothesis import given, settings

from agent_exec.terminal.picture import colour, svg
from agent_exec.terminal.screen import Screen
from terminal.pieces import streams

SPACE = "{http://www.w3.org/2000/svg}"


def lines(picture: str) -> list[str]:
    return ["".join(text.itertext()) for text in ET.fromstring(picture).iter(f"{SPACE}text")]


def test_a_picture_shows_text_in_its_colours() -> None:
    screen = Screen(5, 30)
    screen.feed(b'\x1b]0;a <b> & "c"\x07\x1b[1;31mred\x1b[0m <&> ]]>\r\n\r\n\x1b[7m rev \x1b[0m')
    screen.feed(b"\x1b[4;38;2;1;2;3;48;5;196mrgb\x1b[9m \x1b[m\x1b[3;2;8mhid\x1b[m " + "日本".encode())
    picture = svg(screen)
    root = ET.fromstring(picture)
    assert root.findtext(f"{SPACE}title") == 'a <b> & "c"'
    assert lines(picture) == ["red <&> ]]>", " revrgb hid 日本"]
    spans = {"".join(span.itertext()): span.attrib for span in root.iter(f"{SPACE}tspan")}
    assert spans["red"]["font-weight"] == "bold"
    assert spans["red"]["fill"] == colour(9)
    assert spans["rgb"]["fill"] == "#010203"
    assert spans["rgb"]["text-decoration"] == "underline"
    assert spans[" "]["text-decoration"] == "underline line-through"
    assert spans["hid"]["font-style"] == "italic"
    assert float(spans[" 日本"]["textLength"]) == pytest.approx(5 * 8.4, abs=0.1)
    fills = [box.get("fill") for box in root.iter(f"{SPACE}rect")]
    assert fills == ["#14161a", "#d6dae0", colour(196), colour(196), "#d6dae0"]
    assert [box.get("class") for box in root.iter(f"{SPACE}rect")][-1] == "cursor"
    screen.feed(b"\x1b[?25l")
    assert 'class="cursor"' not in svg(screen)


@pytest.mark.parametrize(
    ("number", "name"),
    [
        (16, "#000000"),
        (231, "#ffffff"),
        (196, "#ff0000"),
        (232, "#080808"),
        (255, "#eeeeee"),
        (1 << 24 | 255, "#0000ff"),
    ],
)
def test_colours(number: int, name: str) -> None:
    assert colour(number) == name


@settings(max_examples=100, deadline=None)
@given(streams)
def test_any_screen_has_a_picture_and_always_the_same(data: bytes) -> None:
    screens = [Screen(6, 20) for _ in range(2)]
    for screen in screens:
        screen.feed(data + "\ufffe\x00\u0085\U0010ffff".encode())
    pictures = [svg(screen) for screen in screens]
    assert pictures[0] == pictures[1]
    shown = "".join("".join(lines(pictures[0])).split())
    assert shown == "".join("".join(screens[0].text().replace("\ufffe", "\ufffd")).split())
