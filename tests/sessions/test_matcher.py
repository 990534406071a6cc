"""What is waited for is found, however much comes before it."""

from agent_exec.sessions.matcher import Matcher

PIECE = b"hay and hay\n" * 5000


def test_what_comes_last_is_searched() -> None:
    matcher = Matcher(["nothing", "need(le)?"])
    for _ in range(500):
        matcher.feed(PIECE)
    matcher.feed(b"a needle")
    matcher.search()
    assert matcher.place == 500 * len(PIECE) + 2
    matcher.feed(PIECE)
    assert not matcher.behind


def test_a_match_may_come_in_pieces() -> None:
    matcher = Matcher(["need(le)? here"])
    for piece in (PIECE, b"nee", b"dle h", b"ere"):
        assert matcher.place is None
        matcher.feed(piece)
        matcher.search()
    assert matcher.place == len(PIECE)


def test_a_pattern_without_end_is_given_up() -> None:
    matcher = Matcher([r"^(\w|\w\w)+$"])
    for _ in range(200):
        matcher.feed(b"a" * 50_000 + b"!\n")
        assert matcher._waiting <= 1 << 22
        matcher.search(0.01)
    assert matcher.place is None
    assert not matcher.behind
