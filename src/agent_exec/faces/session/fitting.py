"""An answer within its budget: less of the output, and of what stands around it if there is no other way."""

from agent_exec.faces.session.omitted_ranges import cut, overlap, within
from agent_exec.faces.session.truncate import BYTES_A_TOKEN, cut_middle, most_bytes, shown, size_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from agent_exec.faces.session.answer import Answer
    from agent_exec.sessions.transcript import Taken


class Fitting:
    """What an answer was made from: what was `taken`, the output that it covers, and what is not kept.

    `whole` has all of the output; `exact` says that each byte is shown as it is.
    """

    __slots__ = ("_covered", "_exact", "_gaps", "_taken", "_whole")

    def __init__(
        self,
        whole: "Answer",
        taken: "Taken",
        covered: "Taken",
        gaps: "Callable[[], list[tuple[int, int]]]",
        *,
        exact: bool,
    ) -> None:
        self._whole = whole
        self._taken = taken
        self._covered = covered
        self._gaps = gaps
        self._exact = exact

    def fitted(self, tokens: int) -> "Answer":
        """Return the answer within so many tokens and a fifth, with what stands around the output.

        What is always there, some 150 bytes, may be more than a very small budget.
        """
        answer = self._cut(tokens, brief=False)
        room = most_bytes(tokens)
        if size_of(answer.text()) <= room:
            return answer
        bare = self._cut(0, brief=False)
        # The warning above the output goes if there would be little below it.
        brief = room - size_of(bare.text()) < room // 4
        if brief:
            bare = self._cut(0, brief=True)
        left = room - size_of(bare.text())
        if left < 0:  # of our own words, those that can be done without go first
            notes = [cut_middle(note, room // BYTES_A_TOKEN // 4) for note in bare.notes[:1]]
            return bare.replace(notes=notes)
        parts = 1 if bare.streams is None else 2
        return self._cut(left // BYTES_A_TOKEN // parts, brief=brief)

    def _cut(self, tokens: int, *, brief: bool) -> "Answer":
        whole, covered = self._whole, self._covered
        text, omitted = whole.output, self._taken.omitted
        output = shown(text, tokens, original_tokens=whole.original_token_count, omitted=omitted, brief=brief)
        missing = None if output is text else cut(text, tokens, covered, exact=self._exact)
        gaps = self._gaps() if missing or omitted else []
        return whole.replace(
            output=output,
            cut=missing,
            dropped=overlap(gaps, covered.start, covered.end),
            streams=within(whole.streams, tokens),
        )
