"""How each kind of condition is looked at: what proves it, how often to look, and why it does not hold."""

import os
from time import monotonic, time

from agent_exec.logs.stream import STREAMS, Log, Moved
from agent_exec.model.errors import AgentExecError, Unsupported
from agent_exec.model.patterns import compiled

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from agent_exec.host import Exchange, Listener
    from agent_exec.jobs.readiness.checks import Check
    from agent_exec.jobs.readiness.conditions import Condition
    from agent_exec.jobs.readiness.watching import Watching

    Evidence = dict[str, Any]

_OFTEN = 0.01
_SELDOM = 0.02
_RETRY, _LONGEST_RETRY = 0.025, 0.25
_ANSWER = 2.0
"""How long a server may take to answer a request, in seconds."""
_CHECK = 30.0
"""How long a command of `exec=` may take, in seconds."""
_BLOCK = 1 << 16
_SEARCH, _SEARCHES = 0.1, 2.0
"""How long one search may take, in seconds, and all that have taken longer together."""
_SHOWN = 300


class Look:
    """One condition of a wait."""

    __slots__ = ("condition", "met", "pause", "watching")

    def __init__(self, watching: "Watching", condition: "Condition") -> None:
        self.watching = watching
        self.condition = condition
        self.met = False
        self.pause = _SELDOM
        """How many seconds after a look the next one is due."""

    def look(self, *, final: bool) -> "Evidence | None":
        """Return the evidence that the condition holds; None if it does not. `final`: the job has ended."""
        raise NotImplementedError

    def why(self) -> "Evidence":
        """Return why it does not hold."""
        return {}

    def close(self) -> None:
        """End what was begun."""


class Exit(Look):
    """The job has ended."""

    __slots__ = ()

    def look(self, *, final: bool) -> "Evidence | None":
        """Return nothing but that it is so."""
        self.pause = 3600.0  # the wait hears of the end by itself
        return {} if final else None


class Listen(Look):
    """A process of the job listens on a TCP port, or on a UNIX socket."""

    __slots__ = ()

    def look(self, *, final: bool) -> "Evidence | None":
        """Return every socket that the job listens on."""
        if final:
            return None
        began = monotonic()
        wanted, looking = self.condition, self.watching.listening()
        if wanted.target:
            found = looking.unix(wanted.target)
            return None if found is None else {"listening": described([found])}
        listeners = looking.look()
        self.pause = max(_OFTEN, 2 * (monotonic() - began))  # the tables of a box's network take longer
        if not any(one.port == wanted.port or not wanted.port for one in listeners):
            return None
        return {"listening": described(listeners)}

    def why(self) -> "Evidence":
        """Say what the job listens on instead, and what holds the port."""
        if self.condition.target:
            return {"message": f"no process of the job listens on {self.condition.target}"}
        return not_listening(self.watching, self.condition.port)


class Http(Look):
    """A request is answered with a status of 2xx or 3xx, or with the one that was asked for."""

    __slots__ = ("_error", "_exchange", "_foreign", "_host", "_next", "_port", "_tries")

    def __init__(self, watching: "Watching", condition: "Condition") -> None:
        super().__init__(watching, condition)
        self._exchange: Exchange | None = None
        self._error: dict[str, str] = {}
        self._foreign: Evidence | None = None
        self._host = self._tries = 0
        self._port = condition.port
        self._next = 0.0

    def look(self, *, final: bool) -> "Evidence | None":
        """Go on with the request, or begin the next; return the status, and the address that has answered."""
        self.pause = _OFTEN
        if final or (self._exchange is None and monotonic() < self._next):
            return None
        try:
            if self._exchange is None and not self._begin():
                return None
            assert self._exchange is not None
            answer = self._exchange.look()
        except OSError as error:
            self._fail(error.strerror or str(error))
            return None
        if answer is None:
            return None
        words = answer.split(maxsplit=2)
        if not (answer.startswith(b"HTTP/") and len(words) > 1 and words[1].isdigit()):
            self._fail("the answer is not HTTP")
            return None
        status = int(words[1])
        if status != self.condition.status and (self.condition.status or not 200 <= status < 400):
            self._fail(f"answered {status}")
            return None
        address = self._exchange.address
        owner = self._owner()
        if "job_id" in owner.get("held_by", {}):
            self._foreign = owner
            self._fail(f"answered {status}, but by another job")
            return None
        return {"status": status, "address": address, **owner}

    def _begin(self) -> bool:
        """Begin a request to the next address; False if the job has no network yet."""
        from agent_exec.host import Exchange

        wanted = self.condition
        network = 0
        if self.watching.boxed or not wanted.port:
            looking = self.watching.listening()
            ports = sorted({one.port for one in looking.look() if one.port})
            if not (wanted.port in ports if wanted.port else ports):
                self._fail("no process of the job listens there")
                return False
            self._port = wanted.port or ports[self._tries % len(ports)]
            network = looking.network() if self.watching.boxed else 0
        request = (
            f"GET {wanted.target} HTTP/1.1\r\nHost: {wanted.name or f'localhost:{self._port}'}\r\n"
            "User-Agent: agent-exec\r\nAccept: */*\r\nConnection: close\r\n\r\n"
        )
        host = wanted.hosts[self._host]
        self._exchange = Exchange(host, self._port, request.encode(), _ANSWER, network, self.watching.detach)
        return True

    def _owner(self) -> "Evidence":
        """Return which process has answered: one of the job, or a stranger."""
        port = self._port
        try:
            for one in self.watching.listening().look():
                if one.port == port:
                    return {"pid": one.pid}
            held = self.watching.held_by(port)
        except (OSError, Unsupported):
            held = None
        return {} if held is None else {"held_by": held}

    def _fail(self, why: str) -> None:
        """Note why a request came to nothing; try the next address at once, and all again after a while."""
        hosts = self.condition.hosts
        self._error[hosts[self._host]] = why
        self.close()
        self._host = (self._host + 1) % len(hosts)
        if self._host == 0:
            self._tries += 1
            self._next = monotonic() + min(_LONGEST_RETRY, _RETRY * self._tries)

    def why(self) -> "Evidence":
        """Say what came of the last requests, and what holds the port."""
        port = self._port
        told = [f"{host} port {port}: {why}" for host, why in self._error.items()] or ["not tried yet"]
        more = self._foreign or not_listening(self.watching, port)
        return {**more, "message": "; ".join(filter(None, (*told, more.get("message"))))}

    def close(self) -> None:
        """Give up the connection."""
        if self._exchange is not None:
            self._exchange.close()
            self._exchange = None


