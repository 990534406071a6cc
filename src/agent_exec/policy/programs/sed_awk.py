"""The languages of sed and awk: programs in them that run nothing and write nothing are harmless."""

import re
from collections.abc import Sequence

from agent_exec.policy.programs.effects import NEVER, Effects, Inspector, Options, may_be_option, names_option
from agent_exec.policy.shell.word import Word

_PLACE = r"(?:[0-9]+(?:~[0-9]+)?|\$|/(?:\\[^\n]|[^/\\\n])*/I?)"
_MARK = r"[/|#,:;!%@~=+&]"
_SED = re.compile(
    rf"""[\s;]*(?P<place>(?:{_PLACE}(?:,[+~]?{_PLACE})?)?)\s*!?\s*
    (?: (?P<open>\{{)
      | \}}
      | [pdDPNnhHgGxlz=]
      | [qQ](?:\ ?[0-9]+)?
      | :[ \t]*\w+
      | [btT][ \t]*\w*
      | [aic][ \t]+[^\\\n]+
      | \#[^\n]*
      | s(?P<s>{_MARK})(?:\\[^\n]|(?!(?P=s))[^\\\n])*(?P=s)(?:\\[^\n]|(?!(?P=s))[^\\\n])*(?P=s)[gpIiMm0-9]*
      | y(?P<y>{_MARK})(?:\\[^\n]|(?!(?P=y))[^\\\n])*(?P=y)(?:\\[^\n]|(?!(?P=y))[^\\\n])*(?P=y)
    )[ \t]*""",
    re.VERBOSE | re.ASCII,
)
_BRACKETS = re.compile(r"\\.|\[\^?\]?(?:\[[:.=][^\]]*\]|[^\]])*\]|\[", re.DOTALL)
_SED_LETTERS = re.compile(r"-[nErsuz]+")
_SED_WORDS = frozenset(
    "--posix --sandbox --quiet --silent --regexp-extended --unbuffered --separate --null-data --debug --help "
    "--version".split()
)


def awk(words: Sequence[Word]) -> Effects:
    """Inspect awk: a program that runs nothing and writes nothing is harmless."""
    options = Options(
        words, "-F --field-separator -v --assign -f --file -e --source", "--posix --traditional --version"
    )
    effects = Effects()
    if options.unclear:
        return effects.require(len(words) - 1, "awk may run commands")
    if options.has("-f", "--file", "-e", "--source"):
        return effects.require(len(words) - 1, "awk runs code that was not seen")
    if options.at >= len(words):
        return effects
    program = words[options.at].text
    if program is None:
        return effects.require(NEVER, "awk runs code that was not seen")
    plain = program.replace("||", "")
    # Only after print is > more than a comparison.
    _, _, written = plain.partition("print")
    if ">" in written or any(mark in plain for mark in ("system", "|", "@", "getline", "extension")):
        effects.require(options.at, "awk may run commands or write files with this program")
    return effects


def sed(words: Sequence[Word]) -> Effects:
    """Inspect sed: plain commands are harmless; to change files in place needs a rule that says so."""
    effects = Effects()
    scripts: list[tuple[str | None, int]] = []
    operands: list[tuple[str | None, int]] = []
    at = 1
    ended = False
    while at < len(words):
        text = words[at].text
        if text is None:
            if may_be_option(words[at]) and not ended:
                return effects.require(NEVER, "it cannot be seen what sed would do")
            operands.append((None, at))
        elif ended or not text.startswith("-") or text == "-":
            operands.append((text, at))
        elif text == "--":
            ended = True
        elif text == "--expression" or re.fullmatch(r"-[nErsuz]*e", text):
            at += 1
            scripts.append((words[at].text if at < len(words) else None, at))
        elif text.startswith("--expression="):
            scripts.append((text.partition("=")[2], at))
        elif _SED_LETTERS.fullmatch(text) or text in _SED_WORDS:
            pass
        elif text.startswith("-i") or names_option(text, "--in-place"):
            effects.require(at, "sed -i changes files", guard=False)
        else:
            effects.require(len(words) - 1, "sed may run commands or write files with these options")
        at += 1
    if not scripts:
        # To some, -i takes the next word, often an empty one, and the script comes after it.
        scripts = operands[: 2 if operands[:1] and operands[0][0] == "" else 1]
    for script, place in scripts:
        if script is None:
            return effects.require(NEVER, "it cannot be seen what sed would do")
        if not _harmless(script):
            effects.require(place, "sed may run commands or write files with this script")
    return effects


def _split(text: str, mark: str) -> bool:
    """True if brackets hold the mark: some readers let a pattern go on to their end, others do not."""
    return any(
        one[0] == "[" and (one == "[" or "\\" in one or mark in one) for one in _BRACKETS.findall(text)
    )


def _harmless(script: str) -> bool:
    """True if a script of sed is a list of plain commands, the same to every reader."""
    at = 0
    end = len(script.rstrip("; \t\n"))
    while at < end:
        found = _SED.match(script, at)
        if found is None:
            return False
        mark = found["s"] or found["y"]
        rest = script[found.end("place") : found.end()]
        if _split(found["place"], "/") or (mark is not None and _split(rest, mark)):
            return False
        at = found.end()
        if at < end and found["open"] is None and script[at] not in ";\n}":
            return False
    return True


SPECIAL: dict[str, Inspector] = {
    **dict.fromkeys("awk gawk mawk nawk original-awk bwk goawk".split(), awk),
    **dict.fromkeys(["sed", "gsed", "ssed"], sed),
}
