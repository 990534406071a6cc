"""The verbs of the command line, with their options and words: the one place for parser and help.

An option is its name, its kind, what stands for its value, and what it does.
Kinds: "flag"; "text"; "many" (may be repeated); "count" (0, 1, 2, …); "ms"
and "s" (a span of time: 250ms, 2s, 5m, 1h; bare numbers in that unit).
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    Option = tuple[str, str, str, str]

ROOT: "Option" = (
    "root",
    "text",
    "DIR",
    "the folder of jobs (default: $AGENT_EXEC_ROOT, or the data folder)",
)
VERBOSE: "Option" = ("verbose", "flag", "", "say on stderr what is being done")
HELP: "Option" = ("help", "flag", "", "show this help")
GLOBAL = (ROOT, VERBOSE, HELP)
SHORT = {"-h": "help", "-v": "verbose", "-vv": "verbose", "-vvv": "verbose"}
SAME_OPTIONS = {"lines": "tail-lines", "policy": "rules"}
SAME_VERBS = {"rm": "delete"}
BEFORE_COMMAND = (("policy", "explain"), ("sandbox", "run"))
"""After these words, as after `run`, comes a command, whose options are its own."""

_LINES: "Option" = (
    "tail-lines",
    "count",
    "N",
    "show at most so many lines of each stream (50; 0: no limit)",
)
_BYTES: "Option" = ("max-bytes", "count", "N", "show at most so many bytes of each stream (65536)")
_EXIT: "Option" = (
    "exit-code",
    "flag",
    "",
    "exit as the job did; 124: it runs, 125: nobody knows, 127: it never ran",
)
_UNPROTECT: "Option" = (
    "unprotect",
    "many",
    "NAME",
    "let commands make and change this name (.github)",
)

_RULES: "Option" = (
    "rules",
    "text",
    "FILE",
    "judge by these rules (default: $AGENT_EXEC_RULES, or the configuration folder)",
)
_DRY: "Option" = ("dry-run", "flag", "", "only say what would be done")

_HTTP: "tuple[Option, ...]" = (
    ("http", "flag", "", "serve over HTTP, in place of stdin and stdout; every request needs a token"),
    ("port", "count", "N", "http: the port (8765; 0: any)"),
    ("host", "text", "ADDRESS", "http: the address to serve at (127.0.0.1)"),
    ("allow-remote", "flag", "", "http: let --host be one that other machines can reach"),
    ("token-file", "text", "FILE", "http: a private file with the token (default: in the state folder)"),
    ("idle-timeout", "s", "TIME", "http: forget a client that has asked nothing for this time (30m)"),
)
_INSTALL: "tuple[Option, ...]" = (
    (
        "client",
        "text",
        "NAME",
        "install: claude-code, claude-desktop, codex, cursor, gemini or vscode",
    ),
    ("scope", "text", "user|project", "install: for all your projects (user), or for the current folder"),
    ("name", "text", "NAME", "install: what we are called there (agent-exec)"),
    _DRY,
    ("yes", "flag", "", "install: do it without asking"),
)

_LIST: "tuple[Option, ...]" = (
    ("limit", "count", "N", "show at most so many jobs (50; 0 is no limit)"),
    ("cwd", "text", "DIR", "jobs of this working directory (default: the current one)"),
    ("all", "flag", "", "jobs of every working directory"),
    ("tag", "many", "TAG", "jobs with this tag; ns.* is ns and all below it"),
)


class Verb:
    """One verb: what it is for, the words it takes, its options, and examples."""

    __slots__ = ("about", "examples", "options", "words")

    def __init__(
        self, about: str, words: str, options: "tuple[Option, ...]", examples: tuple[str, ...]
    ) -> None:
        self.about = about
        self.words = words
        self.options = options
        self.examples = examples


VERBS: dict[str, Verb] = {
    "run": Verb(
        "start a command as a background job, watch it briefly, and answer",
        "[--] COMMAND [ARGUMENT …]",
        (
            (
                "snapshot-after",
                "ms",
                "TIME",
                "answer after this time at the latest (10s, the most; 0: now)",
            ),
            ("wait", "flag", "", "answer only when the job has ended"),
            ("until", "s", "TIME", "answer after this time at the latest, however long"),
            ("forever", "flag", "", "the same as --wait"),
            ("no-wait", "flag", "", "answer as soon as the command runs"),
            _LINES,
            _BYTES,
            _EXIT,
            ("timeout", "ms", "TIME", "end the job after this time"),
            ("kill-after", "ms", "TIME", "from asking it to end to ending it by force (2s)"),
            ("cwd", "text", "DIR", "its working directory"),
            ("env", "many", "NAME[=VALUE]", "set a variable, or pass ours on"),
            ("env-file", "many", "FILE", "set the variables of a file of NAME=VALUE lines"),
            ("inherit-env", "flag", "", "give it our variables too (the default)"),
            ("no-inherit-env", "flag", "", "give it no variables but those named"),
            ("mask", "many", "NAME", "do not repeat this variable's value in answers"),
            ("stdin", "text", "TEXT|-", "its input: this text, or all of our own input"),
            ("stdin-file", "text", "FILE", "its input: this file"),
            ("stdin-max-bytes", "count", "N", "refuse more input than this (67108864)"),
            ("shell", "flag", "", "COMMAND is one shell line"),
            ("tag", "many", "TAG", "a label to find it by: words of letters, digits and -, joined by dots"),
            ("leave", "flag", "", "let what it leaves behind live on (default: it is ended)"),
            ("max-log-bytes", "count", "N", "keep this much of each stream, first and last (1 GiB; 0: all)"),
            ("progress-every", "ms", "TIME", "refresh updated_at at least this often"),
            _RULES,
            (
                "sandbox",
                "text",
                "PROFILE",
                "confine it: read-only, workspace-write, full-access, or a JSON file of a profile",
            ),
            ("sandbox-root", "many", "DIR", "a folder that it may write to (default: the current one)"),
            ("net", "many", "off|on|HOST[:PORT]", "with --sandbox: the hosts that it may reach (off)"),
            _UNPROTECT,
        ),
        (
            "agent-exec run -- echo hello",
            "agent-exec run --timeout 5m --tag build -- make -j8",
            "agent-exec run --sandbox workspace-write -- make test",
            "agent-exec run --no-wait --shell 'npm install && npm test'",
        ),
    ),
    "status": Verb(
        "tell all about a job but its output", "JOB", (), ("agent-exec status 01J8ZQ4KFN2M8YV3R7XDT0W5QC",)
    ),
    "tail": Verb(
        "show the end of a job's output, or what came since a cursor",
        "JOB",
        (
            _LINES,
            _BYTES,
            ("cursor", "text", "CURSOR", "only what came since the answer that had this cursor"),
            ("merged", "flag", "", "both streams in the order in which they came, with times"),
            ("grep", "text", "REGEX", "only lines that match"),
        ),
        ("agent-exec tail W5QC --tail-lines 200", "agent-exec tail W5QC --grep 'error|warning'"),
    ),
    "wait": Verb(
        "wait for the end of a job, and show the end of its output",
        "JOB",
        (
            ("until", "s", "TIME", "answer after this time at the latest (30s)"),
            ("forever", "flag", "", "answer only when the job has ended"),
            ("timeout-ms", "ms", "TIME", "the same as --until, in milliseconds; 0 is --forever"),
            ("poll", "s", "TIME", "accepted and not needed: the system tells of the end"),
            ("poll-ms", "ms", "TIME", "the same"),
            _LINES,
            _BYTES,
            _EXIT,
        ),
        ("agent-exec wait W5QC --until 10m",),
    ),
    "kill": Verb(
        "end a job with all its processes, or send them a signal",
        "JOB",
        (
            ("signal", "text", "NAME", "TERM (the default), INT, KILL, or any other name or number"),
            ("no-wait", "flag", "", "do not watch it end"),
        ),
        ("agent-exec kill W5QC", "agent-exec kill W5QC --signal KILL"),
    ),
    "list": Verb(
        "list jobs, the newest first",
        "",
        (*_LIST, ("state", "text", "STATE", "jobs that are created, running, exited, killed or failed")),
        ("agent-exec list --all --state failed",),
    ),
    "ps": Verb("list the jobs that run", "", _LIST, ("agent-exec ps --all",)),
    "delete": Verb(
        "take a job away that has ended, or all of them (rm is the same)",
        "[JOB]",
        (("all", "flag", "", "all jobs of the current working directory that have ended"), _DRY),
        ("agent-exec delete W5QC", "agent-exec rm --all --dry-run"),
    ),
    "gc": Verb(
        "take away old jobs that have ended; what runs is never touched",
        "",
        (
            ("older-than", "s", "TIME", "those that ended longer ago than this (30d)"),
            ("max-jobs", "count", "N", "the oldest, beyond this many"),
            ("max-bytes", "count", "N", "the oldest, beyond this many bytes on the disk"),
            _DRY,
        ),
        ("agent-exec gc --older-than 7d --max-bytes 10000000000",),
    ),
    "policy": Verb(
        "explain what the rules say to a command, or check a file of rules",
        "explain [--] COMMAND [ARGUMENT …] | check [FILE]",
        (
            _RULES,
            ("line", "text", "LINE", "explain: a shell line, in place of a command"),
            ("cwd", "text", "DIR", "explain: where it would run (default: the current directory)"),
        ),
        (
            "agent-exec policy explain -- git push origin main",
            "agent-exec policy explain --rules rules.toml --line 'make && make test | tee log'",
            "agent-exec policy check rules.toml",
        ),
    ),
    "sandbox": Verb(
        "run a command in a sandbox to its end; tell what it may touch, or what works here",
        "run [--] COMMAND [ARGUMENT …] | explain PATH | doctor",
        (
            (
                "profile",
                "text",
                "PROFILE",
                "workspace-write (the default), read-only, full-access, or a JSON file of a profile",
            ),
            ("root", "many", "DIR", "a folder that may be written to (default: the current one)"),
            ("net", "many", "off|on|HOST[:PORT]", "the hosts that it may reach (off)"),
            _UNPROTECT,
            ("cwd", "text", "DIR", "its working directory"),
            ("timeout", "ms", "TIME", "end it after this time"),
        ),
        (
            "agent-exec sandbox run -- make test",
            "agent-exec sandbox run --profile read-only -- grep -r password .",
            "agent-exec sandbox explain ~/.netrc",
            "agent-exec sandbox doctor",
        ),
    ),
    "mcp": Verb(
        "serve tools to an agent (Model Context Protocol), or enter us into an agent's configuration",
        "[install]",
        (
            ("toolset", "many", "NAME", "jobs (the default), session, oneshot, executor; jobs and another"),
            (
                "workspace",
                "many",
                "DIR",
                "a folder that commands run in (default: the client's roots, or the current one)",
            ),
            (
                "sandbox",
                "text",
                "PROFILE",
                "workspace-write (the default), read-only, FILE, or full-access: no sandbox",
            ),
            _UNPROTECT,
            _RULES,
            ("max-wait", "s", "TIME", "no call waits longer than this (55s)"),
            *_HTTP,
            *_INSTALL,
        ),
        (
            "agent-exec mcp --workspace .",
            "agent-exec mcp --toolset jobs,session --workspace . --policy ~/.config/agent-exec/rules.toml",
            "agent-exec mcp --http --port 8765",
            "agent-exec mcp install --client claude-code --sandbox workspace-write",
        ),
    ),
    "shell": Verb(
        "open the terminal interface: folders, commands and their output, jobs",
        "[DIR]",
        (
            ("theme", "text", "NAME", "auto (the default), dark, light, terminal-dark or terminal-light"),
            ("timeout", "ms", "TIME", "end each command after this time (5m; 0: never)"),
            ("sandbox", "text", "PROFILE", "confine commands: read-only, workspace-write, or a JSON file"),
            ("sandbox-root", "many", "DIR", "a folder they may write to (default: the one each runs in)"),
            _UNPROTECT,
            _RULES,
            ("web", "flag", "", "serve it to a browser on this machine, in place of the terminal"),
            ("port", "count", "N", "with --web: the port (default: any free one)"),
        ),
        ("agent-exec shell", "agent-exec shell ~/project --theme light --timeout 1h"),
    ),
    "schema": Verb("print the JSON Schema of every answer", "", (), ("agent-exec schema",)),
}
