"""The lease of a session's keyboard among people and the agent, and what people have typed."""

from _thread import allocate_lock

from agent_exec.model.visible import visible

_MOST_NAMES = 20


class Keyboard:
    """The person who has the keyboard, and those who ask for it, in order; any thread may use it.

    If no person has it, the agent types. A person is any object, and has a name.
    """

    __slots__ = ("_lock", "_people", "_typed")

    def __init__(self) -> None:
        self._lock = allocate_lock()
        self._people: list[tuple[object, str]] = []
        self._typed: dict[str, int] = {}

    @property
    def holder(self) -> str | None:
        """The name of the person who has it; None if the agent has."""
        people = self._people
        return people[0][1] if people else None

    @property
    def asked_by(self) -> str | None:
        """The name of the first person who asks for it; None if there is none."""
        people = self._people
        return people[1][1] if len(people) > 1 else None

    def has(self, person: object) -> bool:
        """True if this person has it."""
        people = self._people
        return bool(people) and people[0][0] is person

    def take(self, person: object, name: str) -> bool:
        """Grant it to a person if no other has it, else note the request; True if anything changed."""
        with self._lock:
            if any(one is person for one, _ in self._people):
                return False
            self._people = [*self._people, (person, name)]
            return True

    def give(self, person: object) -> bool:
        """Pass it on, or ask for it no more; True if anything changed.

        The first person who asks has it next, or else the agent.
        """
        with self._lock:
            left = [entry for entry in self._people if entry[0] is not person]
            changed = len(left) < len(self._people)
            self._people = left
            return changed

    def note_typed(self, name: str, count: int) -> None:
        """Note that a person has typed so many bytes."""
        with self._lock:
            if name not in self._typed and len(self._typed) >= _MOST_NAMES:
                name = next(iter(self._typed))
            self._typed[name] = self._typed.get(name, 0) + count

    def notes(self) -> list[str]:
        """Return what an answer says to the agent: what people typed since the last, and who has it now."""
        with self._lock:
            typed, self._typed = self._typed, {}
        notes = [
            f"a person ({visible(name)}) typed {count} {'byte' if count == 1 else 'bytes'} into this session"
            for name, count in typed.items()
        ]
        if (holder := self.holder) is not None:
            notes.append(
                f"a person ({visible(holder)}) has the keyboard; nothing else can type until it is given back"
            )
        return notes
