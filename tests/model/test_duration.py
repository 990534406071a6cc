"""Spans of time as people write them."""

import pytest

from agent_exec.model.command import seconds
from agent_exec.model.errors import InvalidArgument


@pytest.mark.parametrize(
    ("text", "span"),
    [
        ("0", 0.0),
        ("250ms", 0.25),
        ("2s", 2.0),
        ("5m", 300.0),
        ("1h", 3600.0),
        ("30d", 2_592_000.0),
        ("1.5s", 1.5),
        (".5s", 0.5),
        ("2.s", 2.0),
        ("0.5h", 1800.0),
        (" 2S ", 2.0),
        ("007s", 7.0),
        ("366d", 366 * 86400.0),
    ],
)
def test_a_span_with_its_unit(text: str, span: float) -> None:
    assert seconds(text, bare="s") == pytest.approx(span, abs=1e-12)


@pytest.mark.parametrize(("bare", "span"), [("ms", 1.5), ("s", 1500.0), ("m", 90_000.0)])
def test_a_bare_number_is_in_the_unit_of_its_option(bare: str, span: float) -> None:
    assert seconds("1500", bare=bare) == pytest.approx(span, abs=1e-12)
    assert seconds("2s", bare=bare) == 2.0


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "s",
        "ms",
        "-1",
        "-1s",
        "+1",
        "1e3",
        "1_000",
        "1,5s",
        "1 s",
        "5x",
        "5mss",
        "1h30m",
        "inf",
        "nan",
        "0x10",
        "٣s",
        "1.2.3s",
        ".",
        "s5",
        "5μs",
        "5w",
    ],
)
def test_what_is_none_is_refused(text: str) -> None:
    with pytest.raises(InvalidArgument, match="250ms, 2s, 5m, 1h or 30d"):
        seconds(text, bare="s")


@pytest.mark.parametrize("text", ["367d", "99999999999", "9" * 400])
def test_a_span_longer_than_a_year_is_a_mistake(text: str) -> None:
    with pytest.raises(InvalidArgument, match="longer than a year"):
        seconds(text, bare="s")
