"""The inspector of git: configuration, aliases, helpers and hooks that its words name."""

import re
from collections.abc import Sequence

from agent_exec.policy.programs.effects import NEVER, Effects, may_be_option, names_option
from agent_exec.policy.shell.word import Word

_COMMANDS = frozenset(
    """
    add am annotate apply archive bisect blame branch bundle cat-file check-attr check-ignore
    check-mailmap check-ref-format checkout checkout-index cherry cherry-pick clean clone column
    commit commit-graph commit-tree config count-objects describe diff diff-files diff-index
    diff-tree fast-export fast-import fetch fetch-pack fmt-merge-msg for-each-ref format-patch
    fsck gc get-tar-commit-id grep gui hash-object help index-pack init interpret-trailers log
    ls-files ls-remote ls-tree mailinfo mailsplit merge merge-base merge-file merge-index
    merge-tree mktag mktree multi-pack-index mv name-rev notes pack-objects pack-redundant
    pack-refs patch-id prune prune-packed pull push range-diff read-tree rebase reflog remote
    repack replace request-pull rerere reset restore rev-list rev-parse revert rm shortlog show
    show-branch show-index show-ref sparse-checkout stage stash status stripspace submodule
    switch symbolic-ref tag unpack-file unpack-objects update-index update-ref
    update-server-info var verify-commit verify-pack verify-tag version whatchanged worktree
    write-tree
    """.split()
)
_RUNNING = {
    "bisect": ("run", "visualize", "view"),
    "submodule": ("foreach", "update", "add", "init"),
    "remote": ("add", "set-url", "update", "prune"),
}
"""Commands that run others, or what was configured, when they are given these words."""
_HARD = (
    "difftool mergetool merge-index filter-branch send-email instaweb daemon shell for-each-repo hook".split()
)
"""Commands that are there to run other programs."""
_SOFT = "help gui var fast-import am citool maintenance".split()
_REMOTE = "clone fetch pull push ls-remote remote submodule archive fetch-pack send-pack".split()
"""Commands whose words may be the address of a repository, and so name a program to reach it."""
_DANGEROUS = (
    "--upload-pack --receive-pack --exec --extcmd --open-files-in-pager --ext-diff --output --template "
    "--separate-git-dir --tool --gpg-sign --strategy --show-signature --sendmail-cmd --smtp-server"
).split()
"""Options that run or write something, of any command."""
_ALSO = {"clone": ("--config",), "archive": ("--remote",), "notes": ("--strategy",)}
_FINE = frozenset("--output-indicator-new --strategy-option --templates".split())
_SHORT = {
    **dict.fromkeys(("cherry-pick", "revert", "commit", "am"), "S"),
    **dict.fromkeys(("merge", "pull"), "sS"),
    **dict.fromkeys(("archive", "format-patch"), "o"),
    "clone": "uc",
    "grep": "O",
    "rebase": "xsS",
    "difftool": "xtg",
    "tag": "su",
}
"""Letters of the short options that do, for each command."""
_VALUED = (
    "-C -c --git-dir --work-tree --namespace --config-env --exec-path --super-prefix --attr-source".split()
)
_MESSAGE = re.compile(r"-[asvqenf]*[mF]|--message|--file")
_MESSAGES = ("commit", "tag", "merge", "stash", "notes")
"""Commands to which what follows such an option is any text."""
_READING = frozenset("--get --get-all --get-regexp --get-urlmatch --get-color --get-colorbool --list".split())
_SCOPES = frozenset(
    "--global --local --system --worktree --bool --int --path --null --show-origin --show-scope --name-only "
    "--includes --no-includes --bool-or-int --expiry-date".split()
)
_LETTERS = re.compile(r"-[zl]+")
_HARMLESS = re.compile(
    r"(?:color\..*|advice\..*|user\.(?:name|email)|core\.quotepath|init\.defaultbranch)=.*", re.IGNORECASE
)
"""Settings of colours, advice and the author."""


