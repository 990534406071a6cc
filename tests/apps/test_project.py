"""up, down and logs: the services of a project file, each started once, in order, and ready when up answers."""

import json
import os
import re
import signal
import socket
import subprocess
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from agent_exec.jobs import open_jobs
from agent_exec.model.errors import AgentExecError, InvalidArgument
from cli import PROGRAM, Answer, Cli, check
from jobs.seen import Gate
from support import child, wait_until


@pytest.fixture
def cli(cli: Cli, tmp_path: Path) -> Iterator[Cli]:
    """The program with ports of its own too."""
    cli.env["XDG_DATA_HOME"] = str(tmp_path / "data")
    yield cli
    cli.raw("down")


def server(name: str, more: str = "") -> str:
    """Return a service that answers connections with its name, as a project file has it."""
    return f'[services.{name}]\ncommand = {json.dumps(child("service", name))}\nport = "auto"\n{more}\n'


def write(folder: Path, text: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "agent-exec.toml").write_text(text)


def by_name(told: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {one["name"]: one for one in told["services"]}


def actions(told: dict[str, Any]) -> dict[str, str]:
    return {one["name"]: one["action"] for one in told["services"]}


def ask(port: int) -> str:
    with socket.create_connection(("127.0.0.1", port), timeout=20) as talk:
        return talk.recv(100).decode()


def has_jobs(cli: Cli, number: int) -> bool:
    return cli.root.is_dir() and sum(len(name) == 26 for name in os.listdir(cli.root)) >= number


def running(cli: Cli) -> list[str]:
    return [job["job_id"] for job in cli("ps", "--all", "--limit", 0)["jobs"]]


def test_two_checkouts_of_ten_services_never_collide(cli: Cli, tmp_path: Path) -> None:
    checkouts = [tmp_path / name for name in ("one", "two")]
    for folder in checkouts:
        write(folder, "".join(server(f"s{number}") for number in range(10)))
    processes = [
        subprocess.Popen(cli.argv("up"), cwd=folder, env=cli.env, stdout=subprocess.PIPE)
        for folder in checkouts
    ]
    answers = [check(process.communicate(timeout=90)[0].decode()) for process in processes]
    assert all(told["ok"] for told in answers), answers
    ports = [{name: one["ports"]["PORT"] for name, one in by_name(told).items()} for told in answers]
    assert len({port for of_one in ports for port in of_one.values()}) == 20
    for of_one in ports:
        assert {name: ask(port) for name, port in of_one.items()} == {
            f"s{number}": f"s{number}" for number in range(10)
        }
    assert len(running(cli)) == 20
    first = cli("down", cwd=checkouts[0])
    assert set(actions(first).values()) == {"stopped"}
    assert len(running(cli)) == 10
    again = cli("up", "s3", cwd=checkouts[0])
    assert by_name(again)["s3"]["ports"]["PORT"] == ports[0]["s3"], "a port is stable"
    assert ask(ports[1]["s3"]) == "s3"
    for folder in checkouts:
        cli("down", cwd=folder)
    assert running(cli) == []


def test_what_runs_is_left_alone_unless_its_definition_changed(cli: Cli) -> None:
    write(cli.cwd, server("a") + server("b"))
    first = cli("up")
    assert actions(first) == {"a": "started", "b": "started"}
    second = cli("up")
    assert actions(second) == {"a": "running", "b": "running"}
    assert [one["job_id"] for one in first["services"]] == [one["job_id"] for one in second["services"]]
    write(cli.cwd, server("a") + server("b", "env = { NEW = 1 }"))
    third = cli("up")
    assert actions(third) == {"a": "running", "b": "changed"}
    assert "--recreate" in by_name(third)["b"]["note"]
    assert by_name(third)["b"]["job_id"] == by_name(first)["b"]["job_id"]
    fourth = cli("up", "--recreate")
    assert actions(fourth) == {"a": "running", "b": "recreated"}
    assert len(running(cli)) == 2
    assert actions(cli("up")) == {"a": "running", "b": "running"}


def test_needs_are_started_first_and_are_ready(cli: Cli) -> None:
    write(
        cli.cwd,
        "[services.web]\n"
        "command = 'cat made && echo $PORT_DB && sleep 60'\n"
        "ready = 'match=[0-9]'\nafter = ['migrate', 'db']\n"
        "[jobs.migrate]\ncommand = 'echo migrated > made'\nafter = 'db'\n" + server("db"),
    )
    told = cli("up", "web")
    assert told["ok"], told
    assert list(by_name(told)) == ["db", "migrate", "web"]
    port = by_name(told)["db"]["ports"]["PORT"]
    assert cli("tail", by_name(told)["web"]["job_id"])["stdout"] == f"migrated\n{port}\n"
    assert actions(cli("up")) == {"db": "running", "migrate": "done", "web": "running"}
    assert actions(cli("up", "migrate")) == {"db": "running", "migrate": "started"}
    cli("down", "web")
    assert actions(cli("up")) == {"db": "running", "migrate": "started", "web": "started"}
    assert [one["name"] for one in cli("down")["services"]] == ["web", "db"]


def test_one_that_fails_is_named_with_its_last_lines(cli: Cli) -> None:
    write(
        cli.cwd,
        server("good")
        + "[services.bad]\ncommand = 'echo begun; echo boom >&2; exit 3'\nready = 'listen'\n"
        + "[services.needy]\ncommand = 'sleep 60'\nafter = 'bad'\n",
    )
    told = cli("up")
    assert (told.code, told["error"]["code"]) == (1, "not_ready")
    assert "bad is not ready: it ended (exit code 3)" in told["error"]["message"]
    bad = by_name(told)["bad"]
    assert (bad["state"], bad["exit_code"], bad["stdout_tail"], bad["stderr_tail"]) == (
        "exited",
        3,
        "begun",
        "boom",
    )
    needy = by_name(told)["needy"]
    assert (needy["kind"], needy["action"], needy["ready"]) == ("service", "not_started", False)
    assert (needy["state"], needy["reason"]) == ("failed", "dependency_failed")
    assert needy["dependency"] == {"job_id": bad["job_id"], "until": "ready", "state": "exited"}
    assert cli("status", by_name(told)["good"]["job_id"])["state"] == "running"
    write(
        cli.cwd,
        (cli.cwd / "agent-exec.toml")
        .read_text()
        .replace("exit 3", "sleep 60")
        .replace("'listen'", "'match=begun'"),
    )
    fixed = cli("up")
    assert fixed["ok"], fixed
    assert actions(fixed) == {"good": "running", "bad": "started", "needy": "started"}


def test_a_job_that_fails_keeps_what_needs_it_from_starting(cli: Cli) -> None:
    write(
        cli.cwd,
        "[jobs.build]\ncommand = 'exit 7'\n[services.web]\ncommand = 'touch started; sleep 60'\nafter = 'build'\n",
    )
    told = cli("up")
    assert "build is not ready: it failed (exit code 7)" in told["error"]["message"]
    assert actions(told) == {"build": "started", "web": "not_started"}
    assert running(cli) == []
    assert not (cli.cwd / "started").exists()


def test_one_that_takes_too_long_is_named_with_what_it_waits_for(cli: Cli) -> None:
    write(cli.cwd, "[services.slow]\ncommand = 'echo working; sleep 60'\nready = 'match=never'\n")
    told = cli("up", "--until", "500ms")
    assert told["error"]["code"] == "not_ready"
    assert "still waits for match=never" in told["error"]["message"]
    assert by_name(told)["slow"]["stdout_tail"] == "working"
    assert len(running(cli)) == 1, "it goes on"
    assert cli("up", "--no-wait")["ok"]


def test_one_that_is_restarted_becomes_ready(cli: Cli) -> None:
    flaky = "test -e ok || { touch ok; exit 1; }; echo fine; sleep 60"
    write(cli.cwd, f"[services.a]\ncommand = '{flaky}'\nrestart = 'on-failure'\nready = 'match=fine'\n")
    told = cli("up")
    assert told["ok"], told
    assert actions(cli("up")) == {"a": "running"}


def test_all_are_started_without_waiting_for_the_last(cli: Cli) -> None:
    write(cli.cwd, server("a") + "[services.slow]\ncommand = 'sleep 60'\nready = 'match=x'\nafter = 'a'\n")
    told = cli("up", "--no-wait")
    assert told["ok"], told
    assert [one["ready"] for one in told["services"]] == [True, False]


def test_down_while_up_waits(cli: Cli) -> None:
    write(
        cli.cwd,
        server("a")
        + "[services.slow]\ncommand = 'sleep 60'\nready = 'match=x'\n"
        + server("late", "after = 'slow'"),
    )
    up = subprocess.Popen(cli.argv("up"), cwd=cli.cwd, env=cli.env, stdout=subprocess.PIPE)
    wait_until(lambda: len(running(cli)) == 2 and has_jobs(cli, 3))
    told = cli("down")
    assert actions(told) == {"late": "stopped", "slow": "stopped", "a": "stopped"}
    ended = check(up.communicate(timeout=60)[0].decode())
    assert ended["error"]["code"] == "not_ready"
    assert running(cli) == []
    assert not [job for job in cli("list", "--all")["jobs"] if job["state"] in ("created", "running")]


def test_a_killed_up_leaves_nothing_twice_and_the_next_one_finishes(cli: Cli) -> None:
    names = [f"s{number}" for number in range(6)]
    write(
        cli.cwd,
        "".join(server(name, f"after = '{names[n - 1]}'" if n else "") for n, name in enumerate(names)),
    )
    for jobs in (1, 3):
        up = subprocess.Popen(cli.argv("up"), cwd=cli.cwd, env=cli.env, stdout=subprocess.DEVNULL)
        wait_until(partial(has_jobs, cli, jobs))
        up.send_signal(signal.SIGKILL)
        up.wait()
    told = cli("up")
    assert told["ok"], told
    found = [job["tags"][0] for job in cli("ps", "--all")["jobs"]]
    assert len(found) == len(set(found)) == 6


def test_services_go_on_to_start_in_order_when_up_is_killed(cli: Cli, tmp_path: Path) -> None:
    """The order is one of the jobs: each waits by itself for those that it needs."""
    gate = Gate(tmp_path / "gate")
    write(
        cli.cwd,
        f"[jobs.first]\ncommand = {json.dumps(gate.job(after='echo made > made'))}\n"
        "[services.second]\ncommand = 'cat made; sleep 60'\nready = 'match=made'\nafter = 'first'\n"
        "[jobs.third]\ncommand = 'cat made > copied'\nafter = 'second'\n",
    )
    up = subprocess.Popen(cli.argv("up"), cwd=cli.cwd, env=cli.env, stdout=subprocess.DEVNULL)
    wait_until(lambda: len(running(cli)) == 1 and len(cli("plan")["jobs"]) == 2)
    up.send_signal(signal.SIGKILL)
    up.wait()
    assert [one["until"] for job in cli("plan")["jobs"] for one in job["waiting_for"]] == ["ok", "ready"]
    gate.open()
    wait_until(lambda: (cli.cwd / "copied").exists() and len(running(cli)) == 1)
    assert actions(cli("up")) == {"first": "done", "second": "running", "third": "done"}


def test_what_waits_for_a_restarted_service_is_started_after_the_new_one(cli: Cli) -> None:
    write(
        cli.cwd,
        "[services.other]\ncommand = 'sleep 60'\n"
        "[services.db]\ncommand = 'echo begun; sleep 60'\nready = 'file=go'\n"
        "[services.web]\ncommand = 'touch web; sleep 60'\nafter = ['db', 'other']\n",
    )
    first = cli("up", "--until", "1s")
    assert actions(first) == {"other": "started", "db": "started", "web": "not_started"}
    told = cli("restart", "db", "--until", "1s")
    assert actions(told) == {"other": "running", "db": "recreated", "web": "not_started"}
    assert by_name(told)["web"]["waiting_for"][0]["job_id"] == by_name(told)["db"]["job_id"]
    (cli.cwd / "go").touch()
    wait_until((cli.cwd / "web").exists)
    assert cli("up")["ok"]


def test_several_at_once_start_each_service_once(cli: Cli) -> None:
    write(cli.cwd, server("a") + server("b", "after = 'a'"))
    processes = [
        subprocess.Popen(cli.argv("up"), cwd=cli.cwd, env=cli.env, stdout=subprocess.PIPE) for _ in range(4)
    ]
    answers = [check(process.communicate(timeout=90)[0].decode()) for process in processes]
    assert all(told["ok"] for told in answers), answers
    assert len({one["job_id"] for told in answers for one in told["services"]}) == 2
    assert sum(one["action"] == "started" for told in answers for one in told["services"]) == 2


def test_restart_by_name(cli: Cli) -> None:
    write(cli.cwd, server("a") + server("b", "after = 'a'"))
    first = by_name(cli("up"))
    told = cli("restart", "b")
    assert actions(told) == {"a": "running", "b": "recreated"}
    assert by_name(told)["b"]["job_id"] != first["b"]["job_id"]
    other = cli("run", "--", "true")["job_id"]
    assert cli("restart", other)["type"] == "restart", "an id is a job's"
    assert cli("restart", "nothing-here")["error"]["code"] == "job_not_found"


def test_a_plan_starts_nothing(cli: Cli) -> None:
    write(cli.cwd, server("a") + "[jobs.b]\ncommand = 'touch made'\nafter = 'a'\n")
    told = cli("up", "--dry-run")
    assert (told["dry_run"], actions(told)) == (True, {"a": "would_start", "b": "would_start"})
    assert by_name(told)["b"]["command"][-1] == "touch made"
    assert by_name(told)["b"]["after"] == ["a"]
    assert not [name for name in os.listdir(cli.root) if len(name) == 26]


def test_rules_judge_every_command_before_any_is_started(cli: Cli, tmp_path: Path) -> None:
    rules = tmp_path / "rules.toml"
    rules.write_text('[[rule]]\nprefix = ["touch"]\nverdict = "deny"\nreason = "no"\n')
    write(cli.cwd, server("a") + "[jobs.b]\ncommand = 'touch made'\nafter = 'a'\n")
    for more in ((), ("--dry-run",)):
        told = cli("up", "--rules", rules, *more)
        assert told["error"]["code"] == "command_denied"
        assert told["error"]["message"].startswith("[jobs.b]: ")
        assert running(cli) == []


@pytest.mark.parametrize(
    ("text", "code", "message"),
    [
        ("[jobs.a]\ncommand = 'true'\ncwd = 'nowhere'\n", "workdir_not_found", "[jobs.a]: cwd"),
        ("[jobs.a]\ncommand = 'true'\nsandbox = 'mine'\n", "invalid_argument", "[jobs.a]: --sandbox takes"),
        ("[jobs.a]\ncommand = 'true'\nenv_file = 'no.env'\n", "invalid_argument", "[jobs.a]: --env-file"),
        ("[jobs.a]\ncommnd = 'true'\n", "config_error", "agent-exec.toml:2: [jobs.a] has no 'commnd'"),
    ],
)
def test_nothing_is_started_if_one_cannot_be(cli: Cli, text: str, code: str, message: str) -> None:
    write(cli.cwd, "[jobs.first]\ncommand = 'touch made'\n" + text.replace(":2:", ":4:"))
    told = cli("up")
    assert told["error"]["code"] == code, told
    assert message.replace(":2:", ":4:") in told["error"]["message"]
    assert not (cli.cwd / "made").exists()


def test_the_file_does_not_loosen_the_users_own_sandbox(cli: Cli) -> None:
    write(
        cli.cwd,
        "[jobs.a]\ncommand = 'touch made'\nsandbox = 'full-access'\n[jobs.b]\ncommand = 'touch b'\nsandbox = 'read-only'\n",
    )
    folder = Path(cli.env["XDG_CONFIG_HOME"]) / "agent-exec"
    folder.mkdir(parents=True)
    (folder / "config.toml").write_text('[run]\nsandbox = "workspace-write"\n')
    told = cli("up", "--no-wait")
    jobs: dict[str, Answer] = {name: cli("wait", one["job_id"]) for name, one in by_name(told).items()}
    assert {name: job["sandbox"]["profile"] for name, job in jobs.items()} == {
        "a": "workspace-write",
        "b": "read-only",
    }
    assert (cli.cwd / "made").exists()
    assert not (cli.cwd / "b").exists()


def test_down_needs_no_good_file(cli: Cli) -> None:
    write(cli.cwd, server("a") + server("b"))
    assert cli("up")["ok"]
    assert actions(cli("down", "b")) == {"b": "stopped"}
    assert actions(cli("down", "b")) == {"b": "not_running"}
    assert "did you mean b?" in cli("down", "bb")["error"]["message"]
    write(cli.cwd, "broken")
    assert actions(cli("down")) == {"a": "stopped"}
    assert cli("down")["services"] == []


def test_logs_are_merged_in_order_of_arrival(cli: Cli) -> None:
    write(
        cli.cwd,
        "[jobs.one]\ncommand = 'echo first; printf half'\n"
        "[jobs.two]\ncommand = 'echo second >&2'\nafter = 'one'\n"
        "[jobs.three]\ncommand = 'echo third'\nafter = 'two'\n"
        "[jobs.never]\ncommand = 'true'\n",
    )
    assert cli("up", "three")["ok"]
    told = cli("logs")
    lines = [(line["name"], line["stream"], line["text"]) for line in told["lines"]]
    assert lines == [
        ("one", "stdout", "first"),
        ("one", "stdout", "half"),
        ("two", "stderr", "second"),
        ("three", "stdout", "third"),
    ]
    assert [one.get("state") for one in told["services"]] == ["exited"] * 3 + [None]
    short = cli("logs", "--lines", 1)
    assert ([line["text"] for line in short["lines"]], short["truncated"]) == (["third"], True)
    assert [line["text"] for line in cli("logs", "two")["lines"]] == ["second"]
    inner = cli.cwd / "inner"
    inner.mkdir()
    assert len(cli("logs", cwd=inner)["lines"]) == 4
    assert "did you mean two?" in cli("logs", "tow")["error"]["message"]


def test_without_a_file_the_answer_says_what_to_do(cli: Cli) -> None:
    told = cli("up")
    assert told["error"]["code"] == "config_error"
    assert "there is no agent-exec.toml" in told["error"]["message"]


def test_python_callers_have_projects_too(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """The jobs are the same: what Python has started, the program finds, and the other way round."""
    monkeypatch.setenv("XDG_DATA_HOME", cli.env["XDG_DATA_HOME"])
    write(
        cli.cwd,
        server("db")
        + "[jobs.load]\ncommand = 'echo $PORT_DB > port'\nafter = 'db'\n"
        + "[services.boxed]\ncommand = 'echo in; exec sleep 60'\nready = 'match=in'\nsandbox = 'read-only'\n",
    )
    file = str(cli.cwd / "agent-exec.toml")
    jobs = open_jobs(str(cli.root), rules=None)
    assert actions(jobs.up(file=file, dry_run=True)) == dict.fromkeys(("db", "load", "boxed"), "would_start")
    told = jobs.up(file=file)
    assert told["ok"], told
    port = by_name(told)["db"]["ports"]["PORT"]
    assert (cli.cwd / "port").read_text() == f"{port}\n"
    assert jobs.status(by_name(told)["boxed"]["job_id"])["sandbox"]["profile"] == "read-only"
    assert actions(cli("up")) == {"db": "running", "load": "done", "boxed": "running"}
    again = jobs.up(["db"], file=file, restart=True)
    assert (actions(again), by_name(again)["db"]["ports"]["PORT"]) == ({"db": "recreated"}, port)
    assert [line["text"] for line in jobs.logs(["boxed"], file=file)["lines"]] == ["in"]
    with pytest.raises(InvalidArgument, match=r"did you mean load\?"):
        jobs.down(["laod"], file=file)
    assert actions(jobs.down(file=file)) == {"db": "stopped", "boxed": "stopped"}
    rules = cli.cwd / "rules.toml"
    rules.write_text('[[rule]]\nprefix = ["echo"]\nverdict = "deny"\nreason = "no"\n')
    refused = open_jobs(str(cli.root), rules=str(rules))
    with pytest.raises(AgentExecError, match=r"^\[services.boxed\]: "):
        refused.up(file=file)
    assert running(cli) == []


class TestProcfile:
    """A Procfile is used as it is, or imported."""

    @pytest.fixture
    def procfile(self, cli: Cli) -> Path:
        file = cli.cwd / "Procfile"
        service = " ".join(f"'{word}'" for word in child("service", "web"))
        file.write_text(
            f"# all\nrelease: echo released $GREETING\nweb: PORT=${{PORT:-1}} exec {service}\nwork_er: echo $GREETING ${{NOTHING:-none}}; sleep 60\n"
        )
        (cli.cwd / ".env").write_text("GREETING=hello\n")
        return file

    def test_it_is_used_as_it_is(self, cli: Cli, procfile: Path) -> None:
        told = cli("up", "--procfile", procfile)
        assert told["ok"], told
        assert list(by_name(told)) == ["release", "web", "work-er"]
        assert ask(by_name(told)["web"]["ports"]["PORT"]) == "web"
        lines = cli("logs", "--procfile", procfile, "release", "work-er")["lines"]
        assert [line["text"] for line in lines] == ["released hello", "hello none"]
        assert sorted(actions(cli("down", "--procfile", "Procfile")).values()) == ["stopped"] * 2

    @pytest.mark.usefixtures("procfile")
    def test_it_is_imported(self, cli: Cli) -> None:
        shown = cli("import", "--dry-run")
        assert not (cli.cwd / "agent-exec.toml").exists()
        told = cli("import", "Procfile")
        assert told["services"] == ["release", "web", "work-er"]
        assert (cli.cwd / "agent-exec.toml").read_text() == told["text"] == shown["text"]
        again = cli("import", "Procfile")
        assert "exists, and is left as it is" in again["error"]["message"]
        assert cli("up")["ok"]


def test_the_page_takes_a_newcomer_from_run_to_up(cli: Cli) -> None:
    """Every block of docs/project.md is executed in order, in one folder."""
    page = (Path(__file__).parents[2] / "docs" / "project.md").read_text()
    cli.env["PATH"] = f"{PROGRAM.parent}{os.pathsep}{cli.env['PATH']}"
    done = 0
    for kind, block in re.findall(r"^```(\w+)\n(.*?)^```", page, re.DOTALL | re.MULTILINE):
        if kind == "toml":
            assert block.startswith("# agent-exec.toml\n")
            write(cli.cwd, block)
            continue
        assert kind == "sh"
        for line in block.splitlines():
            out = subprocess.run(
                ["sh", "-c", line], cwd=cli.cwd, env=cli.env, capture_output=True, check=False
            )
            assert out.returncode == int("# exit 1" in line), (line, out)
            told = json.loads(out.stdout) if out.stdout else {}
            wanted = re.search(r'# ("\w+": "\w+")$', line)
            assert wanted is None or wanted[1] in json.dumps(told), (line, told)
            done += 1
    assert done > 20