class Match(Look):
    """The output has a place that matches a regular expression; looked at from its beginning."""

    __slots__ = ("_offsets", "_pattern", "_rests", "_skipped", "_spent")

    def __init__(self, watching: "Watching", condition: "Condition") -> None:
        super().__init__(watching, condition)
        self._pattern = compiled(condition.target, by_line=True)
        self._offsets = dict.fromkeys(STREAMS, 0)
        self._rests = dict.fromkeys(STREAMS, b"")
        self._skipped = 0
        self._spent = 0.0

    def look(self, *, final: bool) -> "Evidence | None":  # noqa: ARG002
        """Return the line of the first match in what is new."""
        self.pause = _OFTEN
        for stream in STREAMS:
            log = Log(self.watching.job.home, stream)
            while self._offsets[stream] < log.total:
                begin, end = log.piece(self._offsets[stream])
                if begin > self._offsets[stream]:
                    self._rests[stream] = b""  # a gap
                end = min(end, begin + _BLOCK)
                try:
                    data = self._rests[stream] + log.read(begin, end)
                except Moved:
                    break
                self._offsets[stream] = end
                self._rests[stream] = data[data.rfind(b"\n") + 1 :][-_BLOCK:]
                found = self._search(data)
                if found:
                    return {"stream": stream, "line": found}
        return None

    def _search(self, data: bytes) -> str:
        """Return the line of the first match, "" if there is none or it is not found in time."""
        if self._spent > _SEARCHES:
            self._skipped += len(data)
            return ""
        text = data.decode("utf-8", "replace")
        try:
            found = self._pattern.search(text, timeout=_SEARCH, concurrent=True)
        except TimeoutError:
            self._spent += _SEARCH
            self._skipped += len(data)
            return ""
        if found is None:
            return ""
        start = text.rfind("\n", 0, found.start()) + 1
        end = text.find("\n", max(found.end() - 1, start))
        line = text[start : end if end >= 0 else len(text)].strip("\r\n")
        return line[:_SHOWN] or found.group()[:_SHOWN] or " "

    def why(self) -> "Evidence":
        """Say how much was looked at, and whether the expression was too slow."""
        told = f"not in the {sum(self._offsets.values())} bytes of output so far"
        if self._skipped:
            told += f"; on {self._skipped} of them the expression took too long: use a simpler one"
        return {"message": told}


class File(Look):
    """A path exists."""

    __slots__ = ()

    def look(self, *, final: bool) -> "Evidence | None":
        """Return how large the file is."""
        path = self.condition.target
        places = [path]
        if self.watching.boxed:  # only what the command itself sees
            looking = self.watching.listening()
            places = [] if final else [f"{root}{path}" for root in looking.roots()]
        for place in places:
            try:
                return {"path": path, "bytes": os.stat(place).st_size}
            except OSError:
                continue
        return None

    def why(self) -> "Evidence":
        """Say which path."""
        return {"message": f"{self.condition.target} does not exist"}


