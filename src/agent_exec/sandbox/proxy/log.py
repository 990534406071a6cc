"""What the proxy decided: every decision as a value, the last ones kept, and the denials as they are told."""

from collections import deque
from threading import Lock

from agent_exec.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

KEPT = 1000
KEPT_DENIALS = 100
NO_TOKEN = "no token was presented"


class Decision(Value):
    """One request and what became of it.

    `given` is the host as it was sent, in printable ASCII; `host` is its one
    spelling, None if it has none. `address` is what was dialled. `rule` is
    the rule that allowed it; `reason` says why it was refused or, if it was
    allowed, why nobody could be reached.
    """

    __slots__ = ("address", "allowed", "given", "host", "port", "protocol", "reason", "rule", "time")

    def __init__(
        self,
        time: float,
        protocol: str,
        given: str,
        *,
        allowed: bool,
        host: str | None = None,
        port: int | None = None,
        address: str | None = None,
        rule: str | None = None,
        reason: str | None = None,
    ) -> None:
        self.time = time
        self.protocol = protocol
        self.given = given
        self.host = host
        self.port = port
        self.address = address
        self.allowed = allowed
        self.rule = rule
        self.reason = reason

    @property
    def denied(self) -> bool:
        """Whether this is a denial: many clients ask without the token first, and again with it."""
        return not self.allowed and self.reason != NO_TOKEN

    def to_json(self) -> dict[str, object]:
        """Give the fields by name, and the host once."""
        return {
            "host": self.host or self.given,
            "port": self.port,
            "protocol": self.protocol,
            "allowed": self.allowed,
            "address": self.address,
            "rule": self.rule,
            "reason": self.reason,
        }


class Log:
    """The last decisions, and each denial once; safe to read from any thread."""

    __slots__ = ("_decisions", "_denials", "_fresh", "_lock", "_refused", "_tell", "remedy", "unheard")

    def __init__(self, remedy: str, tell: "Callable[[Decision], object] | None" = None) -> None:
        self._lock = Lock()
        self._decisions: deque[Decision] = deque(maxlen=KEPT)
        self._fresh: deque[Decision] = deque(maxlen=KEPT)
        self._refused: dict[tuple[object, ...], Decision] = {}
        self._denials: dict[tuple[object, ...], None] = {}
        self._tell = tell
        self.remedy = remedy
        self.unheard = 0

    def add(self, decision: Decision) -> None:
        """Keep a decision and tell it; who listens cannot break the proxy by an error."""
        with self._lock:
            self._decisions.append(decision)
            if decision.reason != NO_TOKEN:
                self._fresh.append(decision)
            host = decision.host or decision.given
            if host and decision.denied:
                key = (host, decision.port, decision.reason)
                if len(self._denials) < KEPT_DENIALS:
                    self._denials[key] = None
                if len(self._refused) < KEPT_DENIALS:
                    self._refused.setdefault(key, decision)
        if self._tell is not None:
            try:
                self._tell(decision)
            except Exception:
                self.unheard += 1

    def decisions(self) -> list[Decision]:
        """Give the last decisions, oldest first."""
        with self._lock:
            return list(self._decisions)

    def take(self) -> list[Decision]:
        """Give the decisions since this was last asked: the last ones, and each denial once at least."""
        with self._lock:
            taken, refused = list(self._fresh), list(self._refused.values())
            self._fresh.clear()
            self._refused.clear()
        known = set(map(id, taken))
        return [*(one for one in refused if id(one) not in known), *taken]

    def denials(self) -> list[dict[str, object]]:
        """Give the refused hosts, each once, as it is reported."""
        with self._lock:
            keys = list(self._denials)
        return [denial(*key, remedy=self.remedy) for key in keys]


def denial(host: object, port: object, reason: object, *, remedy: str) -> dict[str, object]:
    """Give a refused request as it is reported."""
    return {
        "kind": "net.connect",
        "host": host,
        "port": port,
        "evidence": "exact",
        "rule": reason,
        "remedy": remedy,
    }
