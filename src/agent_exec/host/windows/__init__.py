"""The host on Windows: trees are jobs, streams have threads, a terminal needs pywinpty."""

from agent_exec.model.lazy import homes, loader

_HOMES = homes(
    {
        "changes": "Changes",
        "control": "Control ExitWatch Report Watch ask tell",
        "detached": "detach",
        "listening": "Exchange Listener Listening ancestors connect_unix dial holders is_listened_on "
        "network_of signers",
        "lock": "FileLock holder is_locked",
        "orphans": "end_orphans",
        "poller": "Interrupts Poller call_at on_terminate wait_to_read",
        "process": "Process",
        "program": "on_path prepare",
        "signals": "signal_name signal_number",
        "spawner": "Adopted LocalSpawner Spawner",
        "system": "boot_id close_loopback hide_arguments identify inherited_environment is_alive "
        "keep_loopback moment_of_start own_environment own_processes send_signal shell",
    }
)
__getattr__ = loader(__name__, _HOMES)
