"""The verb `run`: parses its options into an Order, has it started, and watches it."""

import os
import sys

from agent_exec.apps.cli.redirect import has_unread_pipe, redirected
from agent_exec.apps.parse import UsageError
from agent_exec.faces import defaults
from agent_exec.places import config_file, here, settle_config
from agent_exec.requests.opening import IN_FORCE, gate_for, rule_files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from agent_exec.apps.parse import Parsed
    from agent_exec.host import Interrupts
    from agent_exec.jobs.start import Launcher, Order
    from agent_exec.jobs.store import Store
    from agent_exec.requests.given_variables import Environment
    from agent_exec.requests.settings import Settings
    from agent_exec.sandbox.profile import Profile

_OBSERVING = ("until", "wait", "forever", "no-wait", "snapshot-after")
_SERVICE = (
    "for",
    "ready-when",
    "port",
    "health",
    "stop-after",
    "health-every",
    "health-timeout",
    "health-failures",
    "all",
)
"""Options that `apps.cli.readiness` turns into terms of the job."""
_HOLDS = frozenset(("after", "at", "needs", "priority"))


def run(
    asked: "Parsed", began: float, interrupts: "Interrupts | None", launcher: "Launcher | None"
) -> "tuple[dict[str, Any], int]":
    """Run a command as a job; raise UsageError for options that make no sense, before anything is done."""
    options = asked.options
    settings = configured(asked)
    observe = observation(asked)
    from agent_exec.host import Interrupts, detach
    from agent_exec.jobs.start import start

    interrupts = interrupts or Interrupts()
    asking = Asking(asked, settings, interrupts)
    store = asking.store
    job = start(
        store,
        asking.order,
        gate=asking.gate,
        stdin=asking.stdin,
        cancel=interrupts,
        detach=detach,
        launcher=launcher,
    )
    # Loaded only now, while the supervisor does its part.
    from agent_exec.faces import verbs

    told = verbs.Jobs(store).watch(
        job,
        observe=observe,
        tail_lines=options.get("tail-lines", defaults.TAIL_LINES),
        max_bytes=options.get("max-bytes", defaults.MAX_BYTES),
        env_vars=asking.environment.shown,
        cancel=interrupts,
        began=began,
        until_ready="for" in options,
    )
    if not {"stdin", "stdin-file"} & options.keys() and has_unread_pipe():
        warn(asked, "the command does not get what is piped in here; add --stdin - to pass it on")
    if "exit-code" in options:
        return told, verbs.exit_code(told)
    return told, 0 if told["ok"] else 1


class Asking:
    """A job as the options of `run` and `create` ask for it; raise UsageError for what makes no sense."""

    __slots__ = ("_asked", "_hidden", "_interrupts", "environment", "gate", "order", "store")

    def __init__(self, asked: "Parsed", settings: "Settings | None", interrupts: "Interrupts") -> None:
        options = asked.options
        argv = command_of(asked, settings)
        refuse_both(asked, ("inherit-env", "no-inherit-env"), ("stdin", "stdin-file"))
        if 0 < options.get("max-log-bytes", 0) < defaults.SMALLEST_QUOTA:
            raise UsageError(f"--max-log-bytes takes 0, or {defaults.SMALLEST_QUOTA} at least", asked.verb)
        terms = _terms(asked, settings)
        profile = _profile(asked)
        _warn_of_milliseconds(asked)
        self._asked = asked
        self._interrupts = interrupts
        self.store = asked.store()
        self._hidden = hidden_from(asked, profile, self.store)
        self.environment = environment_of(asked, self._hidden, interrupts)
        self.order = _order(asked, argv, self.environment, profile, terms)
        if not options.keys().isdisjoint(_SERVICE):
            from agent_exec.apps.cli.readiness import add

            add(asked, self.order)
        if not _HOLDS.isdisjoint(options):
            from agent_exec.jobs.waiting import waiting_terms

            holds = {name: options[name] for name in _HOLDS if name in options}
            self.order.terms |= waiting_terms(self.store, **holds)
        self.gate = gate_for(argv, options.get("rules", IN_FORCE))

    def stdin(self) -> int:
        """Return a descriptor of the command's input, -1 for none."""
        return input_of(self._asked, self.store, self._hidden, self._interrupts)


def configured(asked: "Parsed") -> "Settings | None":
    """Fill in the options that are not given from the configuration file; return what else it says."""
    if settle_config() is None:
        return None
    from agent_exec.requests.settings import settings

    found = settings()
    assert found is not None
    options = asked.options
    given = set(options)
    for key, value in found.run.items():
        name = key.replace("_", "-")
        excluded = _OBSERVING if name in _OBSERVING else ("sandbox",) if name == "net" else (name,)
        if value is not False and given.isdisjoint(excluded):
            options[name] = value
    return found


