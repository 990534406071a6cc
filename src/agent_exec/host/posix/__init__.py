"""The host on POSIX systems: Linux in full, others as far as they go."""

from agent_exec.host.posix.identity import identify, is_alive, send_signal
from agent_exec.host.posix.lock import FileLock, is_locked
from agent_exec.host.posix.poller import Poller
from agent_exec.host.posix.process import Process
from agent_exec.host.posix.program import prepare
from agent_exec.host.posix.signals import signal_name, signal_number
from agent_exec.host.posix.spawner import Spawner

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
