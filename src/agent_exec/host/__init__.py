"""The only room that knows an operating system; everyone above sees these names."""

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    if sys.platform == "win32":
        from agent_exec.host.windows import (
            Control,
            FileLock,
            Interrupts,
            LocalSpawner,
            Poller,
            Process,
            Report,
            Spawner,
            Watch,
            ask,
            boot_id,
            detach,
            end_orphans,
            hide_arguments,
            identify,
            inherited_environment,
            is_alive,
            is_locked,
            on_terminate,
            own_environment,
            prepare,
            send_signal,
            shell,
            signal_name,
            signal_number,
            tell,
        )
    else:
        from agent_exec.host.posix import (
            Control,
            FileLock,
            Interrupts,
            LocalSpawner,
            Poller,
            Process,
            Report,
            Spawner,
            Watch,
            ask,
            boot_id,
            detach,
            end_orphans,
            hide_arguments,
            identify,
            inherited_environment,
            is_alive,
            is_locked,
            on_terminate,
            own_environment,
            prepare,
            send_signal,
            shell,
            signal_name,
            signal_number,
            tell,
        )
elif sys.platform == "win32":
    from agent_exec.host.windows import __getattr__ as __getattr__
else:
    from agent_exec.host.posix import __getattr__ as __getattr__

__all__ = [
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
    "identify",
    "inherited_environment",
    "is_alive",
    "is_locked",
    "on_terminate",
    "own_environment",
    "prepare",
    "send_signal",
    "shell",
    "signal_name",
    "signal_number",
    "tell",
]
