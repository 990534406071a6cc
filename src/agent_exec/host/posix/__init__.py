"""The host on POSIX systems: Linux in full, others as far as they go."""

from agent_exec.model.lazy import loader

_HOMES = {
    name: home
    for home, names in {
        "ancestors": "own_processes",
        "detached.control": "Control Watch ask",
        "detached.hide_argv": "hide_arguments",
        "detached.lock": "FileLock holder is_locked",
        "detached.orphans": "end_orphans",
        "detached.report": "Report tell",
        "detached.start": "detach",
        "environment": "inherited_environment own_environment shell",
        "identity": "identify is_alive send_signal",
        "interrupts": "Interrupts wait_to_read",
        "keeper.tree": "boot_id",
        "listening": "is_listened_on",
        "poller": "Poller",
        "process.handoff_in": "Adopted",
        "process.local_spawner": "LocalSpawner",
        "process.process": "Process",
        "process.spawner": "Spawner",
        "program": "on_path prepare",
        "signals": "on_terminate signal_name signal_number",
    }.items()
    for name in names.split()
}
__getattr__ = loader(__name__, _HOMES)
