"""The numbers of the contract, and how a server offers the tools."""

from agent_exec.model.errors import InvalidArgument
from agent_exec.model.limits import LONGEST
from agent_exec.model.value import Value

YIELD_MS = 10_000
WRITE_YIELD_MS = 250
LEAST_YIELD_MS = 250
MOST_YIELD_MS = 30_000
LEAST_POLL_MS = 5_000
MOST_POLL_MS = 300_000
MAX_OUTPUT_TOKENS = 10_000
MAX_BYTES = 40_000
MOST_BYTES = 1 << 20
ROWS, COLUMNS = 24, 80
LARGEST_SIDE = 2_000
LONGEST_MS = int(LONGEST * 1000)

PERMISSIONS = ("use_default", "require_escalated")
RENDERS = ("text", "screen", "raw")


class Terms(Value):
    """How a server offers the tools.

    `allow_login`: commands may run in login shells, and do so unless told
    otherwise. `capture_login`: the user agrees that a login environment is
    taken once and used again (see `login`). `request_rule`: a model may
    propose a rule. `background_max_ms`: how long an empty write_stdin may
    wait. `max_output_tokens`: how much is shown if nothing is asked, and
    `most_output_tokens` whatever is asked.
    """

    allow_login: bool = True
    capture_login: bool = False
    request_rule: bool = True
    background_max_ms: int = MOST_POLL_MS
    max_output_tokens: int = MAX_OUTPUT_TOKENS
    most_output_tokens: int | None = None

    def __post_init__(self) -> None:
        for name in ("background_max_ms", "max_output_tokens", "most_output_tokens"):
            count = getattr(self, name)
            if name == "most_output_tokens" and count is None:
                continue
            if isinstance(count, bool) or not isinstance(count, int) or count < 0:
                raise InvalidArgument(f"{name} must be a whole number, 0 or more; got {count!r}")
        object.__setattr__(self, "background_max_ms", max(self.background_max_ms, LEAST_POLL_MS))


USUAL = Terms()
