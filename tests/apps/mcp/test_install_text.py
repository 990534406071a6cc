"""The texts of configurations: one value is set, and every other character stays."""

import json
import tomllib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_exec.apps.mcp.install import json_text as jsontext
from agent_exec.apps.mcp.install import toml_text as tomltext
from agent_exec.apps.mcp.install.clients import CLIENTS
from agent_exec.apps.mcp.install.config_text import by_hand, edited
from agent_exec.apps.mcp.install.json_text import Mistake

ENTRY = {"command": "/bin/agent-exec", "args": ["mcp"]}
PATH = ("mcpServers", "us")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", '{\n  "mcpServers": {\n    "us": 1\n  }\n}\n'),
        ("{}", '{\n  "mcpServers": {\n    "us": 1\n  }\n}'),
        ("{ }\n", '{\n  "mcpServers": {\n    "us": 1\n  }\n}\n'),
        ("{\n}\n", '{\n  "mcpServers": {\n    "us": 1\n  }\n}\n'),
        ('{"a": 1}', '{"a": 1,\n  "mcpServers": {\n    "us": 1\n  }\n}'),
        ('{\n\t"a": 1\n}\n', '{\n\t"a": 1,\n\t"mcpServers": {\n\t\t"us": 1\n\t}\n}\n'),
        ('{\r\n  "a": 1\r\n}', '{\r\n  "a": 1,\r\n  "mcpServers": {\r\n    "us": 1\r\n  }\r\n}'),
        (
            '{\n    "mcpServers": {\n        "x": {}\n    },\n    "z": [1, 2]\n}',
            '{\n    "mcpServers": {\n        "x": {},\n        "us": 1\n    },\n    "z": [1, 2]\n}',
        ),
        (
            '{\n  // first\n  "mcpServers": {\n    "x": {} // why\n    // "y": {}\n  } /* end */\n}',
            '{\n  // first\n  "mcpServers": {\n    "x": {}, // why\n    "us": 1\n    // "y": {}\n  } /* end */\n}',
        ),
        (
            '{\n  "mcpServers": {\n    "x": {}, /* a\n b */\n  },\n}',
            '{\n  "mcpServers": {\n    "x": {}, /* a\n b */\n    "us": 1\n  },\n}',
        ),
        ('{"mcpServers": {"us": {"old": [1]}, "x": 2}}', '{"mcpServers": {"us": 1, "x": 2}}'),
        ('{"mcpServers": {/* none */}}', '{"mcpServers": {/* none */\n  "us": 1\n}}'),
        ('{"a": "}//\\"{", "mcpServers": {}}', '{"a": "}//\\"{", "mcpServers": {\n  "us": 1\n}}'),
    ],
)
def test_json_is_changed_in_one_place(before: str, after: str) -> None:
    assert jsontext.put(before, PATH, 1) == after
    assert jsontext.put(after, PATH, 1) == after


def test_a_comment_in_a_line_without_an_end() -> None:
    """A brace behind a comment of the same line is still a brace."""
    assert jsontext.read('{"a": {} // x\n}') == {"a": {}}
    found = jsontext.put("{ // x\n}", PATH, 1)
    assert found == '{ // x\n  "mcpServers": {\n    "us": 1\n  }\n}'


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("{", 1, "ends too early"),
        ('{\n"a": 1\n"b": 2}', 3, "comma is missing"),
        ('{"a" 1}', 1, "colon is missing"),
        ("{'a': 1}", 1, "name in quotes"),
        ('{"a": }', 1, "value is missing"),
        ('{"a": 01}', 1, "not a value"),
        ('{"a": "\n"}', 1, "value is missing"),
        ('{"a": "\\x"}', 1, "not a value"),
        ('{"a": 1} {', 1, "more after the end"),
        ('{"a": [NaN]}', 1, "value is missing"),
        ('{"a": {"b": [{},\n2 3]}}', 2, "comma is missing"),
        ("/* open", 1, "value is missing"),
        ("{,}", 1, "name in quotes"),
        ('{"a": [,]}', 1, "value is missing"),
        ('{"a": [1,,]}', 1, "value is missing"),
        ('{"a": [1, 2, ], "b": {"NaN": "NaN", "c":\n-Infinity}}', 2, "value is missing"),
        (f'{{"a": {"1" * 5000}}}', None, "digits"),
        ('{"mcpServers": []}', 1, "mcpServers is not an object"),
        ("[]", 1, "the file is not an object"),
        ("[" * 100_000, None, "too deeply"),
    ],
)
def test_broken_json_is_refused(text: str, line: int | None, said: str) -> None:
    with pytest.raises(Mistake, match=said) as caught:
        jsontext.put(text, PATH, 1)
    assert caught.value.line == line


