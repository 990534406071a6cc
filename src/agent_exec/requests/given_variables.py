"""The environment of a job: a base, and what options and files give for it, with secrets masked."""

import os

from agent_exec.model.errors import InvalidArgument

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from agent_exec.model.cancel import Cancel

MASKED = "***"
_LARGEST = 16 << 20


class Environment:
    """The variables of a command, and which of them were given for it.

    `shown` is what may be repeated to the caller: values of names that are to
    be masked, or look like secrets, are not. For a command in a sandbox
    `hidden` are the paths that it may not read: no file is one of them.
    """

    __slots__ = ("_given", "shown", "values")

    def __init__(
        self,
        base: "Mapping[bytes, bytes]",
        *,
        inherit: bool = True,
        files: "Sequence[str]" = (),
        given: "Sequence[str]" = (),
        mask: "Sequence[str]" = (),
        hidden: "Sequence[str] | None" = None,
        cancel: "Cancel | None" = None,
    ) -> None:
        self.values = dict(base) if inherit else {}
        self.values.pop(b"", None)
        self._given: dict[str, None] = {}
        self.shown: list[str] = []
        for file in files:
            for pair in _read(file, hidden, cancel):
                self._set(*pair)
        for word in given:
            name, equals, value = word.partition("=")
            if not equals:
                found = base.get(os.fsencode(name))
                if found is None:
                    raise InvalidArgument(
                        f"--env {name}: there is no such variable here to pass on; write --env {name}=VALUE"
                    )
                value = os.fsdecode(found)
            self._set(name, value)
            from agent_exec.model.secret import is_secret

            masked = name in mask or not equals or is_secret(name, value)
            self.shown.append(f"{name}={MASKED if masked else value}")

    def _set(self, name: str, value: str) -> None:
        if not name or "\0" in name or "\0" in value:
            raise InvalidArgument("a variable needs a name, and neither it nor its value may hold a NUL")
        self.values[os.fsencode(name)] = os.fsencode(value)
        self._given[name] = None

    @property
    def given(self) -> list[str]:
        """The names of the variables that were given, each once, in order."""
        return list(self._given)


def _read(path: str, hidden: "Sequence[str] | None", cancel: "Cancel | None") -> "list[tuple[str, str]]":
    """Return the variables of a file: one NAME=VALUE a line, blank lines and # comments ignored.

    The file may be a pipe, as long as something writes to it.
    """
    from agent_exec.logs.folders import HiddenPath, chunks, open_own_file

    try:
        fd = open_own_file(path, hidden)
        try:
            data = b""
            for chunk in chunks(fd, cancel):
                data += chunk
                if len(data) > _LARGEST:
                    raise InvalidArgument(f"--env-file {path!r} is larger than {_LARGEST} bytes", path=path)
        finally:
            os.close(fd)
    except HiddenPath:
        raise InvalidArgument(
            f"--env-file {path!r} is hidden by the sandbox; name another file", path=path
        ) from None
    except OSError as error:
        raise InvalidArgument(f"--env-file {path!r} cannot be read: {error.strerror}", path=path) from None
    text = os.fsdecode(data)
    pairs: list[tuple[str, str]] = []
    for number, line in enumerate(text.split("\n"), 1):
        entry = line.strip()
        if not entry or entry.startswith("#"):
            continue
        name, equals, value = entry.partition("=")
        if not equals or not name.strip():
            raise InvalidArgument(f"--env-file {path!r}, line {number}: write NAME=VALUE", path=path)
        pairs.append((name.strip(), value.strip()))
    return pairs
