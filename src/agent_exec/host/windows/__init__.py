"""The host on Windows: trees are jobs, streams have threads, a terminal needs pywinpty."""

from agent_exec.model.lazy import loader

_HOMES = {
    name: home
    for home, names in {
        "ancestors": "own_processes",
        "control": "Control Watch ask",
        "detached": "detach",
        "environment": "inherited_environment own_environment shell",
        "handoff_in": "Adopted",
        "hide_argv": "hide_arguments",
        "identity": "boot_id identify is_alive send_signal",
        "interrupts": "Interrupts on_terminate wait_to_read",
        "listening": "is_listened_on",
        "local_spawner": "LocalSpawner",
        "lock": "FileLock holder is_locked",
        "orphans": "end_orphans",
        "poller": "Poller",
        "process": "Process",
        "program": "on_path prepare",
        "report": "Report tell",
        "signals": "signal_name signal_number",
        "spawner": "Spawner",
    }.items()
    for name in names.split()
}
__getattr__ = loader(__name__, _HOMES)
