"""The host on POSIX systems: Linux in full, others as far as they go."""

from agent_exec.model.lazy import homes, loader

_HOMES = homes(
    {
        "changes": "Changes",
        "descriptors": "Interrupts Poller wait_to_read",
        "dialing": "Exchange connect_unix dial network_of",
        "detached": "Control ExitWatch Report Watch ask detach hide_arguments tell",
        "listening": "Listener Listening ancestors holders is_listened_on",
        "lock": "FileLock holder is_locked signers",
        "orphans": "end_orphans",
        "process.handoff_in": "Adopted",
        "process.local": "LocalSpawner",
        "process.loopbacks": "close_loopback keep_loopback",
        "process.process": "Process",
        "process.spawner": "Spawner",
        "program": "on_path prepare",
        "signals": "on_terminate signal_name signal_number",
        "system": "boot_id identify inherited_environment is_alive moment_of_start own_environment "
        "own_processes send_signal shell",
        "wallclock": "call_at",
    }
)
__getattr__ = loader(__name__, _HOMES)
