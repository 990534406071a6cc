"""The host on Windows: trees are jobs, streams have threads, a terminal needs pywinpty."""

from agent_exec.model.lazy import loader

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agent_exec.host.windows.ancestors import own_processes
    from agent_exec.host.windows.control import Control, Watch, ask
    from agent_exec.host.windows.detached import detach
    from agent_exec.host.windows.environment import inherited_environment, own_environment, shell
    from agent_exec.host.windows.handoff_in import Adopted
    from agent_exec.host.windows.hide_argv import hide_arguments
    from agent_exec.host.windows.identity import boot_id, identify, is_alive, send_signal
    from agent_exec.host.windows.interrupts import Interrupts, on_terminate, wait_to_read
    from agent_exec.host.windows.listening import is_listened_on
    from agent_exec.host.windows.local_spawner import LocalSpawner
    from agent_exec.host.windows.lock import FileLock, holder, is_locked
    from agent_exec.host.windows.orphans import end_orphans
    from agent_exec.host.windows.poller import Poller
    from agent_exec.host.windows.process import Process
    from agent_exec.host.windows.program import prepare
    from agent_exec.host.windows.report import Report, tell
    from agent_exec.host.windows.signals import signal_name, signal_number
    from agent_exec.host.windows.spawner import Spawner

__all__ = [
    "Adopted",
    "Control",
    "FileLock",
    "Interrupts",
    "LocalSpawner",
    "Poller",
    "Process",
    "Report",
    "Spawner",
    "Watch",
    "ask",
    "boot_id",
    "detach",
    "end_orphans",
    "hide_arguments",
    "holder",
    "identify",
    "inherited_environment",
    "is_alive",
    "is_listened_on",
    "is_locked",
    "on_terminate",
    "own_environment",
    "own_processes",
    "prepare",
    "send_signal",
    "shell",
    "signal_name",
    "signal_number",
    "tell",
    "wait_to_read",
]

_HOMES = {
    "Adopted": "handoff_in",
    "Control": "control",
    "FileLock": "lock",
    "Interrupts": "interrupts",
    "LocalSpawner": "local_spawner",
    "Poller": "poller",
    "Process": "process",
    "Report": "report",
    "Spawner": "spawner",
    "Watch": "control",
    "ask": "control",
    "boot_id": "identity",
    "detach": "detached",
    "end_orphans": "orphans",
    "hide_arguments": "hide_argv",
    "holder": "lock",
    "identify": "identity",
    "inherited_environment": "environment",
    "is_alive": "identity",
    "is_listened_on": "listening",
    "is_locked": "lock",
    "own_environment": "environment",
    "own_processes": "ancestors",
    "on_terminate": "interrupts",
    "prepare": "program",
    "shell": "environment",
    "send_signal": "identity",
    "signal_name": "signals",
    "signal_number": "signals",
    "tell": "report",
    "wait_to_read": "interrupts",
}
__getattr__ = loader(__name__, _HOMES)
