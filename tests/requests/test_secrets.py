"""Every room takes the same variables for secrets: what one of them hides, no other shows."""

import ast
from pathlib import Path

import pytest

import agent_exec
from agent_exec.model.secret import HARMLESS, PARTS
from agent_exec.requests.given_variables import MASKED, Environment
from agent_exec.requests.variables import build
from agent_exec.sandbox.environment import scrub
from agent_exec.sandbox.linux.covers import read_text
from agent_exec.sandbox.profile import Profile
from cli import Cli

SOURCE = Path(agent_exec.__file__).parent
SECRETS = (
    "DB_PASS AWS_CRED DB_PASSWORD PGPASSFILE MY_API_KEY GITHUB_TOKEN aws_secret_x SESSION_COOKIE SLACK_WEBHOOK"
    " BASIC_AUTH SENTRY_DSN GH_PAT DB_PWD SERVER_PEM MYSQLPW SQL_CONNECTION_STRING OP_SESSION_me JWT SMS_OTP"
).split()
ADDRESS = ("BACKEND", "https://user:hunter2@host/")


@pytest.mark.parametrize(("name", "value"), [*((name, "hunter2") for name in SECRETS), ADDRESS])
def test_every_room_hides_the_same_variables(name: str, value: str, tmp_path: Path) -> None:
    config = tmp_path / "config"
    config.write_text(f"{name}={value}\n")
    box = scrub({name: value}, Profile("workspace-write", roots=[str(tmp_path)], secrets="deny-list"))
    assert Environment({}, given=[f"{name}={value}"]).shown == [f"{name}={MASKED}"]
    assert name not in build({name: value})
    assert name.encode() not in box
    assert read_text(str(config)) == b""


@pytest.mark.parametrize("name", sorted({*HARMLESS, "COLOUR"}))
def test_every_room_shows_the_same_variables(name: str, tmp_path: Path) -> None:
    box = scrub({name: "1"}, Profile("workspace-write", roots=[str(tmp_path)], secrets="deny-list"))
    assert Environment({}, given=[f"{name}=1"]).shown == [f"{name}=1"]
    assert build({name: "1"})[name] == "1"
    assert box[name.encode()] == b"1"


def test_the_program_does_not_repeat_a_secret(cli: Cli) -> None:
    answer = cli("run", "--env", "DB_PASS=hunter2", "--env", "AWS_CRED=x", "--env", "FINE=y", "--", "true")
    assert answer["env_vars"] == ["DB_PASS=***", "AWS_CRED=***", "FINE=y"]


def test_the_names_are_listed_in_one_module() -> None:
    """Names that are parts of secrets' names are words of a list nowhere else."""
    found = {
        str(module.relative_to(SOURCE))
        for module in SOURCE.rglob("*.py")
        for node in ast.walk(ast.parse(module.read_text()))
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and {"PASSWORD", *PARTS}.intersection(node.value.split())
        and node.value.isupper()
    }
    assert found == {"model/secret.py"}