def _terms(asked: "Parsed", settings: "Settings | None") -> "dict[str, object]":
    """Return what more is asked of the job, by the names of duties."""
    terms: dict[str, object] = {}
    if (bounds := _collection(asked, settings)) is not None:
        terms["gc"] = bounds
    if any(name.startswith(("notify-", "output-")) for name in asked.options):
        from agent_exec.apps.cli.notify import notification

        terms["notify"] = notification(asked)
    if (log := _merged_log(asked)) is not None:
        terms["log"] = log
    if (again := _again(asked)) is not None:
        terms["again"] = again
    return terms


def _merged_log(asked: "Parsed") -> str | None:
    """Return the file that gets both streams too: "" for that of the job's folder, None for none."""
    options = asked.options
    if "full-log" in options:
        if "log" in options:
            raise UsageError("--log and --full-log contradict each other", asked.verb)
        return ""
    if "log" not in options:
        return None
    from agent_exec.jobs.duties.merged_log import writable

    return writable(options["log"])


def _again(asked: "Parsed") -> "dict[str, object] | None":
    """Return how often the command is to be run; None if once."""
    options = asked.options
    if not {"retry", "restart", "every"} & options.keys():
        return None
    from agent_exec.faces.repeating import repeats
    from agent_exec.model.errors import InvalidArgument

    try:
        found = repeats(options.get("retry"), options.get("restart"), options.get("every"))
    except InvalidArgument as error:
        raise UsageError(error.message, asked.verb) from None
    if found is not None and "leave" in options:
        raise UsageError(f"--leave and --{found['kind']} contradict each other", asked.verb)
    return found


def _collection(asked: "Parsed", settings: "Settings | None") -> "dict[str, float | int | None] | None":
    """Return the bounds of the automatic collection after this job; None if there is to be none."""
    said = dict(settings.gc) if settings is not None else {}
    auto = said.pop("auto", False)
    given = {
        name: asked.options[f"auto-gc-{name.replace('_', '-')}"]
        for name in ("older_than", "max_jobs", "max_bytes")
        if f"auto-gc-{name.replace('_', '-')}" in asked.options
    }
    if "no-auto-gc" in asked.options:
        if given:
            raise UsageError("--no-auto-gc and its bounds contradict each other", asked.verb)
        return None
    if not (auto or given):
        return None
    usual = {
        "older_than": defaults.OLDER_THAN,
        "scan_limit": defaults.SCAN_LIMIT,
        "delete_limit": defaults.DELETE_LIMIT,
    }
    return {**usual, **said, **given}


def refuse_both(asked: "Parsed", *pairs: tuple[str, str]) -> None:
    """Raise UsageError if both options of a pair are given."""
    for one, other in pairs:
        if one in asked.options and other in asked.options:
            raise UsageError(f"--{one} and --{other} contradict each other", asked.verb)


def _warn_of_milliseconds(asked: "Parsed") -> None:
    """Warn of a small timeout without a unit, which other programs take for seconds."""
    text = asked.texts.get("timeout", "")
    if text.isdecimal() and 0 < int(text) < 1000:
        warn(asked, f"--timeout {text} is {text} milliseconds; write {text}s for seconds, or {text}ms")


def warn(asked: "Parsed", text: str) -> None:
    """Print a warning on stderr."""
    try:
        os.write(2, f"agent-exec {asked.verb}: {text}\n".encode())
    except OSError:
        return  # nothing listens


def hidden_from(asked: "Parsed", profile: "Profile | None", store: "Store") -> "tuple[str, ...] | None":
    """Return the paths that no file of input or variables may be, since the command may not read them."""
    if profile is None or not {"stdin-file", "env-file"} & asked.options.keys():
        return None
    from agent_exec.faces.sandbox import hidden_by

    return hidden_by(profile, [store.root])


def environment_of(
    asked: "Parsed", hidden: "tuple[str, ...] | None", interrupts: "Interrupts"
) -> "Environment":
    """Return the variables of a command: those inherited, and those that the options give for it."""
    from agent_exec.host import inherited_environment
    from agent_exec.requests.given_variables import Environment

    options = asked.options
    return Environment(
        inherited_environment(),
        inherit="no-inherit-env" not in options,
        files=options.get("env-file", ()),
        given=options.get("env", ()),
        mask=options.get("mask", ()),
        hidden=hidden,
        cancel=interrupts,
    )


def _profile(asked: "Parsed") -> "Profile | None":
    """Return the profile that confines the command; None if none does."""
    options = asked.options
    if "sandbox" not in options:
        for name in ("sandbox-root", "net", "unprotect"):
            if name in options:
                raise UsageError(f"--{name} needs --sandbox and a profile", asked.verb)
        return None
    if "leave" in options:
        raise UsageError("--leave and --sandbox contradict each other: all in a box ends with it", asked.verb)
    from agent_exec.apps.profile import profile

    return profile(asked, "sandbox", "sandbox-root")


