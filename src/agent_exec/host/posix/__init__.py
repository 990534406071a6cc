"""The host on POSIX systems: Linux in full, others as far as they go."""

from agent_exec.model.lazy import loader

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agent_exec.host.posix.ancestors import own_processes
    from agent_exec.host.posix.detached.control import Control, Watch, ask
    from agent_exec.host.posix.detached.hide_argv import hide_arguments
    from agent_exec.host.posix.detached.lock import FileLock, holder, is_locked
    from agent_exec.host.posix.detached.orphans import end_orphans
    from agent_exec.host.posix.detached.report import Report, tell
    from agent_exec.host.posix.detached.start import detach
    from agent_exec.host.posix.environment import inherited_environment, own_environment, shell
    from agent_exec.host.posix.identity import identify, is_alive, send_signal
    from agent_exec.host.posix.interrupts import Interrupts, wait_to_read
    from agent_exec.host.posix.keeper.tree import boot_id
    from agent_exec.host.posix.listening import is_listened_on
    from agent_exec.host.posix.poller import Poller
    from agent_exec.host.posix.process.handoff_in import Adopted
    from agent_exec.host.posix.process.local_spawner import LocalSpawner
    from agent_exec.host.posix.process.process import Process
    from agent_exec.host.posix.process.spawner import Spawner
    from agent_exec.host.posix.program import prepare
    from agent_exec.host.posix.signals import on_terminate, signal_name, signal_number

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
    "Adopted": "process.handoff_in",
    "Control": "detached.control",
    "FileLock": "detached.lock",
    "Interrupts": "interrupts",
    "LocalSpawner": "process.local_spawner",
    "Poller": "poller",
    "Process": "process.process",
    "Report": "detached.report",
    "Spawner": "process.spawner",
    "Watch": "detached.control",
    "ask": "detached.control",
    "boot_id": "keeper.tree",
    "detach": "detached.start",
    "end_orphans": "detached.orphans",
    "hide_arguments": "detached.hide_argv",
    "holder": "detached.lock",
    "identify": "identity",
    "inherited_environment": "environment",
    "is_alive": "identity",
    "is_listened_on": "listening",
    "is_locked": "detached.lock",
    "own_environment": "environment",
    "own_processes": "ancestors",
    "on_terminate": "signals",
    "prepare": "program",
    "shell": "environment",
    "send_signal": "identity",
    "signal_name": "signals",
    "signal_number": "signals",
    "tell": "detached.report",
    "wait_to_read": "interrupts",
}
__getattr__ = loader(__name__, _HOMES)