def git(words: Sequence[Word]) -> Effects:
    """Inspect git: a rule must name what is configured on the way, and what is not a command of git's own."""
    effects = Effects()
    at = _globals(effects, words)
    if at >= len(words):
        return effects
    command = words[at].text
    if command is None:
        return effects.require(NEVER, "it cannot be seen what git would do")
    if command in _HARD:
        effects.require(len(words) - 1, f"git {command} runs other programs")
    elif command not in _COMMANDS:
        effects.require(at, f"git {command} may be an alias, or a program of its own", guard=False)
    elif command in _SOFT or (command == "config" and not _reads(words[at + 1 :])):
        settings = [word.text.removeprefix("!").split() for word in words[at + 1 :] if word.text]
        effects.named += [tuple(map(Word, setting)) for setting in settings]
        effects.require(len(words) - 1, f"git {command} may run or set up other programs", guard=False)
    for place in range(at + 1, len(words)):
        _argument(effects, command, words, place)
    return effects


def _reads(words: Sequence[Word]) -> bool:
    """True if git config with these words only tells what is set."""
    at, lists = 0, False
    while at < len(words):
        text = words[at].text
        if text is None or not text.startswith("-"):
            break
        if text in _READING or _LETTERS.fullmatch(text):
            lists = lists or text in _READING or "l" in text
        elif text in ("-f", "--file", "--blob", "--type", "--default"):
            at += 1
        elif text not in _SCOPES and not text.startswith(("--file=", "--blob=", "--type=", "--default=")):
            return False
        at += 1
    operands = [word.text for word in words[at:]]
    if lists or operands[:1] in (["get"], ["list"]):
        return True
    return len(operands) == 1 and operands[0] is not None and "." in operands[0]


def without_globals(words: Sequence[Word]) -> tuple[Word, ...] | None:
    """Return a command of git without the options before its name, which no rule should have to foresee."""
    at = _globals(Effects(), words)
    return (words[0], *words[at:]) if at > 1 else None


def _globals(effects: Effects, words: Sequence[Word]) -> int:
    """Note the options before the command's name; return where that is."""
    at = 1
    while at < len(words):
        text = words[at].text
        if text is None:
            if may_be_option(words[at]):
                effects.require(NEVER, "it cannot be seen what git would do")
            return at
        if not text.startswith("-"):
            return at
        name, equals, value = text.partition("=")
        if name in _VALUED and not equals and name != "--exec-path":
            at += 1
            value = (words[at].text or "") if at < len(words) else ""
            if at < len(words) and words[at].text is None:
                effects.require(NEVER, f"it cannot be seen what git {name} sets")
        if name == "-c" and _HARMLESS.fullmatch(value):
            pass
        elif name in ("-c", "--config-env", "--exec-path"):
            effects.require(at, f"git {name} may set up other programs to run")
            _, _, command = value.partition("=")
            effects.lines += [command.removeprefix("!")] if command else []
        elif name in ("-C", "--git-dir", "--work-tree", "-p", "--paginate"):
            effects.require(at, f"git {name} uses what is configured elsewhere", guard=False)
        at += 1
    return at


def _argument(effects: Effects, command: str, words: Sequence[Word], at: int) -> None:
    word, before, last = words[at], words[at - 1].text or "", len(words) - 1
    text = word.text
    if word.single and command in _MESSAGES and _MESSAGE.fullmatch(before):
        return
    if text is None:
        if may_be_option(word) and not any(one.text == "--" for one in words[:at]):
            effects.require(NEVER, f"it cannot be seen what git {command} would do")
        return
    if text not in _FINE and names_option(text, *_DANGEROUS, *_ALSO.get(command, ())):
        effects.require(last, f"git {command} {text} may run or write something else")
        line = text.partition("=")[2] if "=" in text else words[at + 1].text if at < last else None
        if line and not names_option(text, "--output", "--template", "--strategy", "--remote", "--tool"):
            effects.lines.append(line)
    short = _SHORT.get(command, "")
    if short and text[:1] == "-" and text[1:2] != "-" and any(mark in text[1:] for mark in short):
        effects.require(last, f"git {command} {text} may run something else")
    if "::" in text and command in _REMOTE:
        effects.require(last, f"{text} may name a program to run")
    if text in _RUNNING.get(command, ()):
        effects.require(last, f"git {command} {text} may run other programs")
        if text == "run":
            effects.inner.append(tuple(words[at + 1 :]))
        if text == "foreach":
            rest = [one.text for one in words[at + 1 :] if one.text not in ("--recursive", "-q", "--quiet")]
            if rest and None not in rest:
                effects.lines.append(" ".join(filter(None, rest)))
