"""What the proxy decided: the last decisions, and each denial once."""

from collections import deque
from threading import Lock

from agent_exec.model.value import Value

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

    protocol: str
    given: str
    allowed: bool
    host: str | None = None
    port: int | None = None
    address: str | None = None
    rule: str | None = None
    reason: str | None = None

    def to_json(self) -> dict[str, object]:
        """Return the fields by name, and the host once."""
        names = ("port", "protocol", "allowed", "address", "rule", "reason")
        return {"host": self.host or self.given} | {name: getattr(self, name) for name in names}


class Log:
    """The last decisions, and each denial once; for any thread."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._fresh: deque[Decision] = deque(maxlen=KEPT)
        self._refused: dict[tuple[object, ...], Decision] = {}

    def add(self, decision: Decision) -> None:
        """Keep a decision, unless the token is missing: many clients ask again with it."""
        where, reason = decision.host or decision.given, decision.reason
        with self._lock:
            if reason != NO_TOKEN:
                self._fresh.append(decision)
                if not decision.allowed and where and len(self._refused) < KEPT_DENIALS:
                    self._refused.setdefault((where, decision.port, reason), decision)

    def take(self) -> list[Decision]:
        """Return the decisions since the last call: the last ones, and each denial at least once."""
        with self._lock:
            taken, refused = list(self._fresh), list(self._refused.values())
            self._fresh.clear()
            self._refused.clear()
        known = set(map(id, taken))
        return [*(one for one in refused if id(one) not in known), *taken]
