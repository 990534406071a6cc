"""A line taken apart into words, quotes kept; and words put so that they are taken apart again.

Both kinds of quotes keep all between them as it is, parts without a blank
between them are one word, and a backslash is a letter like others: nothing is
ever expanded.
"""

from agent_exec.model.value import Value

BLANKS = " \t"
QUOTES = "'\""
_SPECIAL = frozenset(BLANKS + QUOTES + "\n\r\v\f")


class Word(Value):
    """A word, where it begins and ends in its line, and the quote that was not closed, if any."""

    text: str
    start: int
    end: int
    open: str = ""


def words_in(line: str) -> list[Word]:
    """Return the words of a line, in order; only the last may have an open quote."""
    found: list[Word] = []
    place, end = 0, len(line)
    while place < end:
        if line[place] in BLANKS:
            place += 1
            continue
        start, parts, quote = place, [], ""
        while place < end and line[place] not in BLANKS:
            if line[place] in QUOTES:
                quote = line[place]
                close = line.find(quote, place + 1)
                if close < 0:
                    parts.append(line[place + 1 :])
                    place = end
                    break
                parts.append(line[place + 1 : close])
                place, quote = close + 1, ""
            else:
                begin = place
                while place < end and line[place] not in BLANKS and line[place] not in QUOTES:
                    place += 1
                parts.append(line[begin:place])
        found.append(Word("".join(parts), start, place, quote))
    return found


def split(line: str) -> list[str]:
    """Return the words of a line as text; raise ValueError if a quote is not closed."""
    found = words_in(line)
    if found and found[-1].open:
        raise ValueError(f"the quote {found[-1].open} is not closed")
    return [word.text for word in found]


def quote(word: str) -> str:
    """Return a word so that a line with it has it as one word; as it is, if it can be."""
    if word and _SPECIAL.isdisjoint(word):
        return word
    if "'" not in word:
        return f"'{word}'"
    if '"' not in word:
        return f'"{word}"'
    return "'" + word.replace("'", "'\"'\"'") + "'"


def joined(words: "tuple[str, ...]") -> str:
    """Return a line of these words."""
    return " ".join(map(quote, words))
