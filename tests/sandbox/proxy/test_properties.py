"""Properties of names and rules that hold for whatever anybody thinks of."""

from hypothesis import given
from hypothesis import strategies as st

from agent_exec.sandbox.hosts import BadName, Host, Rules, canonical
from agent_exec.sandbox.proxy.framing import Chunked, Counted

LABELS = st.from_regex(r"[ab]([aB0-]{0,3}[abC1])?", fullmatch=True)
NAMES = st.lists(LABELS, min_size=1, max_size=5).map(".".join)
NASTY = st.text(alphabet="aA.-0x1:[]%@\\/\0 。éß*", max_size=24)


def read(text: str) -> Host | None:
    try:
        return canonical(text)
    except BadName:
        return None


@given(st.one_of(NAMES, NASTY, st.text(max_size=40)))
def test_reading_again_changes_nothing(text: str) -> None:
    host = read(text)
    if host is None:
        return
    assert canonical(host.text) == host
    assert canonical(host.text.upper()) == host
    assert canonical(host.text.encode()) == host
    assert host.name.isascii()
    assert not set(host.name) & set(" \0%@/\\*[]")


@given(st.one_of(NAMES, NASTY), st.lists(NAMES, min_size=1, max_size=4), st.booleans())
def test_nothing_but_an_allowed_name_or_one_below_it_is_allowed(
    text: str, names: list[str], below: bool
) -> None:
    host = read(text)
    if host is None:
        return
    allowed = [canonical(name) for name in names]
    rules = Rules([f"*.{name.name}" if below else name.name for name in allowed])
    labels = host.name.split(".")
    expected = any(
        len(labels) > len(name.name.split("."))
        and labels[-len(name.name.split(".")) :] == name.name.split(".")
        if below
        else host.name == name.name
        for name in allowed
    )
    assert (rules.match(host, 443) is not None) == (expected and host.address is None)


@given(st.binary(max_size=200), st.binary(max_size=50), st.integers(1, 20))
def test_a_body_ends_where_it_ends_however_it_is_cut(body: bytes, after: bytes, step: int) -> None:
    counted, chunked = Counted(len(body)), Chunked()
    coded = b"".join(
        b"%x;x=y\r\n%b\r\n" % (len(piece), piece)
        for piece in (body[i : i + 7] for i in range(0, len(body), 7))
    )
    plain = coded.replace(b";x=y\r\n", b"\r\n") + b"0\r\n\r\n" if b";x=y" not in body else None
    for frame, sent, expected in (
        (counted, body + after, body),
        (chunked, coded + b"0\r\nTrailer: x\r\n\r\n" + after, plain),
    ):
        out, rest = b"", b""
        for at in range(0, len(sent), step):
            piece = sent[at : at + step]
            if frame.done:
                rest += piece
            else:
                out += frame.feed(piece)
                rest = frame.rest
        assert frame.done
        assert rest == after
        if expected is not None:
            assert out == expected
