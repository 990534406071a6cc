"""schema: prints the JSON Schema of every answer, which ships inside the package."""

import json

from cli import SCHEMA, Cli


def test_schema_prints_the_shipped_file(cli: Cli) -> None:
    answer = cli("schema")
    assert (answer["ok"], answer["type"], answer.code) == (True, "schema", 0)
    assert answer["schema_format"] == "json-schema-draft-07"
    assert answer["schema"] == json.loads(SCHEMA.read_text())
    assert answer["generated_at"] == answer["schema"]["$comment"]


def test_schema_needs_no_store(cli: Cli) -> None:
    assert cli("schema", "--root", "/dev/null/nowhere")["ok"]
    assert not cli.root.exists()
