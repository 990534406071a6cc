"""All that one server offers: a toolset, or two whose tools have different names, in the client's folders."""

import os
from typing import TYPE_CHECKING, Any

from agent_exec.apps.mcp.toolset import TOOLSETS, Settings, check_names
from agent_exec.model.errors import InvalidArgument

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_exec.tools.tool import Call, Result, Toolset

_TELLING = ("session", "oneshot")
"""Toolsets that tell themselves where commands run."""

MOST = 100
"""How many roots a client may have: a sandbox is made of all of them, for each command."""


class Offer:
    """A Toolset made of those that were asked for.

    Where no workspace was named, it is the current directory, until the
    client has been asked for its roots: `settle` says what came of that.
    """

    def __init__(self, names: "Sequence[str]", settings: Settings) -> None:
        check_names(names)
        self.name = "+".join(names)
        self._names = tuple(names)
        self._settings = settings
        self.wants_roots = not settings.workspaces
        """True if the client's roots must be asked for before the first call."""
        self.parts = _open(self._names, settings)
        try:
            self._by_tool = _joined(self.parts)
        except BaseException:
            self.close()
            raise

    @property
    def warning(self) -> str:
        """A warning to people about the start, or an empty text."""
        return self._settings.warning

    @property
    def instructions(self) -> str:
        """The text about all tools for a model, and where its commands run."""
        told = [part.instructions for part in self.parts]
        if not any(name in _TELLING for name in self._names):
            told.append(_where(self._settings))
        if self.wants_roots:
            told.append("If the client has roots, they are the workspace instead.")
        return " ".join((*told, self._settings.note)).rstrip()

    def definitions(self) -> list[dict[str, Any]]:
        """Return the definition of each tool, in order."""
        return [tool for part in self.parts for tool in part.definitions()]

    def call(self, name: str, arguments: dict[str, Any], call: "Call") -> "Result":
        """Call a tool."""
        return self._by_tool[name].call(name, arguments, call)

    def settle(self, roots: "Sequence[str]") -> None:
        """Work in the client's roots from now on, those that are folders; nothing runs yet.

        If that cannot be, all stays as it was, and they are wanted still.
        """
        found = tuple(dict.fromkeys(os.path.realpath(root) for root in roots if os.path.isdir(root)))
        if len(found) > MOST:
            raise InvalidArgument(f"there are {len(found)}, and {MOST} may be; close some of them")
        if found and found != tuple(map(os.path.realpath, self._settings.roots)):
            settings = self._settings.at(found)
            before, self.parts = self.parts, _open(self._names, settings)
            self._settings, self._by_tool = settings, _joined(self.parts)
            for part in before:
                part.close()
        self.wants_roots = False  # last: until now, who calls has to wait

    def close(self) -> None:
        """End all that runs, and wait until it is gone."""
        for part in self.parts:
            part.close()


def _open(names: "Sequence[str]", settings: Settings) -> "list[Toolset]":
    opened: list[Toolset] = []
    try:
        opened.extend(TOOLSETS[name](settings) for name in names)
    except BaseException:
        for part in opened:
            part.close()
        raise
    return opened


def _joined(parts: "Sequence[Toolset]") -> "dict[str, Toolset]":
    found: dict[str, Toolset] = {}
    for part in parts:
        for tool in part.definitions():
            if tool["name"] in found:
                other = found[tool["name"]].name
                raise InvalidArgument(
                    f"the toolsets {other} and {part.name} both have a tool {tool['name']}; choose one"
                )
            found[tool["name"]] = part
    return found


def _where(settings: Settings) -> str:
    from agent_exec.faces.session.definitions import confined

    first, *others = settings.roots
    more = f" (or {', '.join(others)}, where that is named)" if others else ""
    return f"Commands run in the workspace {first}{more}, and nowhere else; {confined(settings.sandbox)}"