class Exec(Look):
    """A command exits with 0."""

    __slots__ = ("_check", "_last", "_next", "_tries")

    def __init__(self, watching: "Watching", condition: "Condition") -> None:
        super().__init__(watching, condition)
        self._check: Check | None = None
        self._last: Evidence = {}
        self._next = 0.0
        self._tries = 0

    def look(self, *, final: bool) -> "Evidence | None":
        """Return that it has exited with 0, and its last line of output."""
        self.pause = _OFTEN
        if self._check is None:
            if not final and monotonic() >= self._next:
                try:
                    self._check = self._begin()
                except AgentExecError as error:
                    self._last = {"exit_code": None, "timed_out": False, "output": error.message}
                    self._next = monotonic() + _LONGEST_RETRY
            return None
        ended = self._check.poll()
        if ended is None:
            return None
        self.close()
        self._tries += 1
        self._last = ended
        if ended["exit_code"] == 0 and not ended["timed_out"]:
            return {"exit_code": 0, "output": ended["output"], "tries": self._tries}
        self._next = monotonic() + min(1.0, 4 * _RETRY * self._tries)
        return None

    def _begin(self) -> "Check":
        from agent_exec.host import detach, own_environment, shell
        from agent_exec.jobs.readiness.checks import Check

        watching = self.watching
        return Check(
            watching.detach or detach,
            shell(self.condition.target),
            cwd=str(watching.job.facts["cwd"]),
            env=own_environment() if watching.env is None else watching.env,
            timeout=_CHECK,
            lock=watching.mark,
            box=None if watching.box is None else watching.box(),
        )

    def why(self) -> "Evidence":
        """Say how it has ended last."""
        if not self._last:
            return {"message": "it has not ended yet"}
        code = "took too long" if self._last["timed_out"] else f"exited with {self._last['exit_code']}"
        return {"message": f"{code}: {self._last['output']}".rstrip(": "), "tries": self._tries}

    def close(self) -> None:
        """End the command."""
        if self._check is not None:
            self._check.close()
            self._check = None


class Idle(Look):
    """Nothing was printed for a while."""

    __slots__ = ("_since", "_total")

    def __init__(self, watching: "Watching", condition: "Condition") -> None:
        super().__init__(watching, condition)
        logs = [Log(watching.job.home, stream) for stream in STREAMS]
        self._total = sum(log.total for log in logs)
        last = max(log.modified for log in logs)
        past = time() - last if last else 0.0
        self._since = monotonic() - max(0.0, past)

    def look(self, *, final: bool) -> "Evidence | None":
        """Return for how long nothing has come."""
        if final:
            return None
        total = sum(Log(self.watching.job.home, stream).total for stream in STREAMS)
        now = monotonic()
        if total != self._total:
            self._total, self._since = total, now
        left = self.condition.seconds - (now - self._since)
        if left <= 0:
            return {"seconds": round(now - self._since, 3)}
        self.pause = min(left, 0.25)
        return None

    def why(self) -> "Evidence":
        """Say when the last output came."""
        return {"message": f"the last output came {monotonic() - self._since:.1f} s ago"}


class Recorded(Look):
    """A fact is on the job's record: it is ready, or healthy."""

    __slots__ = ()

    def look(self, *, final: bool) -> "Evidence | None":  # noqa: ARG002
        """Return when it came true."""
        facts = self.watching.facts()
        kind = self.condition.kind
        if kind == "healthy" and facts.get("health") != "healthy":
            return None
        at = facts.get(f"{kind}_at")
        return None if at is None else {"at": at}

    def why(self) -> "Evidence":
        """Say what the record says."""
        facts = self.watching.facts()
        if self.condition.kind == "ready":
            when = ", ".join(facts.get("ready_when", ()))
            return {"message": f"not yet: {when}" if when else "the job has no --ready-when"}
        if "health" not in facts:
            return {"message": "the job has no health check; start it with --health COMMAND"}
        return {"message": f"its health check says {facts['health']}: {facts.get('health_message', '')}"}


KINDS: "dict[str, type[Look]]" = {
    "exit": Exit,
    "listen": Listen,
    "http": Http,
    "match": Match,
    "file": File,
    "exec": Exec,
    "idle": Idle,
    "ready": Recorded,
    "healthy": Recorded,
}


def described(listeners: "Sequence[Listener]") -> "list[Evidence]":
    """Return sockets as an answer names them."""
    return [
        {"port": one.port, "address": one.address, "family": one.family, "pid": one.pid} for one in listeners
    ]


def not_listening(watching: "Watching", port: int) -> "Evidence":
    """Return what the job listens on instead of a port, and what holds that."""
    try:
        found = watching.listening().look()
        held = watching.held_by(port) if port else None
    except (OSError, Unsupported):
        return {}
    told: Evidence = {}
    if found:
        told["listening"] = described(found)
    there = [f"{one.address} ({one.family})" for one in found if one.port == port]
    if there:
        told["message"] = f"the job listens there on {' and '.join(there)}"
    elif held is None:
        told["message"] = "no process of the job listens" + (f" on port {port}" if port else "")
    else:
        told["held_by"] = held
        owner = f"process {held['pid']}" if "pid" in held else f"a process of user {held['uid']}"
        if "job_id" in held:
            owner = f"job {held['job_id']}"
        told["message"] = f"port {port} is held by {owner}, not by this job"
    return told
