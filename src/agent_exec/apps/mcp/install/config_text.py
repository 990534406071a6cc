"""The configuration of a client as a text: our entry in it is set, and all else stays."""

from typing import TYPE_CHECKING, Any

from agent_exec.apps.mcp.install import json_text as jsontext
from agent_exec.apps.mcp.install import toml_text as tomltext
from agent_exec.apps.mcp.install.json_text import Mistake

if TYPE_CHECKING:
    from agent_exec.apps.mcp.install.clients import Client

_ELSEWHERE = ("url", "httpUrl", "serverUrl")
"""Fields of servers that the client does not start itself."""


def edited(text: str, client: "Client", name: str, entry: dict[str, Any]) -> tuple[str, bool]:
    """Return the text with this entry, and whether there was one by this name.

    Fields of the entry that we do not set stay as they are. Refuses with a
    Mistake a text with a mistake, and one that could only be rewritten.
    """
    try:
        return _edited(text, client, name, entry)
    except RecursionError:
        raise Mistake("it is nested too deeply") from None


def _edited(text: str, client: "Client", name: str, entry: dict[str, Any]) -> tuple[str, bool]:
    before = _read(text, client)
    servers = before.get(client.key, {})
    if not isinstance(servers, dict):
        raise Mistake(f"{client.key} is no table of servers")
    old = servers.get(name)
    kept = old if isinstance(old, dict) and not any(key in old for key in _ELSEWHERE) else None
    after = {**before, client.key: {**servers, name: _merged(kept, entry)}}
    new = _toml(text, client, name, old, after) if client.toml else _json(text, client, name, kept, after)
    if not _says(new, client, after):
        raise Mistake("its form does not allow to add something and leave all else as it is")
    return new, old is not None


def by_hand(client: "Client", name: str, entry: dict[str, Any]) -> str:
    """Return what to write, for people."""
    if client.toml:
        return tomltext.put("", (client.key, name), entry)
    return jsontext.put("", (client.key, name), entry)


def _read(text: str, client: "Client") -> dict[str, Any]:
    if client.toml:
        return tomltext.read(text)
    found = jsontext.read(text, strict=client.strict) if text.strip() else {}
    if not isinstance(found, dict):
        raise Mistake("it is no object", 1)
    return found


def _says(text: str, client: "Client", meant: dict[str, Any]) -> bool:
    try:
        found = _read(text, client)
    except Mistake:
        return False
    return found == meant or repr(found) == repr(meant)  # nan is not the same as itself


def _merged(old: dict[str, Any] | None, entry: dict[str, Any]) -> dict[str, Any]:
    found = {**(old or {}), **entry}
    variables = (old or {}).get("env")
    if "env" in entry and isinstance(variables, dict):
        found["env"] = {**variables, **entry["env"]}
    return found


def _json(text: str, client: "Client", name: str, old: dict[str, Any] | None, after: dict[str, Any]) -> str:
    path, new = (client.key, name), after[client.key][name]
    if old is None:
        return jsontext.put(text, path, new, strict=client.strict)
    for field, value in new.items():
        had, where = old.get(field), (*path, field)
        if isinstance(value, dict) and isinstance(had, dict):
            for inner, one in value.items():  # what is beside ours in it stays as it is written
                if inner not in had or had[inner] != one:
                    text = jsontext.put(text, (*where, inner), one, strict=client.strict)
        elif field not in old or had != value:
            text = jsontext.put(text, where, value, strict=client.strict)
    return text


def _toml(text: str, client: "Client", name: str, old: object, after: dict[str, Any]) -> str:
    if isinstance(old, dict) and any(key in old for key in _ELSEWHERE):
        raise Mistake(f"{name} is there as a server that runs elsewhere; take it out first")
    return tomltext.put(text, (client.key, name), after[client.key][name])
