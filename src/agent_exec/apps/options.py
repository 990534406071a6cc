"""The verbs of the command line: the one table for the parser, the help and docs/cli.md.

An option is its name, its kind, the placeholder of its value, and its help.
Kinds: "flag"; "text"; "many" (may be repeated); "count" (0, 1, 2, …); "ms"
and "s" (a duration: 250ms, 2s, 5m, 1h; bare numbers in that unit).
"""

from agent_exec.apps.option_groups import (
    ALL,
    APPROVALS,
    AUTO_GC,
    BYTES,
    CREATE,
    DRY,
    ENV,
    EXIT,
    FOR,
    HTTP,
    INPUT,
    INSTALL,
    LINES,
    LIST,
    NOTIFY,
    PROJECT,
    READINESS,
    REPEAT,
    RULES,
    SERVE,
    TOOLSET,
    UNPROTECT,
    WATCH,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agent_exec.apps.option_groups import Option

ROOT = ("root", "text", "DIR", "the folder of jobs (default: $AGENT_EXEC_ROOT, or the data folder)")
CONFIG = ("config", "text", "FILE", "the configuration file (default: $AGENT_EXEC_CONFIG, or config.toml)")
YAML = ("yaml", "flag", "", "print the answer as YAML")
HUMAN = ("human", "flag", "", "print the answer as text for people ($AGENT_EXEC_FORMAT=human: always)")
SERVER = ("server", "text", "URL", "use the jobs of this server ($AGENT_EXEC_SERVER; --server '': none)")
TOKEN = (
    "token-file",
    "text",
    "FILE",
    "with --server: the file of its token (default: $AGENT_EXEC_TOKEN, or ours)",
)
VERBOSE = ("verbose", "flag", "", "log to stderr what is being done")
HELP = ("help", "flag", "", "show this help")
GLOBAL = (ROOT, SERVER, TOKEN, CONFIG, YAML, HUMAN, VERBOSE, HELP)
SHORT = {
    "-h": "help",
    "-f": "follow",
    "-n": "tail-lines",
    "-v": "verbose",
    "-vv": "verbose",
    "-vvv": "verbose",
}
SAME_OPTIONS = {
    "lines": "tail-lines",
    "policy": "rules",
    "group": "needs",
    "wait=true": "wait",
    "wait=false": "no-wait",
}
SAME_VERBS = {"rm": "delete"}
BEFORE_COMMAND = (
    ("run",),
    ("watch",),
    ("create",),
    ("policy", "explain"),
    ("sandbox", "run"),
    ("completions", "words"),
)
"""After these words comes a command, whose options are its own."""


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
        "start a command as a background job, watch it for up to 10 seconds, and report",
        "[--] COMMAND [ARGUMENT …]",
        (
            *WATCH,
            ("timeout", "ms", "TIME", "stop the job after this time"),
            ("kill-after", "ms", "TIME", "the time between TERM and KILL when the job is stopped (2s)"),
            ("cwd", "text", "DIR", "its working directory"),
            *ENV,
            ("inherit-env", "flag", "", "inherit the environment of the caller (the default)"),
            ("no-inherit-env", "flag", "", "start with an empty environment"),
            *INPUT,
            ("shell", "flag", "", "COMMAND is one shell line"),
            ("shell-wrapper", "text", "'PROG FLAG'", "have a shell read COMMAND: one word is a shell line"),
            ("tag", "many", "TAG", "a label: letters, digits and -, in parts joined by dots"),
            ("leave", "flag", "", "leave its background processes running (default: they are killed)"),
            (
                "max-log-bytes",
                "count",
                "N",
                "keep N bytes of each stream, the first and the last (1 GiB; 0: all)",
            ),
            ("log", "text", "FILE", "add both streams to FILE too, each line with its time and its stream"),
            ("full-log", "flag", "", "the same, to full.log in the job's folder"),
            *READINESS,
            (
                "after",
                "many",
                "JOB[:ok|any|ready]",
                "start it when this job has succeeded, ended, or is ready",
            ),
            ("needs", "many", "GROUP[:N],…", "hold N slots (1) of each group while it runs; wait for them"),
            ("priority", "text", "N", "with --needs: the greatest number gets free slots first (0)"),
            ("at", "text", "MOMENT", "start it at 2026-01-31T18:30:00Z, 18:30 or +10m"),
            ("progress-every", "ms", "TIME", "update updated_at at least this often"),
            *NOTIFY,
            RULES,
            (
                "sandbox",
                "text",
                "PROFILE",
                "confine it: read-only, workspace-write, full-access, or a JSON file",
            ),
            ("sandbox-root", "many", "DIR", "with --sandbox: a writable folder (default: the current one)"),
            ("net", "many", "off|on|HOST[:PORT]", "with --sandbox: the hosts that it can connect to (off)"),
            UNPROTECT,
            *REPEAT,
            *AUTO_GC,
        ),
        (
            "agent-exec run -- echo hello",
            "agent-exec run --timeout 5m --tag build -- make -j8",
            "agent-exec run --port auto --for listen -- npm run dev",
            "agent-exec run --sandbox workspace-write -- make test",
            "agent-exec run --no-wait --shell 'npm install && npm test'",
            "agent-exec run --no-wait --after W5QC --needs build:2 -- make install",
        ),
    ),
    "watch": Verb(
        "run a command as a job, print its output as it comes, and exit as it does; Ctrl+C ends it",
        "[--] COMMAND [ARGUMENT …]",
        (),
        ("agent-exec watch -- make test", "agent-exec watch --sandbox workspace-write -- npm test && deploy"),
    ),
    "create": Verb("create a job that is started later", "[--] COMMAND [ARGUMENT …]", (), CREATE),
    "start": Verb(
        "start a job that was created, and watch it",
        "JOB",
        (*WATCH, *ENV, *INPUT, RULES),
        ("agent-exec start W5QC", "agent-exec start W5QC --no-wait"),
    ),
    "restart": Verb(
        "start a job once more under its id; or a service by its name; one that runs is ended first",
        "JOB|NAME",
        (
            ("signal", "text", "NAME", "end it with this signal (TERM), and by force after its grace"),
            *WATCH,
            *ENV,
            *INPUT,
            RULES,
        ),
        ("agent-exec restart W5QC", "agent-exec restart web", "agent-exec restart W5QC --env TOKEN --wait"),
    ),
    "timeout": Verb(
        "move the deadline of a running job",
        "set JOB | clear JOB",
        (("in", "s", "TIME", "set: stop the job after this time, counted from now"),),
        ("agent-exec timeout set W5QC --in 10m", "agent-exec timeout clear W5QC"),
    ),
    "abandon": Verb(
        "the same as timeout, with the names of the Rust agent-exec",
        "set JOB | clear JOB",
        (
            ("in", "s", "TIME", "set: stop the job after this time, counted from now"),
            ("acknowledge-result-loss", "flag", "", "ignored, for compatibility"),
        ),
        ("agent-exec abandon set W5QC --in 600 --acknowledge-result-loss",),
    ),
    "tag": Verb(
        "change the tags of a job",
        "set JOB | add JOB | remove JOB",
        (("tag", "many", "TAG", "a tag; set replaces all, and without any clears them"),),
        ("agent-exec tag set W5QC --tag build --tag nightly", "agent-exec tag remove W5QC --tag nightly"),
    ),
    "status": Verb(
        "show everything about a job except its output",
        "JOB",
        (),
        ("agent-exec status 01J8ZQ4KFN2M8YV3R7XDT0W5QC",),
    ),
    "tail": Verb(
        "show the end of a job's output, or what came since a cursor",
        "JOB",
        (
            LINES,
            BYTES,
            ("cursor", "text", "CURSOR", "only what came since the answer that had this cursor"),
            ("merged", "flag", "", "both streams in order of arrival, with timestamps"),
            ("grep", "text", "REGEX", "only lines that match"),
            ("attempt", "count", "N", "the output of this attempt (default: the current one)"),
            (
                "view",
                "text",
                "VIEW",
                "auto, full, head, tail, errors, grep=REGEX[,LINES], since=CURSOR or range=A-B",
            ),
        ),
        ("agent-exec tail W5QC --tail-lines 200", "agent-exec tail W5QC --view errors"),
    ),
    "wait": Verb(
        "wait for the end of a job, or until it is ready, and show the end of its output",
        "JOB | --from-json FILE",
        (
            ("for", "many", FOR, "answer as soon as this holds"),
            ALL,
            RULES,
            ("from-json", "text", "FILE|-", "the job of a saved answer, by its job_id in its root"),
            ("until", "s", "TIME", "answer after this time at the latest (30s)"),
            ("forever", "flag", "", "answer only when the job has ended"),
            ("timeout-ms", "ms", "TIME", "the same as --until, in milliseconds; 0 is --forever"),
            ("poll", "s", "TIME", "ignored, for compatibility: waiting does not poll"),
            ("poll-ms", "ms", "TIME", "the same"),
            LINES,
            BYTES,
            EXIT,
        ),
        (
            "agent-exec wait W5QC --until 10m",
            "agent-exec wait W5QC --for listen:3000 --for match='ERROR'",
            "agent-exec wait --from-json job.json",
        ),
    ),
    "kill": Verb(
        "end a job with all its processes, or send them a signal",
        "JOB",
        (
            ("signal", "text", "NAME", "TERM (the default), INT, KILL, or any other name or number"),
            ("no-wait", "flag", "", "do not wait for its end"),
        ),
        ("agent-exec kill W5QC", "agent-exec kill W5QC --signal KILL"),
    ),
    "list": Verb(
        "list jobs, the newest first",
        "",
        (*LIST, ("state", "text", "STATE", "jobs that are created, running, exited, killed or failed")),
        ("agent-exec list --all --state failed",),
    ),
    "ps": Verb("list running jobs", "", LIST, ("agent-exec ps --all",)),
    "sessions": Verb(
        "list the sessions of all your servers: the terminals of agents",
        "",
        (),
        ("agent-exec sessions --human",),
    ),
    "attach": Verb(
        "show a session in this terminal and type into it (Ctrl+] leaves), or follow a job",
        "SESSION|JOB",
        (("watch", "flag", "", "only look; the agent keeps the keyboard"),),
        ("agent-exec attach 4711", "agent-exec attach 4711 --watch", "agent-exec attach last"),
    ),
    "send": Verb(
        "type a line into a session",
        "SESSION TEXT",
        (("no-enter", "flag", "", "do not type Enter after it"),),
        ("agent-exec send 4711 yes",),
    ),
    "top": Verb(
        "draw the running jobs of all folders, again and again; q leaves",
        "",
        (("every", "s", "TIME", "the time between two looks (1s)"),),
        ("agent-exec top",),
    ),
    "delete": Verb(
        "delete a job that has ended, or all of them (rm is the same)",
        "[JOB]",
        (("all", "flag", "", "all jobs of the current working directory that have ended"), DRY),
        ("agent-exec delete W5QC", "agent-exec rm --all --dry-run"),
    ),
    "gc": Verb(
        "delete old jobs that have ended; running jobs are never deleted",
        "",
        (
            ("older-than", "s", "TIME", "delete jobs that ended longer ago than this (30d)"),
            ("max-jobs", "count", "N", "keep at most N jobs: delete the oldest"),
            ("max-bytes", "count", "N", "keep at most N bytes on disk: delete the oldest"),
            DRY,
        ),
        ("agent-exec gc --older-than 7d --max-bytes 10000000000",),
    ),
    "events": Verb(
        "show what has happened to jobs: each change is an event",
        "",
        (
            ("follow", "flag", "", "print each event as it happens, one JSON object a line"),
            ("since", "text", "CURSOR", "events after this cursor, start or now (start; --follow: now)"),
            ("job", "text", "JOB", "events of this job"),
            ("kind", "many", "KIND", "created, waiting, started, ready, output-match, ended, lost, …"),
            ("limit", "count", "N", "show at most N events (100; --follow: 0, no limit)"),
            ("until", "s", "TIME", "with --follow: end after this time"),
        ),
        (
            "agent-exec events --kind ended,lost",
            "agent-exec events --since 1-2f0a",
            "agent-exec events --follow --job W5QC",
        ),
    ),
    "notify": Verb(
        "choose how the end and the output of a job are notified; show what was delivered",
        "set JOB | show JOB | clear JOB",
        (("command", "text", "LINE", "the same as --notify-command"), *NOTIFY, RULES),
        (
            "agent-exec notify set W5QC --command 'cat >> ended.json'",
            "agent-exec notify set W5QC --output-pattern 'panic|FAILED' --output-match-type regex",
            "agent-exec notify show W5QC",
        ),
    ),
    "plan": Verb(
        "show the jobs that wait before they start, for what, and in which order they would",
        "",
        (("limit", "count", "N", "show at most N jobs (50; 0: no limit)"),),
        ("agent-exec plan",),
    ),
    "group": Verb(
        "set how many slots a group has, which jobs hold by --needs; list groups; remove one",
        "set NAME --slots N | list | remove NAME",
        (("slots", "count", "N", "set: how many slots can be held at once, 1 or more"),),
        ("agent-exec group set build --slots 2", "agent-exec group list"),
    ),
    "up": Verb(
        "start the services of agent-exec.toml in order, and wait until all are ready",
        "[NAME …]",
        (
            *PROJECT,
            ("until", "s", "TIME", "answer after this time at the latest (60s)"),
            ("no-wait", "flag", "", "answer as soon as all are started"),
            ("recreate", "flag", "", "start those anew that run by another definition than the file's"),
            ("sandbox", "text", "PROFILE", "confine them all; the file can only name a stricter profile"),
            DRY,
            RULES,
        ),
        ("agent-exec up", "agent-exec up web --until 5m", "agent-exec up --procfile Procfile --dry-run"),
    ),
    "down": Verb("end the services of agent-exec.toml", "[NAME …]", PROJECT, ("agent-exec down web",)),
    "logs": Verb(
        "print the newest lines of a job as text; or show those of services of agent-exec.toml",
        "[JOB|NAME …]",
        (
            ("follow", "flag", "", "go on until it has ended, as text (-f)"),
            ("tail-lines", "count", "N", "show at most N lines in all (50; 0: no limit) (-n)"),
            ("stderr", "flag", "", "of a job: what it has printed on stderr only"),
            *PROJECT,
            BYTES,
        ),
        ("agent-exec logs -f W5QC", "agent-exec logs last -n 200", "agent-exec logs web --lines 200"),
    ),
    "import": Verb("turn a Procfile into agent-exec.toml", "[FILE]", (DRY,), ("agent-exec import Procfile",)),
    "policy": Verb(
        "explain the verdict of the rules on a command, or validate a file of rules",
        "explain [--] COMMAND [ARGUMENT …] | check [FILE]",
        (
            RULES,
            ("line", "text", "LINE", "explain: a shell line instead of a command"),
            ("cwd", "text", "DIR", "explain: where it would run (default: the current directory)"),
        ),
        (
            "agent-exec policy explain -- git push origin main",
            "agent-exec policy explain --rules rules.toml --line 'make && make test | tee log'",
            "agent-exec policy check rules.toml",
        ),
    ),
    "sandbox": Verb(
        "run a command in a sandbox; explain access to a path; diagnose this machine",
        "run [--] COMMAND [ARGUMENT …] | explain PATH | doctor",
        (
            (
                "profile",
                "text",
                "PROFILE",
                "workspace-write (the default), read-only, full-access, or a JSON file",
            ),
            ("root", "many", "DIR", "a writable folder (default: the current one)"),
            ("net", "many", "off|on|HOST[:PORT]", "the hosts that it can connect to (off)"),
            UNPROTECT,
            ("cwd", "text", "DIR", "its working directory"),
            ("timeout", "ms", "TIME", "stop it after this time"),
            ("exit-code", "flag", "", "run: exit with the command's code"),
        ),
        (
            "agent-exec sandbox run -- make test",
            "agent-exec sandbox run --profile read-only -- grep -r password .",
            "agent-exec sandbox explain ~/.netrc",
            "agent-exec sandbox doctor",
        ),
    ),
    "approvals": Verb(
        "list questions that wait for approval; show, watch, answer (once, session, always, no)",
        "[show ID | answer ID ANSWER | watch]",
        (("until", "s", "TIME", "watch: end after this time (default: at Ctrl-C)"),),
        ("agent-exec approvals", "agent-exec approvals answer 3f9c once", "agent-exec approvals watch"),
    ),
    "mcp": Verb(
        "serve tools to an agent over the Model Context Protocol, or install the server in an agent",
        "[install]",
        (
            TOOLSET,
            (
                "workspace",
                "many",
                "DIR",
                "a folder of commands (default: the client's roots, or the current one)",
            ),
            (
                "sandbox",
                "text",
                "PROFILE",
                "workspace-write (the default), read-only, FILE; full-access: none",
            ),
            UNPROTECT,
            RULES,
            *APPROVALS,
            ("max-wait", "s", "TIME", "no call waits longer than this (55s)"),
            ("output-schemas", "flag", "", "for programs: output schemas, and answers as objects too"),
            *HTTP,
            *INSTALL,
        ),
        (
            "agent-exec mcp --workspace .",
            "agent-exec mcp --toolset jobs,session --workspace . --rules ~/.config/agent-exec/rules.toml",
            "agent-exec mcp --http --port 8765",
            "agent-exec mcp install --client claude-code --sandbox workspace-write",
        ),
    ),
    "serve": Verb(
        "serve jobs, sessions and commands over HTTP, or make a token with a scope for that",
        "[token]",
        SERVE,
        (
            "agent-exec serve --workspace . --open",
            "agent-exec serve --workspace . --mcp --toolset jobs,session",
            "agent-exec serve --socket ~/.agent-exec.sock",
            "agent-exec serve token --read-only --expires 2h --job W5QC",
        ),
    ),
    "shell": Verb(
        "open the terminal interface: folders, commands and their output, jobs",
        "[DIR]",
        (
            ("theme", "text", "NAME", "auto (the default), dark, light, terminal-dark or terminal-light"),
            ("timeout", "ms", "TIME", "stop each command after this time (5m; 0: never)"),
            ("sandbox", "text", "PROFILE", "confine commands: read-only, workspace-write, or a JSON file"),
            ("sandbox-root", "many", "DIR", "a writable folder (default: where each command runs)"),
            UNPROTECT,
            RULES,
            ("web", "flag", "", "serve it to a browser on this machine instead of the terminal"),
            ("port", "count", "N", "with --web: the port (default: any free one)"),
        ),
        ("agent-exec shell", "agent-exec shell ~/project --theme light --timeout 1h"),
    ),
    "demo": Verb(
        "show what this program does, in a minute, in a folder of its own", "", (), ("agent-exec demo",)
    ),
    "schema": Verb("print the JSON Schema of every answer", "", (), ("agent-exec schema",)),
    "completions": Verb(
        "print a script that completes verbs, options, job ids and tags in a shell",
        "bash | zsh | fish | powershell | words [--] WORD …",
        (("install", "flag", "", "write the script where the shell finds it, and say what is left to do"),),
        (
            "agent-exec completions bash --install",
            "agent-exec completions powershell >> $PROFILE",
            "agent-exec completions words -- agent-exec kill ''",
        ),
    ),
    "install-skills": Verb(
        "install a skill that teaches a coding agent to use this program",
        "",
        (
            ("global", "flag", "", "for all your projects, below your home folder (default: this folder)"),
            ("claude", "flag", "", "in .claude/skills (default: .agents/skills, which most agents read)"),
            DRY,
        ),
        ("agent-exec install-skills --global --claude",),
    ),
}
for _verb in ("create", "watch"):
    VERBS[_verb].options = tuple(option for option in VERBS["run"].options if option not in WATCH)
