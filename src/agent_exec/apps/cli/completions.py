"""Completes command lines in shells: a small script for each shell, which asks this program for the words."""

from agent_exec.apps.options import GLOBAL, SAME_OPTIONS, SAME_VERBS, VERBS
from agent_exec.apps.parse import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from agent_exec.apps.option_groups import Option
    from agent_exec.apps.parse import Parsed

    Candidates = list[tuple[str, str]]

_SCRIPTS = {
    "bash": """\
_agent_exec() {
    local IFS=$'\\n'
    COMPREPLY=($(agent-exec completions words -- "${COMP_WORDS[@]:0:COMP_CWORD+1}" 2>/dev/null | cut -f1))
}
complete -o default -F _agent_exec agent-exec
""",
    "zsh": """\
#compdef agent-exec
_agent_exec() {
    local -a found
    local line
    for line in "${(@f)$(agent-exec completions words -- "${(@)words[1,CURRENT]}" 2>/dev/null)}"; do
        [[ -n $line ]] && found+=("${${line%%$'\\t'*}//:/\\\\:}:${line#*$'\\t'}")
    done
    (( $#found )) && _describe agent-exec found || _files
}
compdef _agent_exec agent-exec
""",
    "fish": """\
function __agent_exec_words
    agent-exec completions words -- (commandline -opc) (commandline -ct) 2>/dev/null
end
complete -c agent-exec -a '(__agent_exec_words)'
""",
    "powershell": """\
Register-ArgumentCompleter -Native -CommandName agent-exec -ScriptBlock {
    param($word, $line, $cursor)
    $typed = @($line.CommandElements | ForEach-Object { "$_" })
    if (-not $word) { $typed += '""' }
    agent-exec completions words -- @typed 2>$null | ForEach-Object {
        $found, $about = $_ -split "`t", 2
        [System.Management.Automation.CompletionResult]::new($found, $found, 'ParameterValue', "$about ")
    }
}
""",
}
_PLACES = {
    "bash": (
        "XDG_DATA_HOME",
        (".local", "share"),
        ("bash-completion", "completions", "agent-exec"),
        "a new shell completes, if bash-completion is installed",
    ),
    "zsh": (
        "XDG_DATA_HOME",
        (".local", "share"),
        ("zsh", "site-functions", "_agent-exec"),
        "have `fpath=({folder} $fpath)` in ~/.zshrc before compinit, and start a new shell",
    ),
    "fish": (
        "XDG_CONFIG_HOME",
        (".config",),
        ("fish", "completions", "agent-exec.fish"),
        "a new shell completes",
    ),
}
"""Where a shell finds the script: below the folder of a variable or the home; and what is left to do."""
_JOBS_SHOWN = 100
_LIVE, _OVER = ("created", "running"), ("exited", "killed", "failed")
_STATES = {"kill": _LIVE, "timeout": _LIVE, "abandon": _LIVE, "start": ("created",), "delete": _OVER}
"""The states of the jobs that a verb is for, if it is not for all."""
_VALUES = {
    "signal": ("TERM", "INT", "KILL", "HUP", "USR1", "USR2"),
    "state": ("created", "running", "exited", "killed", "failed"),
    "sandbox": ("workspace-write", "read-only", "full-access"),
    "profile": ("workspace-write", "read-only", "full-access"),
    "toolset": ("lean", "jobs", "session", "oneshot", "executor"),
    "net": ("off", "on"),
    "scope": ("user", "project"),
    "approvals": ("auto", "inbox", "client", "off"),
}


def completions(asked: "Parsed") -> str:
    """Return the script for a shell, or with `words` the candidates for the last of them, one a line."""
    if asked.words[:1] == ["words"]:
        found = candidates(asked.words[2:])
        return "".join(f"{word}\t{about}\n" for word, about in found)
    if len(asked.words) != 1 or asked.words[0] not in _SCRIPTS:
        raise UsageError(f"name a shell: {', '.join(_SCRIPTS)}", "completions")
    script = _SCRIPTS[asked.words[0]]
    return _install(asked.words[0], script) if "install" in asked.options else script


def _install(shell: str, script: str) -> str:
    """Write the script where a shell finds it; return what is left to do."""
    import os

    from agent_exec.places import make_folder, write_file

    if shell not in _PLACES:
        raise UsageError(
            f"--install knows no place for {shell}; add the script to your profile", "completions"
        )
    variable, below_home, name, more = _PLACES[shell]
    base = os.environ.get(variable) or os.path.join(os.path.expanduser("~"), *below_home)
    file = os.path.join(base, *name)
    make_folder(os.path.dirname(file))
    write_file(file, script.encode())
    return f"{file} is written; {more.format(folder=os.path.dirname(file))}\n"


