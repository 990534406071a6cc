"""Options of the command line that several verbs share, or that belong together."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    Option = tuple[str, str, str, str]

LINES = ("tail-lines", "count", "N", "show at most N lines of each stream (50; 0: no limit)")
BYTES = ("max-bytes", "count", "N", "show at most N bytes of each stream (65536)")
EXIT = (
    "exit-code",
    "flag",
    "",
    "exit with the job's code; 124: it still runs, 125: unknown, 127: it never ran",
)
FOR = "listen[:PORT]|http=URL[,STATUS]|match=REGEX|file=PATH|exec=COMMAND|idle=TIME|exit|ready|healthy"
ALL = ("all", "flag", "", "with --for: answer when all conditions hold, not the first")
READINESS: "tuple[Option, ...]" = (
    ("for", "many", FOR, "answer as soon as it is ready (or after 30s), and record that"),
    ("ready-when", "many", "CONDITION", "record when it is ready, by the same conditions, and do not wait"),
    ALL,
    (
        "port",
        "many",
        "auto[:NAME]|N[:NAME]",
        "set PORT, or NAME: a free port, always the same for this folder",
    ),
    ("health", "text", "COMMAND", "check its health by this shell line, again and again: 0 is healthy"),
    ("health-every", "s", "TIME", "with --health: the time between two checks (10s)"),
    ("health-timeout", "s", "TIME", "with --health: a check that takes longer has failed (5s)"),
    ("health-failures", "count", "N", "with --health: so many failures in a row are unhealthy (3)"),
    ("stop-after", "text", "idle=TIME", "stop the job when it has printed nothing for so long"),
)
UNPROTECT = (
    "unprotect",
    "many",
    "NAME",
    "allow commands to create and change this name, for example .github",
)

TOOLSET = (
    "toolset",
    "many",
    "NAME",
    "lean (the default), jobs, session, oneshot, executor; jobs and another",
)
APPROVALS: "tuple[Option, ...]" = (
    (
        "approvals",
        "text",
        "WAY",
        "ask by auto (the client, and the inbox while it is watched), inbox, client or off",
    ),
    (
        "approval-timeout",
        "s",
        "TIME",
        "refuse a command without an answer in the inbox after this time (10m)",
    ),
)
RULES = ("rules", "text", "FILE", "judge by these rules (default: $AGENT_EXEC_RULES, or those configured)")
DRY = ("dry-run", "flag", "", "only report what would be done")

AUTO_GC: "tuple[Option, ...]" = (
    ("no-auto-gc", "flag", "", "delete no old jobs after this one, whatever the configuration says"),
    ("auto-gc-older-than", "s", "TIME", "after this job, delete those that ended longer ago (30d)"),
    ("auto-gc-max-jobs", "count", "N", "after this job, delete the oldest beyond N"),
    ("auto-gc-max-bytes", "count", "N", "after this job, delete the oldest beyond N bytes in all"),
)
WATCH: "tuple[Option, ...]" = (
    ("snapshot-after", "ms", "TIME", "answer after this time at the latest (10s, the most; 0: at once)"),
    ("wait", "flag", "", "answer only when the job has ended"),
    ("until", "s", "TIME", "answer after this time at the latest, however long"),
    ("forever", "flag", "", "the same as --wait"),
    ("no-wait", "flag", "", "answer as soon as the command runs"),
    ("wait-poll-ms", "ms", "TIME", "ignored, for compatibility: waiting does not poll"),
    LINES,
    BYTES,
    EXIT,
)
REPEAT: "tuple[Option, ...]" = (
    ("retry", "text", "N[,…]", "run it again after a failure, N times: 3,backoff=2s,max=1m,on=exit+timeout"),
    ("restart", "text", "WHEN[,…]", "run it again whenever it ends: no, on-failure, always; always,max=5"),
    ("every", "text", "TIME[,…]", "run it every so often, until it is killed: 15m; 1h,max=24"),
)
ENV: "tuple[Option, ...]" = (
    ("env", "many", "NAME[=VALUE]", "set an environment variable, or pass on that of the caller"),
    ("env-file", "many", "FILE", "set the environment variables in a file of NAME=VALUE lines"),
)
INPUT: "tuple[Option, ...]" = (
    ("mask", "many", "NAME", "mask the value of this variable in answers"),
    ("stdin", "text", "TEXT|-", "its input: this text, or with - our own standard input"),
    ("stdin-file", "text", "FILE", "its standard input: this file"),
    ("stdin-max-bytes", "count", "N", "refuse more input than this (67108864)"),
)

CREATE = ("agent-exec create --tag nightly -- make test", "agent-exec create --env TOKEN -- ./deploy")
PROJECT: "tuple[Option, ...]" = (
    ("file", "text", "FILE", "the project file (default: agent-exec.toml here, or the nearest above)"),
    ("procfile", "text", "FILE", "read this Procfile in place of a project file"),
)

HTTP: "tuple[Option, ...]" = (
    ("http", "flag", "", "serve over HTTP instead of stdin and stdout; every request needs a token"),
    ("port", "count", "N", "http: the port (8765; 0: any)"),
    ("host", "text", "ADDRESS", "http: the address to listen on (127.0.0.1)"),
    ("allow-remote", "flag", "", "http: allow a --host that other machines can reach"),
    ("token-file", "text", "FILE", "http: a private file with the token (default: in the state folder)"),
    ("idle-timeout", "s", "TIME", "http: close the session of a client that is silent for so long (30m)"),
)
INSTALL: "tuple[Option, ...]" = (
    ("client", "text", "NAME", "install: claude-code, codex, gemini, …; `mcp install` alone names all"),
    ("scope", "text", "user|project", "install: for all your projects (user), or for the current folder"),
    ("name", "text", "NAME", "install: the name of the server there (agent-exec)"),
    ("allow", "flag", "", "install: let the client call the tools without asking (the sandbox stays)"),
    DRY,
    ("yes", "flag", "", "install: do not ask for confirmation"),
)

OUTPUT: "tuple[Option, ...]" = (
    ("output-pattern", "many", "TEXT", "an event for each line of output with this text"),
    ("output-match-type", "text", "contains|regex", "what a pattern is (contains)"),
    ("output-stream", "text", "STREAM", "stdout, stderr or either (the default)"),
    ("output-command", "text", "LINE", "run this shell line for each match, with the event on its input"),
    ("output-file", "text", "FILE", "append each match to this file, a JSON object a line"),
)
NOTIFY: "tuple[Option, ...]" = (
    ("notify-command", "text", "LINE", "run this shell line when it has ended, with the event on its input"),
    ("notify-file", "text", "FILE", "append the event to this file when it has ended"),
    ("notify-url", "text", "URL", "post the events to this webhook: retried, also after a crash"),
    ("notify-secret-file", "text", "FILE", "with --notify-url: sign with the secret in this file"),
    ("notify-secret-env", "text", "NAME", "with --notify-url: sign with the secret in this variable"),
    ("notify-output", "flag", "", "with --notify-url: send the end of the output, too"),
    ("notify-private", "flag", "", "with --notify-url: allow private addresses, and this machine"),
    ("notify-desktop", "flag", "", "show a notification on the desktop (notify-send)"),
    ("notify-on", "many", "KIND", "tell of these events, too: started, ready, unhealthy, retrying, …"),
    ("notify-timeout", "s", "TIME", "end a command of these options after this time (30s)"),
    *OUTPUT,
)
LIST: "tuple[Option, ...]" = (
    ("limit", "count", "N", "show at most N jobs (50; 0: no limit)"),
    ("cwd", "text", "DIR", "jobs of this working directory (default: the current one)"),
    ("all", "flag", "", "jobs of every working directory"),
    ("tag", "many", "TAG", "jobs with this tag; ns.* is ns and all below it"),
)

SERVE: "tuple[Option, ...]" = (
    ("workspace", "many", "DIR", "a folder of commands (default: the current one)"),
    (
        "sandbox",
        "text",
        "PROFILE",
        "workspace-write (the default), read-only, FILE; full-access: none",
    ),
    UNPROTECT,
    RULES,
    *APPROVALS,
    ("all-jobs", "flag", "", "reach jobs of all folders, not only of the workspaces"),
    ("open", "flag", "", "open it in the browser of this machine"),
    ("mcp", "flag", "", "serve the Model Context Protocol too, at /mcp"),
    ("compat", "text", "PROTOCOL", "serve another protocol too: swerex, for clients of SWE-ReX"),
    TOOLSET,
    ("preview-port", "count", "N", "show what jobs serve on their ports, at this port (0: any)"),
    ("socket", "text", "PATH", "listen at a Unix socket, for this user alone"),
    ("port", "count", "N", "the port (8700; 0: any)"),
    ("host", "text", "ADDRESS", "the address to listen on (127.0.0.1)"),
    ("allow-remote", "flag", "", "allow a --host that other machines can reach"),
    ("token-file", "text", "FILE", "a private file with the token (default: in the state folder)"),
    ("read-only", "flag", "", "token: it allows nothing that changes something"),
    (
        "no-approvals",
        "flag",
        "",
        "token: for an agent: no answers to approvals, no sessions of other servers",
    ),
    ("expires", "s", "TIME", "token: it is valid for so long (default: always)"),
    ("job", "text", "JOB", "token: it is for this job alone"),
)
