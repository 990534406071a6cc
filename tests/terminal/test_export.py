"""A session as a recording, and as a picture."""

import io
import json
import os
import xml.etree.ElementTree as ET
from pathlib import Path

from agent_exec import Command, Engine
from agent_exec.sessions.session import Session
from agent_exec.sessions.transcript import IN_MEMORY, Transcript
from support import wait_until


def ran(folder: Path, script: str, *, tty: bool = True) -> Session:
    command = Command(["sh", "-c", script], cwd=folder, tty=tty)
    session = Session(1000, command, Transcript(str(folder / "kept")), script)
    with Engine() as engine:
        session.start(engine)
        assert session.wait(60).cause == "exit"
    return session


def test_an_asciicast(tmp_path: Path) -> None:
    """Issue 6: a recording of any session can be exported as asciicast v2."""
    command = Command(["sh", "-c", "echo one; read x <go; sleep 0.02; echo two"], cwd=tmp_path, tty=True)
    session = Session(1000, command, Transcript(str(tmp_path / "kept")), "test")
    os.mkfifo(tmp_path / "go")
    with Engine() as engine:
        session.start(engine)
        wait_until(lambda: session.transcript.total >= 5)
        (tmp_path / "go").write_text("\n")
        assert session.wait(60).cause == "exit"
    file = io.StringIO()
    session.record(file)
    header, *events = map(json.loads, file.getvalue().splitlines())
    assert (header["version"], header["width"], header["height"]) == (2, 80, 24)
    assert "".join(text for _, kind, text in events if kind == "o") == "one\r\ntwo\r\n"
    times = [seconds for seconds, _, _ in events]
    assert len(times) >= 2
    assert times == sorted(times)


def test_much_is_recorded_whole(tmp_path: Path) -> None:
    session = ran(tmp_path, "seq 60000", tty=False)
    assert session.transcript.total > 2 * IN_MEMORY
    file = io.StringIO()
    session.record(file)
    texts = [json.loads(line)[2] for line in file.getvalue().splitlines()[1:]]
    assert "".join(texts).split() == [str(number) for number in range(1, 60001)]
    session.close()
    assert not (tmp_path / "kept").exists()


def test_a_picture(tmp_path: Path) -> None:
    """Issue 6: and as an SVG picture of its last screen."""
    picture = ET.fromstring(ran(tmp_path, "printf '\\033[31mred\\033[0m & <plain>'").picture())
    assert "red" in "".join(picture.itertext())
    assert "& <plain>" in "".join(picture.itertext()).replace("\u00a0", " ")