def _own(asked: "Parsed") -> list[str]:
    """Return the files that decide what a command may do, which no command may change."""
    from agent_exec.apps.profile import is_file

    found = rule_files(asked.options.get("rules", IN_FORCE))
    if (config := config_file()) is not None and os.path.abspath(config) not in found:
        found.append(config)
    if is_file(asked.options["sandbox"]):
        found.append(asked.options["sandbox"])
    return found


def _order(
    asked: "Parsed",
    argv: list[str],
    environment: "Environment",
    profile: "Profile | None",
    terms: "dict[str, object]",
) -> "Order":
    from agent_exec.jobs.start import Order

    options = asked.options
    return Order(
        argv,
        cwd=options.get("cwd") or here(),
        env=environment.values,
        env_keys=environment.given,
        tags=options.get("tag", ()),
        timeout=options.get("timeout") or None,
        grace=options.get("kill-after", defaults.GRACE),
        leftovers="leave" if "leave" in options else "kill",
        quota=options.get("max-log-bytes", defaults.QUOTA),
        progress=options.get("progress-every", 0.0),
        mark="no-inherit-env" not in options,
        inherit="no-inherit-env" not in options,
        sandbox=profile,
        own=() if profile is None else _own(asked),
        terms=terms,
    )


def observation(asked: "Parsed") -> float | None:
    """Return how many seconds to watch: 0 for not at all, None without limit."""
    options = asked.options
    ways: list[str] = [name for name in ("until", "forever", "no-wait") if name in options]
    if "wait" in options and "until" not in options:
        ways.append("wait")
    if len(ways) > 1 and set(ways) != {"wait", "forever"}:
        raise UsageError(f"--{ways[0]} and --{ways[1]} contradict each other", asked.verb)
    if ways and "snapshot-after" in options and ways != ["wait"]:
        raise UsageError(f"--snapshot-after and --{ways[0]} contradict each other", asked.verb)
    if "until" in options:
        return float(options["until"])
    if "wait" in options or "forever" in options:
        return None
    if "no-wait" in options:
        return 0.0
    if "for" in options and "snapshot-after" not in options:
        return defaults.WAIT
    return min(defaults.SNAPSHOT_CAP, float(options.get("snapshot-after", defaults.SNAPSHOT_CAP)))


def command_of(asked: "Parsed", settings: "Settings | None" = None) -> list[str]:
    """Return the argv; a shell that was named or configured reads one word as a line, and several quoted."""
    words = asked.words
    if not words or not words[0]:
        raise UsageError("a command is needed, such as: agent-exec run -- echo hello", asked.verb)
    if any("\0" in word for word in words):
        raise UsageError("no word of a command can hold a NUL", asked.verb)
    if "shell" in asked.options and len(words) != 1:
        raise UsageError(
            "--shell takes one line as one word, such as: --shell 'make && make test'", asked.verb
        )
    wrapper = asked.options["shell-wrapper"].split() if "shell-wrapper" in asked.options else None
    if wrapper == []:
        raise UsageError("--shell-wrapper takes a program and its flags, such as: 'bash -c'", asked.verb)
    if wrapper is None and settings is not None:
        wrapper = settings.wrapper
    if wrapper is not None:
        if len(words) == 1:
            return [*wrapper, words[0]]
        from agent_exec.requests.shells import resolve_command

        return resolve_command(words, "default", wrapper)
    if "shell" not in asked.options:
        return words
    from agent_exec.host import shell

    return shell(words[0])


def input_of(
    asked: "Parsed", store: "Store", hidden: "tuple[str, ...] | None", interrupts: "Interrupts"
) -> int:
    """Return a descriptor of the command's input, -1 for none; a pipe of ours is read only on request."""
    options = asked.options
    explicit = "stdin" in options or "stdin-file" in options
    if not (explicit or redirected()):
        return -1
    from agent_exec.jobs import stdin
    from agent_exec.model.errors import InputRequired, InvalidArgument

    if not explicit:
        most = options.get("stdin-max-bytes")
        if most is not None and os.fstat(0).st_size > most:
            raise stdin.too_large("standard input", most, "make it smaller, or raise --stdin-max-bytes")
        return os.dup(0)
    if "stdin-file" in options:
        return stdin.from_file(options["stdin-file"], hidden=hidden, limit=options.get("stdin-max-bytes"))
    limit = options.get("stdin-max-bytes", defaults.STDIN_MAX)
    if options["stdin"] == "-":
        if sys.stdin is None:
            raise InvalidArgument("--stdin -: there is no input to read; it is closed")
        if os.isatty(0):
            raise InputRequired(
                "--stdin - reads a pipe or a file, and standard input is a terminal; pipe it in"
            )
        return stdin.from_descriptor(store, 0, limit, interrupts)
    return stdin.from_bytes(store, os.fsencode(options["stdin"]), limit)
