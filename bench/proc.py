"""What the kernel tells about processes: memory, descriptors, threads, time used, and who carries a mark."""

import os
import signal

_OURS = "AGENT_EXEC_BENCH"


def resident(pid: int | str = "self") -> int:
    """Return the resident memory of a process, in bytes."""
    return _rollup(pid)["Rss"]


def proportional(pid: int | str) -> int:
    """Return a process's own memory and its share of what it shares, in bytes."""
    return _rollup(pid)["Pss"]


def reset_peak() -> None:
    """Let the peak of this process's memory be measured from now on."""
    try:
        with open("/proc/self/clear_refs", "w", encoding="ascii") as file:
            file.write("5")
    except OSError:
        return  # the peak then counts from the start of the process


def peak() -> int:
    """Return the greatest resident memory of this process so far, in bytes."""
    with open("/proc/self/status", encoding="ascii") as file:
        for line in file:
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    return 0


def descriptors() -> int:
    """Count this process's open descriptors."""
    return len(os.listdir("/proc/self/fd")) - 1  # without the one that lists them


def threads() -> int:
    """Count this process's threads."""
    return len(os.listdir("/proc/self/task"))


def parent(pid: int) -> int:
    """Return the parent of a process; 0 if it is gone."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return int(file.read().rpartition(b")")[2].split()[1])
    except OSError:
        return 0


def used(pid: int) -> float:
    """Return the seconds of CPU that a process's main thread has used; 0 if it is gone."""
    try:
        with open(f"/proc/{pid}/schedstat", encoding="ascii") as file:
            return int(file.read().split()[0]) / 1e9
    except OSError:
        return 0.0


def mark_ours() -> None:
    """Mark all processes that this one will start, so that they can be told from others'."""
    os.environ[_OURS] = str(os.getpid())


def others_used() -> dict[int, int]:
    """Return the clock ticks used so far by every process that is not ours, with its reaped children's."""
    word = f"{_OURS}={os.getpid()}".encode()
    found: dict[int, int] = {}
    for name in os.listdir("/proc"):
        if not name.isdigit() or int(name) == os.getpid():
            continue
        try:
            fields = _read(f"/proc/{name}/stat").rpartition(b")")[2].split()
            if word not in _environ(name):
                # To the first process our own orphans are added too, with all they ever used.
                found[int(name)] = sum(map(int, fields[11 : 13 if name == "1" else 15]))
        except OSError:
            continue
    return found


def exists(pid: int) -> bool:
    """True if there is such a process, dead and unreaped ones included."""
    return os.path.exists(f"/proc/{pid}")


def marked(mark: str, program: str = "") -> list[int]:
    """Return the processes that have this argument, of that program if one is named."""
    found: list[int] = []
    word = mark.encode()
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/cmdline", "rb") as file:
                argv = file.read().split(b"\0")
        except OSError:
            continue
        if any(word in argument for argument in argv) and (not program or argv[0] == program.encode()):
            found.append(int(name))
    return found


def end_marked(mark: str) -> None:
    """End every process that has this argument by force."""
    for pid in marked(mark):
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            continue


def _environ(name: str) -> list[bytes]:
    """Return the variables of a process; none if they are not for us to see."""
    try:
        return _read(f"/proc/{name}/environ").split(b"\0")
    except PermissionError:
        return []


def _read(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


def _rollup(pid: int | str) -> dict[str, int]:
    """Return the sums of a process's memory map, in bytes."""
    found: dict[str, int] = {}
    with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as file:
        for line in file.readlines()[1:]:
            name, _, value = line.partition(":")
            found[name] = int(value.split()[0]) * 1024
    return found