def candidates(words: "Sequence[str]") -> "Candidates":
    """Return what the last word can become, each with a short explanation; the program's name is left out."""
    *before, part = words or [""]
    part = "" if part == '""' else part  # as PowerShell may pass an empty word
    verb, plain, option = _place(before)
    if option is not None:
        found = _values(option, before)
    elif verb is None:
        found = [(name, one.about) for name, one in VERBS.items()]
    elif part.startswith("-"):
        own = VERBS[verb].options
        named = {one[0] for one in own}
        found = [(f"--{one[0]}", one[3]) for one in (*own, *(one for one in GLOBAL if one[0] not in named))]
    else:
        found = _words(verb, plain, before)
    return [(word, about) for word, about in found if word.startswith(part)]


def _place(before: "Sequence[str]") -> "tuple[str | None, list[str], Option | None]":
    """Return the verb, its words so far, and the option whose value comes next."""
    known = {option[0]: option for option in GLOBAL}
    verb: str | None = None
    plain: list[str] = []
    option: Option | None = None
    for word in before:
        if option is not None:
            option = None
        elif word.startswith("--"):
            name, joined, _ = word[2:].partition("=")
            found = known.get(SAME_OPTIONS.get(name, name))
            option = None if joined or found is None or found[1] == "flag" else found
        elif verb is None:
            verb = SAME_VERBS.get(word, word)
            if verb in VERBS:
                known |= {one[0]: one for one in VERBS[verb].options}
            else:
                verb = None  # such as help, which takes a verb
        else:
            plain.append(word)
    return verb, plain, option


def _words(verb: str, plain: list[str], before: "Sequence[str]") -> "Candidates":
    """Return the words of a verb that may come next: what it does, or the jobs it can be done to."""
    ways = [way.strip(" []") for way in VERBS[verb].words.split("|")]
    first = [way.split()[0] for way in ways if way and way.split()[0].islower()]
    if first and not plain:
        return [(word, "") for word in first]
    if verb == "approvals":
        return _questions(plain)
    if any("JOB" in way for way in ways) and len(plain) == bool(first):
        jobs = _jobs(before, _STATES.get(verb, ()))
        found = [
            (job["job_id"], f"{job['state']} {' '.join(job['command'])[:60]}".replace("\n", " "))
            for job in jobs
        ]
        if jobs and verb not in _STATES:
            tags = sorted({tag for job in jobs for tag in job.get("tags", ())})
            found += [
                ("last", "the newest job of this folder"),
                *((f"@{tag}", "its newest job") for tag in tags),
            ]
        return found
    return []


def _questions(plain: list[str]) -> "Candidates":
    """Return the questions that wait for an approval, or the answers to one; none if they cannot be read."""
    from agent_exec.model.errors import AgentExecError
    from agent_exec.requests.inbox_folder import waiting

    try:
        found = waiting() if plain[0] in ("show", "answer") else []
    except (AgentExecError, OSError):
        return []
    if len(plain) == 1:
        return [(one["id"], one["command"][:60].replace("\n", " ")) for one in found]
    named = [one for one in found if plain[0] == "answer" and one["id"] == plain[-1]]
    return [(answer, "") for one in named for answer in one["answers"]]


def _values(option: "Option", before: "Sequence[str]") -> "Candidates":
    name = option[0]
    if name == "tag":
        return [(tag, "") for tag in sorted({tag for job in _jobs(before) for tag in job.get("tags", ())})]
    return [(value, "") for value in _VALUES.get(name, ())]


def _jobs(before: "Sequence[str]", states: "Sequence[str]" = ()) -> "list[dict[str, Any]]":
    """Return the newest jobs of the working directory; none if the store cannot be read."""
    from agent_exec.faces.verbs import Jobs
    from agent_exec.jobs.store import jobs_store
    from agent_exec.model.errors import AgentExecError
    from agent_exec.places import here

    roots = [before[place + 1] for place, word in enumerate(before[:-1]) if word == "--root"]
    try:
        jobs = Jobs(jobs_store(roots[-1] if roots else None))
        found: list[dict[str, Any]] = jobs.list(cwd=here(), states=states, limit=_JOBS_SHOWN)["jobs"]
    except (AgentExecError, OSError):
        return []
    return found
