"""The host on Windows: trees are jobs, streams have threads, a terminal needs pywinpty."""

from agent_exec.host.windows.identity import identify, is_alive, send_signal
from agent_exec.host.windows.lock import FileLock, is_locked
from agent_exec.host.windows.poller import Poller
from agent_exec.host.windows.process import Process
from agent_exec.host.windows.program import prepare
from agent_exec.host.windows.signals import signal_name, signal_number
from agent_exec.host.windows.spawner import Spawner

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
