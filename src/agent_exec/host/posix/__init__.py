"""The host on POSIX systems: Linux in full, others as far as they go."""

from agent_exec.model.lazy import homes, loader

_HOMES = homes(
    {
        "changes": "Changes",
        "descriptors": "Interrupts Poller wait_to_read",
        "detached": "Control Report Watch ask detach hide_arguments tell",
        "lock": "FileLock holder is_locked",
        "orphans": "end_orphans",
        "process.handoff_in": "Adopted",
        "process.local": "LocalSpawner",
        "process.loopbacks": "close_loopback keep_loopback",
        "process.process": "Process",
        "process.spawner": "Spawner",
        "program": "on_path prepare",
        "signals": "on_terminate signal_name signal_number",
        "system": "boot_id identify inherited_environment is_alive is_listened_on own_environment "
        "own_processes send_signal shell",
    }
)
__getattr__ = loader(__name__, _HOMES)
