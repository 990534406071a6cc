"""The project file: what is wrong has a line, and what to write instead; Procfiles are the same in short."""

import os
from pathlib import Path

import pytest

from agent_exec.jobs.project.file import Project, find, load, parse
from agent_exec.jobs.project.procfile import convert
from agent_exec.model.errors import InvalidArgument, InvalidSettings

GOOD = """\
env = { A = "1", B = 2 }
env_file = ".env"

[services.web]
command = "npm run dev"
cwd = "web"
env = { B = "3" }
env_file = ["web.env"]
port = "auto"
after = ["api", "migrate"]
tags = ["front.end"]

[services.api]
command = ["python3", "api.py"]
port = 8000
ready = ["listen", "http=http://127.0.0.1:$PORT/health"]
restart = "on-failure"
health = "true"
after = "db:ready"

[jobs.migrate]
command = "make migrate"
timeout = "5m"
after = ["db"]

[services.db]
command = "exec postgres"
sandbox = "workspace-write"
"""


def project(text: str = GOOD) -> Project:
    return parse(text, "/home/you/app/agent-exec.toml")


def test_services_come_in_the_order_of_their_needs() -> None:
    found = project()
    assert list(found.services) == ["db", "api", "migrate", "web"]
    web, api, migrate = (found.services[name] for name in ("web", "api", "migrate"))
    assert (web.kind, migrate.kind) == ("service", "job")
    assert web.after == {"api": "ready", "migrate": "ok"}
    assert (web.ready, api.ready[0], found.services["db"].ready) == (("listen",), "listen", ())
    assert (web.cwd, api.cwd) == ("/home/you/app/web", "/home/you/app")
    assert (web.env, api.env) == ({"A": "1", "B": "3"}, {"A": "1", "B": "2"})
    assert web.env_files == ("/home/you/app/.env", "/home/you/app/web.env")
    assert (web.port, api.port, migrate.timeout) == ("auto", "8000", 300.0)


def test_names_bring_their_needs_along() -> None:
    found = project()
    assert [one.name for one in found.choose(["api"])] == ["db", "api"]
    assert [one.name for one in found.choose([])] == list(found.services)
    with pytest.raises(InvalidArgument, match=r"agent-exec.toml has no 'wep'; did you mean web\?"):
        found.choose(["wep"])


def test_a_definition_changes_with_what_is_said() -> None:
    web = project().services["web"]
    assert web.definition == project().services["web"].definition
    for old, new in (
        ("npm run dev", "npm start"),
        ('B = "3"', 'B = "4"'),
        ('"front.end"', '"back"'),
        ('A = "1"', 'A = "2"'),
    ):
        assert project(GOOD.replace(old, new)).services["web"].definition != web.definition
    assert project(f"# a comment\n{GOOD}").services["web"].definition == web.definition


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("", 1, "there is no service; write [services.web], and command"),
        ("[service.web]\n", 1, "this file has no 'service'; did you mean services?"),
        ("services = 1\n", 1, "this file services must be a table; got 1; write [services]"),
        ("[services]\nweb = 'x'\n", 2, "[services.web] must be a table of keys; got 'x'"),
        ("[services.web]\n\n", 1, "[services.web] has no command; write command = "),
        ("[services.web]\ncommand = ''\n", 2, "[services.web] command must be a shell line as a text, or a list of words"),
        ("[services.web]\ncommand = ['a', 1]\n", 2, "command must be a shell line"),
        ("[services.web]\ncommand = 'a'\ncomand = 'b'\n", 3, "[services.web] has no 'comand'; did you mean command?"),
        ("[services.web]\ncommand = 'a'\nport = 'any'\n", 3, 'port must be "auto" or a number from 1 to 65535'),
        ("[services.web]\ncommand = 'a'\nenv = ['A=1']\n", 3, 'env must be a table of variables with texts or numbers'),
        ("[services.web]\ncommand = 'a'\nready = 'lisen'\n", 3, "[services.web] ready: invalid condition 'lisen'"),
        ("[services.web]\ncommand = 'a'\nready = 'match=('\n", 3, "invalid regular expression"),
        ("[services.web]\ncommand = 'a'\nready = 'http=http://a:${PORT}/'\n", 3, '$PORT needs a port; write port = "auto"'),
        ("[services.web]\ncommand = 'a'\nrestart = 'never'\n", 3, "restart must be no, on-failure or always; got 'never'"),
        ("[services.web]\ncommand = 'a'\ntags = ['a b']\n", 3, "[services.web] tags: 'a b' is not a tag"),
        ("[services.web]\ncommand = 'a'\ntimeout = '5'\n", 3, "timeout must be a time with its unit"),
        ("[services.my_web]\ncommand = 'a'\n", 1, "'my_web' is not a name; use letters, digits and -: write [services.my-web]"),
        ("[services.a]\ncommand = 'a'\n[jobs.a]\ncommand = 'b'\n", 3, "'a' is a service and a job"),
        ("[services.a]\ncommand = 'a'\nafter = ['bb']\n[services.b]\ncommand='b'\n", 3, "[services.a] after: there is no 'bb'; did you mean b?"),
        ("[services.a]\ncommand = 'a'\nafter = 'b:soon'\n", 3, "after: write b:ok|any|ready"),
        ("[services.a]\ncommand = 'a'\nafter = ['b:ok']\n[services.b]\ncommand='b'\n", 3, "b is a service; write b:ready"),
        ("[services.a]\ncommand = 'a'\nafter = ['b:ready']\n[jobs.b]\ncommand='b'\n", 3, "b is a job; write b:ok or b:any"),
        ("[jobs.a]\ncommand = 'a'\nready = 'listen'\n", 3, "a job is done when it ends; write [services.a]"),
        ("[services.a]\ncommand = 'a'\nafter = ['a']\n", 3, "a -> a is a cycle"),
        (
            "[services.a]\ncommand = 'a'\nafter = ['b']\n[services.b]\ncommand = 'b'\nafter = ['c']\n[services.c]\ncommand = 'c'\nafter = ['a']\n",
            3,
            "a -> b -> c -> a is a cycle; leave out one of these",
        ),
        ("[services.a]\ncommand = a\n", 2, "this is not TOML"),
    ],
)  # fmt: skip
def test_a_mistake_has_a_line_and_what_to_write_instead(text: str, line: int, message: str) -> None:
    with pytest.raises(InvalidSettings) as caught:
        project(text)
    assert caught.value.message.startswith(f"/home/you/app/agent-exec.toml:{line}: ")
    assert message in caught.value.message
    assert caught.value.details["line"] == line


