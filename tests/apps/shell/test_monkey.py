"""Somebody without a plan: any keys in any order, at any size, break nothing."""

import random
from pathlib import Path

import pytest

from apps.shell.driving import MakeApp, Person, script, use

KEYS = """
up down left right pageup pagedown home end enter backspace tab shift+tab escape space
/ : ? . h r t x [ ] 1 2 9 j k g G b n N F w q f2 f5 ctrl+o ctrl+c ctrl+p ctrl+n ctrl+u delete a s o y
""".split()
LINES = (
    "/shell ls",
    "/shell ./talk.sh",
    "/shell sleep 60",
    "/shell cat nothing",
    "/jobs",
    "/help",
    "/sessions",
    "/x",
)


@pytest.mark.parametrize("seed", range(2))
def test_any_keys_in_any_order(make_app: MakeApp, folder: Path, seed: int) -> None:
    chance = random.Random(seed)
    script(folder, "talk.sh", "for i in 1 2 3 4 5 6; do echo line $i; echo err >&2; sleep 0.05; done\n")
    (folder / "bad\x1b[2Jname").touch()
    for number in range(30):
        (folder / "src" / f"file{number}").touch()

    async def story(person: Person) -> None:
        for _ in range(25):
            what = chance.random()
            if what < 0.15:
                await person.press("escape", "escape")
                await person.type(chance.choice(LINES))
                await person.press("enter")
            elif what < 0.2:
                await person.pilot.resize_terminal(chance.randint(10, 150), chance.randint(4, 50))
            else:
                await person.press(*chance.choices(KEYS, k=5))
            assert person.app._exception is None
        await person.pilot.resize_terminal(80, 24)
        await person.app.keys.join()
        await person.until(lambda: len(person.rows) == 24)
        assert "\x1b" not in person.screen

    use(make_app(), story)
