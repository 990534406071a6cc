"""Stable ports: one for each folder and name, never that of another checkout, free again when the folder is gone."""

import json
import shutil
import socket
from pathlib import Path

import pytest

from agent_exec.jobs.readiness import ports
from cli import Cli
from support import python, wait_until

SERVE = "import os, socket, time; s = socket.create_server(('127.0.0.1', int(os.environ['PORT']))); time.sleep(600)"


def port_of(folder: Path, registry: Path, name: str = "PORT") -> int:
    """Return the port that a job of a folder gets, which has ended again."""
    port, lock = ports.allocate(str(folder), name, str(registry))
    lock.release()
    return port


@pytest.fixture
def folders(tmp_path: Path) -> list[Path]:
    made = [tmp_path / f"checkout{number}" for number in range(2)]
    for one in made:
        one.mkdir()
    return made


def test_a_folder_and_a_name_have_a_port_of_their_own(tmp_path: Path, folders: list[Path]) -> None:
    names = [f"NAME{number}" for number in range(10)]
    found = [port_of(folder, tmp_path / "ports", name) for folder in folders for name in names]
    assert len(set(found)) == 20
    assert all(20000 <= port < 30000 for port in found)
    assert found == [port_of(folder, tmp_path / "ports", name) for folder in folders for name in names]


def test_a_port_that_is_in_use_is_not_given(tmp_path: Path, folders: list[Path]) -> None:
    first = port_of(folders[0], tmp_path / "ports")
    with socket.create_server(("127.0.0.1", first)):
        other = port_of(folders[0], tmp_path / "ports")
    assert other != first
    assert port_of(folders[0], tmp_path / "ports") == min(first, other)


def test_a_port_is_kept_while_a_job_holds_it(tmp_path: Path, folders: list[Path]) -> None:
    first, held = ports.allocate(str(folders[0]), "PORT", str(tmp_path / "ports"))
    try:
        assert port_of(folders[0], tmp_path / "ports") != first
        shutil.rmtree(folders[0])
        port_of(folders[1], tmp_path / "ports")
        assert (tmp_path / "ports" / str(first)).exists()
    finally:
        held.release()
    port_of(folders[1], tmp_path / "ports")
    assert not (tmp_path / "ports" / str(first)).exists()


@pytest.mark.parametrize("text", ["", "[", "{}", '["a"]', "[1, 2]", "\udcff"])
def test_an_entry_that_was_not_written_whole_is_dropped(
    tmp_path: Path, folders: list[Path], text: str
) -> None:
    first = port_of(folders[0], tmp_path / "ports")
    (tmp_path / "ports" / str(first)).write_bytes(text.encode(errors="surrogateescape"))
    assert port_of(folders[0], tmp_path / "ports") == first
    assert json.loads((tmp_path / "ports" / str(first)).read_text()) == [str(folders[0]), "PORT"]


def test_a_job_gets_its_port_as_a_variable(cli: Cli, tmp_path: Path) -> None:
    line = 'echo "$PORT $API $FIXED"'
    words = ("--port", "auto", "--port", "auto:API", "--port", "3000:FIXED")
    told = [cli("run", *words, "--", "sh", "-c", line) for _ in range(2)]
    assert told[0]["stdout"] == "{PORT} {API} {FIXED}\n".format(**told[0]["ports"])
    assert told[0]["ports"] == told[1]["ports"]
    assert told[0]["ports"]["FIXED"] == 3000
    status = cli("status", told[0]["job_id"])
    assert (status["ports"], status["env_keys"]) == (told[0]["ports"], ["PORT", "API", "FIXED"])
    other = tmp_path / "other"
    other.mkdir()
    assert cli("run", "--port", "auto", "--cwd", other, "--", "true")["ports"] != {
        "PORT": told[0]["ports"]["PORT"]
    }


def test_two_servers_of_one_folder_do_not_collide(cli: Cli) -> None:
    told = [cli("run", "--port", "auto", "--for", "listen", "--", *python(SERVE)) for _ in range(2)]
    found = [one["ports"]["PORT"] for one in told]
    assert [one["met"][0]["listening"][0]["port"] for one in told] == found
    assert len(set(found)) == 2
    cli("kill", told[0]["job_id"])
    wait_until(lambda: cli("status", told[0]["job_id"])["state"] == "killed")
    assert cli("run", "--port", "auto", "--", "true")["ports"]["PORT"] == found[0]


def test_a_box_passes_the_port_on(cli: Cli) -> None:
    told = cli("run", "--sandbox", "workspace-write", "--port", "3000", "--", "sh", "-c", "echo $PORT")
    assert (told["stdout"], told["ports"]) == ("3000\n", {"PORT": 3000})


@pytest.mark.parametrize("text", ["", "x", "0", "65536", "-1", "auto:", "auto:1A", "auto:A-B", "3000:a b"])
def test_an_invalid_port_is_refused(cli: Cli, text: str) -> None:
    assert cli("run", "--port", text, "--", "true")["error"]["code"] == "invalid_argument"


def test_a_name_is_given_once(cli: Cli) -> None:
    for words in (("--port", "auto", "--port", "3000"), ("--port", "auto", "--env", "PORT=1")):
        assert cli("run", *words, "--", "true")["error"]["code"] == "invalid_argument"


def test_a_registry_that_cannot_be_used_is_said(cli: Cli) -> None:
    told = cli("run", "--port", "auto", "--", "true", env={"XDG_DATA_HOME": "/dev/null"})
    assert told["error"]["code"] == "store_failed"
