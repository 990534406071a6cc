"""Inspectors of shells: the line after -c is read, and any other code needs a rule that names it."""

from agent_exec.policy.programs.effects import NEVER, Effects, Options, is_input, name_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_exec.policy.programs.effects import Inspector
    from agent_exec.policy.shell.word import Word

_SETTINGS = frozenset(
    "errexit nounset pipefail xtrace verbose noglob noclobber errtrace functrace posix".split()
)
"""Options of a shell, as -o names them, that change nothing about which words are commands."""


def shell(words: "Sequence[Word]") -> Effects:
    """Inspect a shell: the line after -c is read."""
    effects = Effects()
    options = Options(
        words,
        "-o +o -O +O",
        "-a -b -c -e -f -h -i -k -l -m -n -p -r -s -t -u -v -x -B -C -E -H -P -T --login --noprofile --norc "
        "--posix --restricted --verbose --version --help --noediting",
    )
    name = name_of(words)
    settings = [value for option, value in options.seen if option == "-o"]
    # To bash a long option may have one dash, and this one reads a file.
    single = any(word.text == "-rcfile" for word in words[: options.at])
    unclear = options.strange is not None or single or options.has("+o", "-O", "+O", "-k", "-s")
    if unclear or any(setting not in _SETTINGS for setting in settings):
        return effects.require(NEVER, f"it cannot be seen what {name} would run")
    if options.has("--version", "--help"):
        return effects
    at = options.at
    text = words[at].text if at < len(words) else None
    ended = words[at - 1].text == "--"
    if text is None or is_input(text) or (not ended and (text == "-" or text.startswith("+"))):
        return effects.require(NEVER, f"{name} reads code from its input")
    if options.has("-c"):
        effects.transparent = True
        effects.lines.append(text)
        return effects
    effects.named.append(tuple(words[at:]))  # a file that is not here is looked for where programs are
    return effects.require(at, f"{name} runs a file that was not seen", guard=False)


def strange_shell(words: "Sequence[Word]") -> Effects:
    """Inspect a shell with another language; what reads as a line of ours in it can be denied."""
    effects = Effects().require(NEVER, f"the language of {name_of(words)} is not understood")
    for at, word in enumerate(words[:-1]):
        text = (word.text or "").casefold()
        following = words[at + 1].text
        if text in ("-c", "-lc", "-ic", "-command", "/c", "/k", "-e") and following is not None:
            effects.lines.append(following)
    return effects


SPECIAL: "dict[str, Inspector]" = {
    **dict.fromkeys("sh bash dash ash rbash gbash".split(), shell),
    **dict.fromkeys(
        """
    zsh ksh mksh pdksh oksh yash posh fish csh tcsh rc es nu xonsh elvish pwsh powershell cmd
    ion oil osh ysh hush zsh5 ksh93 lksh rzsh rksh
    """.split(),
        strange_shell,
    ),
}
