"""The numbers of the contract of jobs, where nothing else is said; seconds and bytes."""

SNAPSHOT_CAP = 10.0
"""How long `run` watches, and the most that --snapshot-after can ask for."""
WAIT = 30.0
TAIL_LINES = 50
MAX_BYTES = 65536
LIST_LIMIT = 50
GRACE = 2.0
QUOTA = 1 << 30
SMALLEST_QUOTA = 64
"""Below this there is no first and newest output to speak of."""
STDIN_MAX = 64 << 20
OLDER_THAN = 30 * 86400.0
OLDER_THAN_TEXT = "30d"
SCAN_LIMIT, DELETE_LIMIT = 200, 20
"""How many jobs an automatic collection looks at, and deletes, at most."""
VIEWED = 40_000
"""How many bytes a view of a stream may take, for a model."""
