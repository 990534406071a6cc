"""The rules that an "always" would write down: the narrowest that allow what was asked, never broad ones."""

from agent_exec.policy.programs.effects import NEVER, name_of, unversioned
from agent_exec.policy.programs.inspect import inspect
from agent_exec.policy.rule import Rule
from agent_exec.policy.shell.word import known

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agent_exec.policy.verdict import Verdict

_BROAD = frozenset(
    """
    sh bash dash ash zsh ksh mksh fish csh tcsh pwsh powershell cmd nu xonsh busybox toybox env sudo doas su
    python pypy ipython py node nodejs deno bun ruby irb perl php lua luajit julia r rscript osascript tclsh
    awk gawk mawk nawk sed find xargs parallel git hg svn npm npx pnpm yarn bunx uv uvx pip pipx poetry cargo
    go make cmake ninja just docker podman kubectl ssh scp rsync rm dd mkfs eval exec source . command
    builtin time timeout nice nohup setsid watch script strace gdb vi vim nvim emacs ed ex curl wget nc ncat
    socat tar crontab at systemctl apt apt-get dnf yum brew chmod chown kill pkill killall
    """.split()
)
_BROAD_PAIRS = frozenset(
    """
    npm:run npm:exec npm:x pnpm:run pnpm:exec pnpm:dlx yarn:run yarn:exec yarn:dlx bun:run bun:x deno:run
    go:run cargo:run uv:run poetry:run pipx:run docker:run docker:exec kubectl:exec git:config
    git:push rm:-rf rm:-r rm:-f python:-c python:-m node:-e perl:-e ruby:-e php:-r sh:-c bash:-c bash:-lc
    zsh:-c zsh:-lc
    """.split()
)


def propose(verdict: "Verdict") -> tuple[Rule, ...]:
    """Return a rule for each command that asks; none at all if one of them no rule could allow."""
    rules: list[Rule] = []
    for finding in verdict.findings:
        if finding.kind == "allow":
            continue
        texts = [text for text in finding.words if text is not None]
        if finding.what != "command" or len(texts) != len(finding.words) or broad(tuple(texts)):
            return ()
        against = finding.rule is not None and finding.rule.verdict != "allow"
        effects = inspect(known(texts))
        if against or effects.need >= NEVER or effects.code == "input":
            return ()
        rule = Rule(texts, "allow", exact=True)
        if rule not in rules:
            rules.append(rule)
    return tuple(rules)


def broad(prefix: "tuple[str, ...]") -> bool:
    """True if a prefix covers too much to be allowed in passing."""
    if not prefix:
        return True
    name = name_of(known(prefix))
    names = {name, unversioned(name)}
    if len(prefix) == 1:
        return bool(names & _BROAD)
    return len(prefix) == 2 and any(f"{one}:{prefix[1]}" in _BROAD_PAIRS for one in names)
