"""Secrets are masked byte for byte in whatever is read of a log, however it is read."""

from hypothesis import given, settings
from hypothesis import strategies as st

from agent_exec.views.reader import Source, masking, of_bytes

LETTERS = st.binary(min_size=1, max_size=6).map(lambda data: bytes(97 + byte % 3 for byte in data))
"""Of so few letters that secrets overlap, repeat, and lie in each other."""


def stars(data: bytes, secrets: list[bytes]) -> bytes:
    """Return the bytes with every byte of every secret masked, in the plainest way."""
    hidden = {
        at
        for secret in secrets
        for start in range(len(data))
        if data.startswith(secret, start)
        for at in range(start, start + len(secret))
    }
    return bytes(42 if at in hidden else byte for at, byte in enumerate(data))


@settings(max_examples=400, deadline=None)
@given(st.lists(LETTERS, max_size=30).map(b"".join), st.lists(LETTERS, max_size=4), st.data())
def test_any_part_of_a_log_is_read_without_the_secrets_in_the_whole(
    data: bytes, secrets: list[bytes], draw: st.DataObject
) -> None:
    expected = stars(data, secrets)
    source = Source(of_bytes(data), 0, len(data), secrets)
    start = draw.draw(st.integers(0, len(data)))
    end = draw.draw(st.integers(start, len(data)))
    assert source.between(start, end) == expected[start:end]
    found, at = b"", 0
    while at < len(data):
        _, piece = source.piece(at, draw.draw(st.integers(1, 5)))
        found += piece
        at += len(piece)
    assert found == expected


@given(st.lists(LETTERS, min_size=2, max_size=9).map(b"".join), LETTERS, st.data())
def test_no_secret_is_put_together_across_output_that_is_gone(
    data: bytes, secret: bytes, draw: st.DataObject
) -> None:
    first = draw.draw(st.integers(1, len(data) - 1))

    def read(start: int, most: int) -> tuple[int, bytes]:
        if start < first:
            return start, data[start : min(first, start + most)]
        start = max(start, first + 5)  # five bytes are gone here
        return start, data[start - 5 : start - 5 + most]

    found = masking(read, [secret])
    assert found(0, first)[1] == stars(data[:first], [secret])
    assert found(first, len(data)) == (first + 5, stars(data[first:], [secret]))
