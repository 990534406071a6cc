"""The only room that knows an operating system; all rooms above use these names."""

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    if sys.platform == "win32":
        from agent_exec.host.windows.changes import Changes
        from agent_exec.host.windows.control import Control, ExitWatch, Report, Watch, ask, tell
        from agent_exec.host.windows.detached import detach
        from agent_exec.host.windows.listening import (
            Exchange,
            Listener,
            Listening,
            ancestors,
            connect_unix,
            dial,
            holders,
            is_listened_on,
            network_of,
            signers,
        )
        from agent_exec.host.windows.lock import FileLock, holder, is_locked
        from agent_exec.host.windows.orphans import end_orphans
        from agent_exec.host.windows.poller import Interrupts, Poller, call_at, on_terminate, wait_to_read
        from agent_exec.host.windows.process import Process
        from agent_exec.host.windows.program import on_path, prepare
        from agent_exec.host.windows.signals import signal_name, signal_number
        from agent_exec.host.windows.spawner import Adopted, LocalSpawner, Spawner
        from agent_exec.host.windows.system import (
            boot_id,
            close_loopback,
            hide_arguments,
            identify,
            inherited_environment,
            is_alive,
            keep_loopback,
            moment_of_start,
            own_environment,
            own_processes,
            send_signal,
            shell,
        )
    else:
        from agent_exec.host.posix.changes import Changes
        from agent_exec.host.posix.descriptors import Interrupts, Poller, wait_to_read
        from agent_exec.host.posix.detached import (
            Control,
            ExitWatch,
            Report,
            Watch,
            ask,
            detach,
            hide_arguments,
            tell,
        )
        from agent_exec.host.posix.dialing import Exchange, connect_unix, dial, network_of
        from agent_exec.host.posix.listening import Listener, Listening, ancestors, holders, is_listened_on
        from agent_exec.host.posix.lock import FileLock, holder, is_locked, signers
        from agent_exec.host.posix.orphans import end_orphans
        from agent_exec.host.posix.process.handoff_in import Adopted
        from agent_exec.host.posix.process.local import LocalSpawner
        from agent_exec.host.posix.process.loopbacks import close_loopback, keep_loopback
        from agent_exec.host.posix.process.process import Process
        from agent_exec.host.posix.process.spawner import Spawner
        from agent_exec.host.posix.program import on_path, prepare
        from agent_exec.host.posix.signals import on_terminate, signal_name, signal_number
        from agent_exec.host.posix.system import (
            boot_id,
            identify,
            inherited_environment,
            is_alive,
            moment_of_start,
            own_environment,
            own_processes,
            send_signal,
            shell,
        )
        from agent_exec.host.posix.wallclock import call_at
elif sys.platform == "win32":
    from agent_exec.host.windows import __getattr__ as __getattr__
else:
    from agent_exec.host.posix import __getattr__ as __getattr__

__all__ = [
    "Adopted",
    "Changes",
    "Control",
    "Exchange",
    "ExitWatch",
    "FileLock",
    "Interrupts",
    "Listener",
    "Listening",
    "LocalSpawner",
    "Poller",
    "Process",
    "Report",
    "Spawner",
    "Watch",
    "ancestors",
    "ask",
    "boot_id",
    "call_at",
    "close_loopback",
    "connect_unix",
    "detach",
    "dial",
    "end_orphans",
    "hide_arguments",
    "holder",
    "holders",
    "identify",
    "inherited_environment",
    "is_alive",
    "is_listened_on",
    "is_locked",
    "keep_loopback",
    "moment_of_start",
    "network_of",
    "on_path",
    "on_terminate",
    "own_environment",
    "own_processes",
    "prepare",
    "send_signal",
    "shell",
    "signal_name",
    "signal_number",
    "signers",
    "tell",
    "wait_to_read",
]
