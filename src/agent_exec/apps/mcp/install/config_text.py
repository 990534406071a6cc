"""The configuration of a client as a text: our entry in it is set, and all else stays."""

from typing import TYPE_CHECKING, Any

from agent_exec.apps.mcp.install import json_text as jsontext
from agent_exec.apps.mcp.install import toml_text as tomltext
from agent_exec.apps.mcp.install.json_text import Mistake

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agent_exec.apps.mcp.install.clients import Client

_ELSEWHERE = ("url", "httpUrl", "serverUrl")
"""Fields of servers that the client does not start itself."""


def edited(text: str, client: "Client", name: str, entry: dict[str, Any]) -> tuple[str, bool]:
    """Return the text with this entry, and whether there was one by this name.

    Fields of the entry that we do not set stay as they are. Raise Mistake for
    an invalid text, and for one that could only be rewritten.
    """
    try:
        before = _read(text, client)
        servers = before.get(client.key, {})
        if not isinstance(servers, dict):
            raise Mistake(f"{client.key} is not a table of servers")
        old = servers.get(name)
        elsewhere = isinstance(old, dict) and any(key in old for key in _ELSEWHERE)
        kept = old if isinstance(old, dict) and not elsewhere else {}
        merged = {**kept, **entry}
        for field, value in entry.items():
            if isinstance(value, dict) and isinstance(kept.get(field), dict):
                merged[field] = {**kept[field], **value}
        path = (client.key, name)
        if client.toml:
            if elsewhere:
                raise Mistake(f"{name} is there as a server that runs elsewhere; take it out first")
            new = tomltext.put(text, path, merged)
        else:
            new = text
            for place, value in _changes(path, kept, merged) if kept else [(path, merged)]:
                new = jsontext.put(new, place, value, strict=client.strict)
        if not _says(new, client, {**before, client.key: {**servers, name: merged}}):
            raise Mistake("its form does not allow to add something and leave all else as it is")
    except RecursionError:
        raise Mistake("it is nested too deeply") from None
    return new, old is not None


def permitted(text: str, word: str) -> str:
    """Return the text of JSON settings with this word in the list `permissions.allow`; raise Mistake."""
    try:
        settings = jsontext.read(text, strict=True) if text.strip() else {}
        permissions = settings.get("permissions", {}) if isinstance(settings, dict) else None
        known = permissions.get("allow", []) if isinstance(permissions, dict) else None
        if not isinstance(known, list):
            raise Mistake("permissions.allow is not a list in an object")
        if word in known:
            return text
        return jsontext.put(text, ("permissions", "allow"), [*known, word], strict=True)
    except RecursionError:
        raise Mistake("it is nested too deeply") from None


def by_hand(client: "Client", name: str, entry: dict[str, Any]) -> str:
    """Return the text that a person is to write."""
    put = tomltext.put if client.toml else jsontext.put
    return put("", (client.key, name), entry)


def _read(text: str, client: "Client") -> dict[str, Any]:
    if client.toml:
        return tomltext.read(text)
    found = jsontext.read(text, strict=client.strict) if text.strip() else {}
    if not isinstance(found, dict):
        raise Mistake("it is not an object", 1)
    return found


def _says(text: str, client: "Client", meant: dict[str, Any]) -> bool:
    try:
        found = _read(text, client)
    except Mistake:
        return False
    return found == meant or repr(found) == repr(meant)  # nan is not the same as itself


def _changes(path: tuple[str, ...], old: Any, new: Any) -> "Iterator[tuple[tuple[str, ...], Any]]":
    """Yield the path of each value that differs, and the new value."""
    for name, value in new.items():
        had = old.get(name)
        if isinstance(value, dict) and isinstance(had, dict):
            yield from _changes((*path, name), had, value)
        elif name not in old or had != value:
            yield (*path, name), value
