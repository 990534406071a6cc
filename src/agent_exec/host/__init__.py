"""The only room that knows an operating system; everyone above sees these names."""

import sys

if sys.platform == "win32":
    from agent_exec.host.windows import (
        FileLock,
        Poller,
        Process,
        Spawner,
        identify,
        is_alive,
        is_locked,
        prepare,
        send_signal,
        signal_name,
        signal_number,
    )
else:
    from agent_exec.host.posix import (
        FileLock,
        Poller,
        Process,
        Spawner,
        identify,
        is_alive,
        is_locked,
        prepare,
        send_signal,
        signal_name,
        signal_number,
    )

__all__ = [
    "FileLock",
    "Poller",
    "Process",
    "Spawner",
    "identify",
    "is_alive",
    "is_locked",
    "prepare",
    "send_signal",
    "signal_name",
    "signal_number",
]
