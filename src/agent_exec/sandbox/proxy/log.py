"""What the proxy decided: the last decisions, and each denial once."""

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
    """One request and its result.

    `given` is the host as it was sent, in printable ASCII; `host` is its one
    spelling, None if it has none. `address` was dialled, by the `rule` that
    allowed it. `reason` says why it was refused or, if it was allowed, why
    the host could not be reached.
    """

    time: float
    protocol: str
    given: str
    allowed: bool
    host: str | None = None
    port: int | None = None
    address: str | None = None
    rule: str | None = None
    reason: str | None = None

    @property
    def key(self) -> tuple[object, ...]:
        """The host, the port and the reason: what makes two denials one."""
        return self.host or self.given, self.port, self.reason

    @property
    def denied(self) -> bool:
        """True for a denial; many clients ask without the token first, and again with it."""
        return not self.allowed and self.reason != NO_TOKEN and bool(self.host or self.given)

    def to_json(self) -> dict[str, object]:
        """Return the fields by name, and the host once."""
        names = ("port", "protocol", "allowed", "address", "rule", "reason")
        return {"host": self.host or self.given} | {name: getattr(self, name) for name in names}


class Log:
    """The last decisions, and each denial once; for any thread."""

    def __init__(self, remedy: str, tell: "Callable[[Decision], object] | None" = None) -> None:
        self._lock = Lock()
        self._decisions: deque[Decision] = deque(maxlen=KEPT)
        self._fresh: deque[Decision] = deque(maxlen=KEPT)
        self._refused: dict[tuple[object, ...], Decision] = {}
        self._tell = tell
        self.remedy = remedy

    def add(self, decision: Decision) -> None:
        """Keep a decision and report it; an error of the callback does not break the proxy."""
        with self._lock:
            self._decisions.append(decision)
            if decision.reason != NO_TOKEN:
                self._fresh.append(decision)
                if decision.denied and len(self._refused) < KEPT_DENIALS:
                    self._refused.setdefault(decision.key, decision)
        if self._tell is not None:
            try:
                self._tell(decision)
            except Exception:
                pass  # the caller's own

    def decisions(self) -> list[Decision]:
        """Return the last decisions, oldest first."""
        with self._lock:
            return list(self._decisions)

    def take(self) -> list[Decision]:
        """Return the decisions since the last call: the last ones, and each denial at least once."""
        with self._lock:
            taken, refused = list(self._fresh), list(self._refused.values())
            self._fresh.clear()
            self._refused.clear()
        known = set(map(id, taken))
        return [*(one for one in refused if id(one) not in known), *taken]

    def denials(self) -> list[dict[str, object]]:
        """Return the refused hosts, each once, as they are reported."""
        keys = dict.fromkeys(one.key for one in self.decisions() if one.denied)
        return [denial(*key, remedy=self.remedy) for key in list(keys)[:KEPT_DENIALS]]


def denial(host: object, port: object, reason: object, *, remedy: str) -> dict[str, object]:
    """Return a refused request as it is reported."""
    return {
        "kind": "net.connect",
        "host": host,
        "port": port,
        "evidence": "exact",
        "rule": reason,
        "remedy": remedy,
    }
