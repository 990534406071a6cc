"""What the tests of the terminal interface share: an app without a terminal, and someone who types."""

import asyncio
import os
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Protocol
from unittest.mock import patch

from textual import events
from textual.keys import _character_to_key
from textual.pilot import Pilot
from textual.widget import Widget

from agent_exec.apps.shell.app import ShellApp
from agent_exec.faces.slash.permission import ShellPermission

SMALL, LARGE = (80, 24), (120, 40)
LOOKED_AT = 3600.0
"""Seconds between frames of its own that an app draws: none, for each wait of a Person draws one to look at."""
Story = Callable[["Person"], Awaitable[None]]


class MakeApp(Protocol):
    def __call__(self, *, allowed: bool = True, folder: Path | None = None, **settings: Any) -> ShellApp: ...


class Person:
    """Someone who uses the app: presses keys, types lines, and waits for what is to come."""

    def __init__(self, app: ShellApp, pilot: Pilot[None]) -> None:
        self.app = app
        self.main = app.main
        self.pilot = pilot

    async def press(self, *keys: str) -> None:
        """Press one key after the other, each once the one before has had its effect."""
        for key in keys:
            character = " " if key == "space" else key if len(key) == 1 else None
            self.app.post_message(events.Key(_character_to_key(key) if character == key else key, character))
            await self.settle()

    async def type(self, text: str) -> None:
        """Type faster than anyone can."""
        for character in text:
            self.app.post_message(events.Key(_character_to_key(character), character))
        await self.settle()

    async def settle(self) -> None:
        """Wait until each key has had its effect, and the screen shows it; never for seconds, as `pause` does."""
        await self.pilot._wait_for_screen()  # the keys are queued
        if not self.app._exit:
            await self.app.keys.join()
        for _ in range(2):  # what a key has opened is drawn, then what that asks for
            await self.look()

    async def look(self) -> None:
        """Have the widgets do what is asked of them until now, and draw."""
        await self.pilot._wait_for_screen()
        self.app.screen._on_timer_update()

    async def command(self, line: str) -> None:
        """Type a slash command, with its slash, and have it done."""
        await self.type(line)
        await self.press("enter")

    async def run(self, line: str) -> None:
        """Run a command to its end."""
        before = self.app.core.view.generation
        await self.command(f"/shell {line}")
        await self.until(lambda: self.app.core.view.generation > before)
        await self.until(lambda: self.app.core.running is None and "running" not in self.told)

    async def until(self, condition: Callable[[], object], seconds: float = 20.0) -> None:
        """Wait for a condition."""
        deadline = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < deadline, f"never came true; the screen is\n{self.screen}"
            await self.pilot.pause(0.01)

    def focus_is(self, widget: object) -> bool:
        return self.main.focused is widget

    def output_is(self, how: str) -> bool:
        return self.main.output == how

    def previews(self, *lines: str) -> bool:
        return self.main.preview.preview.lines == lines

    @property
    def told(self) -> str:
        """What is on the Bottom Bar."""
        feedback = self.main.bar.feedback
        return "" if feedback is None else feedback.text

    @property
    def status(self) -> str:
        feedback = self.main.bar.feedback
        return "" if feedback is None else feedback.status

    @property
    def typed(self) -> str:
        """What is on the command line; nothing if it is closed."""
        return self.main.line.value if self.main.line.display else ""

    @property
    def candidates(self) -> list[str]:
        listed = self.main.candidates
        return [item.text for item in listed.candidates.items] if listed.display else []

    @property
    def output(self) -> list[str]:
        """The lines of output that are in sight."""
        return [line.text for line in self.main.pane.lines.window.lines]

    @property
    def rows(self) -> list[str]:
        """The screen as it is seen, row by row."""
        strips = self.app.screen._compositor.render_strips()
        return [strip.text.rstrip() for strip in strips]

    def unwrapped(self, widget: Widget) -> str:
        """Return what is seen of a widget, with the parts of a word joined that is too long for a row."""
        left, top, right, bottom = widget.region.corners
        strips = self.app.screen._compositor.render_strips()[top:bottom]
        return "".join(strip.crop(left, right).text.rstrip() for strip in strips)

    @property
    def screen(self) -> str:
        return "\n".join(self.rows)


def use(app: ShellApp, story: Story, size: tuple[int, int] = SMALL) -> None:
    """Have someone use an app until the story is told."""

    async def told() -> None:
        async with app.run_test(size=size) as pilot:
            person = Person(app, pilot)
            await person.settle()
            await story(person)

    with patch("textual.screen.UPDATE_PERIOD", LOOKED_AT):
        asyncio.run(told())


def permission(mark: str, allowed: bool = True) -> ShellPermission:
    """Return a permission whose commands can be found by the fixture that looks for leftovers."""
    name, _, value = mark.partition("=")
    path = f"{os.path.dirname(sys.executable)}:{os.environ['PATH']}"
    return ShellPermission(
        allowed, reason="a test says so", env={"PATH": path, name: value, "LANG": "C.UTF-8"}
    )


def script(folder: Path, name: str, text: str) -> None:
    """Put a program into a folder."""
    (folder / name).write_text(f"#!/bin/sh\n{text}")
    (folder / name).chmod(0o755)