def test_clients_without_comments_get_none() -> None:
    for text in ('{"a": 1} // x', '{"a": 1,}', '{"a": [1,]}', '/**/{"a": 1}'):
        assert jsontext.read(text)
        with pytest.raises(Mistake, match="may not have"):
            jsontext.read(text, strict=True)


VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=12,
)


@given(
    st.dictionaries(st.text(), VALUES, max_size=4),
    st.dictionaries(st.text(), VALUES, max_size=3) | st.none(),
    VALUES,
    st.sampled_from([None, 0, 1, 4, "\t"]),
    st.booleans(),
)
def test_existing_files_stay(
    others: dict[str, Any],
    servers: dict[str, Any] | None,
    value: Any,
    indent: "int | str | None",
    ascii_only: bool,
) -> None:
    before = dict(others)
    if servers is not None:
        before["mcpServers"] = servers
    else:
        before.pop("mcpServers", None)
    text = json.dumps(before, indent=indent, ensure_ascii=ascii_only)
    assert jsontext.read(text, strict=True) == before
    after = jsontext.put(text, PATH, value, strict=True)
    before.setdefault("mcpServers", {})["us"] = value
    found = json.loads(after)
    assert found == before
    assert list(found) == list(before)


def test_toml_is_appended_to() -> None:
    table = ("mcp_servers", "agent-exec")
    shown = '[mcp_servers.agent-exec]\ncommand = "/bin/agent-exec"\nargs = ["mcp"]\n'
    for before, gap in (
        ("", ""),
        ("a = 1", "\n\n"),
        ("a = 1\n", "\n"),
        ("a = 1\n\n", ""),
        ("# only a word\n", "\n"),
        ("[mcp_servers.x]\ncommand = 'y' # z\n", "\n"),
        ("[[list]]\na = '''\n[mcp_servers.agent-exec]\n'''\n", "\n"),
    ):
        assert tomltext.put(before, table, ENTRY) == before + gap + shown
    assert tomltext.put("a = 1\r\n", table, ENTRY) == "a = 1\r\n\r\n" + shown.replace("\n", "\r\n")
    odd = tomltext.put("", ("mcp_servers", "ä b"), {"command": 'C:\\"x\x7f', "env": {"A": "b", "c d": "\n"}})
    assert tomllib.loads(odd) == {
        "mcp_servers": {"ä b": {"command": 'C:\\"x\x7f', "env": {"A": "b", "c d": "\n"}}}
    }


def test_toml_is_changed_in_its_table() -> None:
    before = """\
model = "x" # [mcp_servers.agent-exec]
text = '''
command = 1
'''

["mcp_servers" . agent-exec] # ours
# what is started
command = "/old" # why
args = [ # of it
  "a]", 'b"', # c
]
startup_timeout_sec = 20

[other]
command = "/old"
"""
    after = tomltext.put(before, ("mcp_servers", "agent-exec"), {**ENTRY, "env": {"A": "1"}})
    expected = before.replace('command = "/old" # why', 'command = "/bin/agent-exec" # why')
    expected = expected.replace("""[ # of it\n  "a]", 'b"', # c\n]""", '["mcp"]')
    expected = expected.replace("sec = 20\n", 'sec = 20\nenv = { A = "1" }\n')
    assert after == expected
    assert tomltext.put(after, ("mcp_servers", "agent-exec"), {**ENTRY, "env": {"A": "1"}}) == after
    assert tomltext.put("[a.b]", ("a", "b"), {"c": "d"}) == '[a.b]\nc = "d"\n'


CODEX = CLIENTS["codex"]


@pytest.mark.parametrize(
    "text",
    [
        "a = ",
        "mcp_servers = 1",
        "mcp_servers = { x = { command = 'y' } }",
        "[mcp_servers]\nus = { command = 'y' }",
        "[mcp_servers]\nus.command = 'y'",
        "[mcp_servers.us]\nurl = 'http://x'",
        "[[mcp_servers]]\na = 1",
    ],
)
def test_toml_that_would_have_to_be_rewritten_is_left(text: str) -> None:
    with pytest.raises(Mistake):
        edited(text, CODEX, "us", ENTRY)