def test_the_nearest_file_above_counts(tmp_path: Path) -> None:
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    (tmp_path / "agent-exec.toml").write_text("[jobs.x]\ncommand = 'true'\n")
    assert find(str(inner)) == str(tmp_path / "agent-exec.toml")
    (tmp_path / "a" / "agent-exec.toml").write_text("")
    assert find(str(inner)) == str(tmp_path / "a" / "agent-exec.toml")
    assert list(load(find(str(tmp_path))).services) == ["x"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_a_file_of_another_user_has_to_be_named(tmp_path: Path) -> None:
    file = tmp_path / "agent-exec.toml"
    file.write_text("[jobs.x]\ncommand = 'true'\n")
    os.chown(file, 12345, -1)
    with pytest.raises(InvalidSettings, match=r"belongs to another user \(uid 12345\).*--file"):
        find(str(tmp_path))
    assert list(load(str(file)).services) == ["x"]


PROCFILE = """\
# processes of the app
release: bundle exec rake db:migrate

web: bundle exec puma -t 5:5 -p ${PORT:-3000} -e ${RACK_ENV:-development}
worker_low:   QUEUE="low,\\"x" bundle exec sidekiq
clock: FOO=$BAR ./bin/clock # every minute
"""


def test_a_procfile_becomes_a_project(tmp_path: Path) -> None:
    file = tmp_path / "Procfile"
    file.write_text(PROCFILE)
    found = parse(convert(str(file)), str(tmp_path / "agent-exec.toml"))
    assert list(found.services) == ["release", "web", "worker-low", "clock"]
    web = found.services["web"]
    assert web.command == "bundle exec puma -t 5:5 -p ${PORT:-3000} -e ${RACK_ENV:-development}"
    assert (web.port, web.ready, web.after, web.env_files) == ("auto", ("listen",), {"release": "ok"}, ())
    worker = found.services["worker-low"]
    assert (worker.command, worker.port) == ('QUEUE="low,\\"x" bundle exec sidekiq', None)
    assert found.services["clock"].command == "FOO=$BAR ./bin/clock # every minute"
    assert found.services["release"].kind == "job"
    (tmp_path / ".env").touch()
    found = parse(convert(str(file)), str(tmp_path / "agent-exec.toml"))
    assert found.services["clock"].env_files == (str(tmp_path / ".env"),)


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("", 1, "there is no process; write NAME: COMMAND"),
        ("web: a\n\nnonsense\n", 3, "write NAME: COMMAND, such as web: npm start"),
        ("web:\n", 1, "write NAME: COMMAND"),
        ("we b: a\n", 1, "write NAME: COMMAND"),
        ("a_b: x\na-b: y\n", 2, "there is a 'a-b' already"),
    ],
)
def test_a_bad_procfile_has_a_line(tmp_path: Path, text: str, line: int, message: str) -> None:
    file = tmp_path / "Procfile"
    file.write_text(text)
    with pytest.raises(InvalidSettings, match=f":{line}: ") as caught:
        convert(str(file))
    assert message in caught.value.message