def test_the_form_is_what_is_wrong_and_not_a_line_that_is_not_there() -> None:
    with pytest.raises(Mistake, match="its form does not allow") as caught:
        edited("mcp_servers = {}", CODEX, "us", ENTRY)
    assert caught.value.line is None


def test_toml_that_is_odd_and_right() -> None:
    text = "a = [nan, inf, 1.50, 1979-05-27]\n"
    assert edited(text, CODEX, "us", ENTRY)[0].startswith(text)
    text = "[mcp_servers.us]\nenv = { A = 1979-05-27 }\n"
    with pytest.raises(Mistake, match="1979-05-27 stands beside"):
        edited(text, CODEX, "us", {**ENTRY, "env": {"B": "2"}})


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (f"a = {'[' * 3000}{']' * 3000}", "nested too deeply"),
        (f"a = {'1' * 5000}", "4300 digits"),
    ],
)
def test_toml_that_is_too_much(text: str, said: str) -> None:
    with pytest.raises(Mistake, match=said):
        edited(text, CODEX, "us", ENTRY)


def test_toml_that_is_too_much_for_some() -> None:
    """What one version of Python reads, another does not; none of them gives up without a word."""
    text = f"{'.'.join('a' * 3000)} = 1"
    try:
        given, _ = edited(text, CODEX, "us", ENTRY)
    except Mistake as error:
        given = str(error)
    assert given.startswith(text) or "nested too deeply" in given


def test_variables_in_a_table_of_their_own_are_left() -> None:
    text = "[mcp_servers.us]\ncommand = 'y'\n[mcp_servers.us.env]\nA = '1'\n"
    new, known = edited(text, CODEX, "us", ENTRY)
    assert known
    assert new == text.replace("'y'", '"/bin/agent-exec"\nargs = ["mcp"]')
    with pytest.raises(Mistake, match="in parts"):
        edited(text, CODEX, "us", {**ENTRY, "env": {"B": "2"}})
    assert edited(text, CODEX, "us", {**ENTRY, "env": {"A": "1"}})[0] == new


@pytest.mark.parametrize("name", CLIENTS)
def test_our_entry_keeps_what_its_owner_added(name: str) -> None:
    client = CLIENTS[name]
    first, known = edited("", client, "us", {**ENTRY, "env": {"A": "1"}})
    assert not known
    assert first == by_hand(client, "us", {**ENTRY, "env": {"A": "1"}})
    if client.toml:
        own = first.replace("args", "enabled = false # for now\nargs")
    else:
        own = first.replace('"args"', '"disabled": true,\n      "args"')
    changed, known = edited(own, client, "us", {"command": "/new", "args": ["mcp"], "env": {"B": "2"}})
    assert known
    expected = own.replace("/bin/agent-exec", "/new")
    if client.toml:
        assert changed == expected.replace('{ A = "1" }', '{ A = "1", B = "2" }')
    else:
        assert json.loads(changed)[client.key]["us"]["env"] == {"A": "1", "B": "2"}
        assert changed.startswith(expected.partition('"A"')[0])
    assert edited(changed, client, "us", {"command": "/new", "args": ["mcp"]})[0] == changed


def test_variables_beside_ours_stay_as_they_are_written() -> None:
    text = '{"servers": {"us": {"env": {\n  "A": "\\ud800", // mine\n  "B": "1"\n}}}}'
    new, _ = edited(text, CLIENTS["vscode"], "us", {**ENTRY, "env": {"B": "2", "C": "3"}})
    assert text.partition('"B"')[0] in new
    assert jsontext.read(new)["servers"]["us"]["env"] == {"A": "\ud800", "B": "2", "C": "3"}


def test_an_entry_of_another_kind_is_replaced() -> None:
    text = '{"servers": {"us": {"type": "http", "url": "http://x"}, "b": {}}}'
    new, known = edited(text, CLIENTS["vscode"], "us", {"type": "stdio", **ENTRY})
    assert known
    assert json.loads(new) == {"servers": {"us": {"type": "stdio", **ENTRY}, "b": {}}}
