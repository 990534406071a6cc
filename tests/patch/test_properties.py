"""What holds for patches nobody thought of; seeds make each repeatable."""

import random
from pathlib import Path

import pytest

from agent_exec.patch.apply import apply_patch
from agent_exec.patch.errors import MalformedPatch
from agent_exec.patch.grammar import AddFile, Chunk, DeleteFile, Hunk, Patch, UpdateFile, parse
from patch.trees import contents, make, render

LETTERS = "abc @*+-'\"\\$`<>\u00e4\u2013\u2028\udcff~#|&;"


def line(dice: random.Random) -> str:
    return "".join(dice.choices(LETTERS, k=dice.randrange(6)))


def name(dice: random.Random) -> str:
    return f"d{dice.randrange(3)}/{line(dice).strip()}.txt"


def a_chunk(dice: random.Random) -> Chunk:
    edits = [(dice.choice(" +-"), line(dice)) for _ in range(dice.randrange(1, 5))]
    context = f"c{line(dice)}" if dice.random() < 0.5 else None
    return Chunk(context, tuple(edits), dice.random() < 0.2)


def a_hunk(dice: random.Random) -> Hunk:
    match dice.randrange(3):
        case 0:
            return AddFile(name(dice), tuple(line(dice) for _ in range(dice.randrange(4))))
        case 1:
            return DeleteFile(name(dice))
    move_to = name(dice) if dice.random() < 0.3 else None
    return UpdateFile(name(dice), move_to, tuple(a_chunk(dice) for _ in range(dice.randrange(1, 4))))


@pytest.mark.parametrize("seed", range(300))
def test_what_is_written_is_read(seed: int) -> None:
    dice = random.Random(seed)
    hunks = tuple(a_hunk(dice) for _ in range(dice.randrange(5)))
    patch = Patch(hunks, dice.choice((None, "env-1")))
    assert parse(render(patch)) == patch
    assert parse(f"<<'EOF'\n{render(patch)}EOF\n") == patch


@pytest.mark.parametrize("seed", range(100))
def test_no_text_makes_it_stumble(seed: int) -> None:
    """Damaged patches are read or refused, nothing else."""
    dice = random.Random(seed)
    for _ in range(20):
        text = list(render(Patch(tuple(a_hunk(dice) for _ in range(3)))))
        for _ in range(dice.randrange(1, 6)):
            at = dice.randrange(len(text))
            match dice.randrange(3):
                case 0:
                    del text[at : at + dice.randrange(1, 20)]
                case 1:
                    text.insert(at, dice.choice("\n\r\0 @*+-x"))
                case _:
                    text[at:at] = text[dice.randrange(len(text)) :][:30]
            text = text or ["x"]
        try:
            parse("".join(text))
        except MalformedPatch:
            pass


def edited(dice: random.Random, before: list[str]) -> tuple[list[str], tuple[Chunk, ...]]:
    """Return a file changed in some places, and the chunks that say so; the naive model."""
    after: list[str] = []
    chunks: list[Chunk] = []
    at = 0
    while at < len(before):
        quiet = dice.randrange(4)
        after += before[at : at + quiet]
        at += quiet
        if at >= len(before):
            break
        edits: list[tuple[str, str]] = []
        kept = before[at : at + dice.randrange(3)]
        edits += [(" ", text) for text in kept]
        after += kept
        at += len(kept)
        gone = before[at : at + dice.randrange(3)]
        edits += [("-", text) for text in gone]
        at += len(gone)
        come = [f"new {dice.randrange(1000)}" for _ in range(dice.randrange(3))]
        edits += [("+", text) for text in come]
        after += come
        tail = before[at : at + 1]
        edits += [(" ", text) for text in tail]
        after += tail
        at += 1
        if any(sign != "+" for sign, _ in edits):
            chunks.append(Chunk(None, tuple(edits)))
        elif edits:  # at the end, where nothing is left to hold on to
            chunks.append(Chunk(None, tuple(edits), at_end=True))
    return after, tuple(chunks)


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("seed", range(60))
def test_applying_is_what_a_naive_model_does(tmp_path: Path, seed: int, end: str) -> None:
    """Several files at once: changed, moved, added, deleted."""
    dice = random.Random(seed)
    files: dict[str, str | bytes] = {}
    wanted: dict[str, str] = {}
    hunks: list[Hunk] = []
    for number in range(dice.randrange(1, 5)):
        path = f"d{number}/f"
        before = [f"{number} {index} {dice.choice('xyz')}" for index in range(dice.randrange(12))]
        files[path] = "".join(text + end for text in before)
        match dice.randrange(4):
            case 0:
                hunks.append(DeleteFile(path))
            case 1:
                added = tuple(f"a{index}" for index in range(dice.randrange(3)))
                hunks.append(AddFile(f"n{number}/deep/g", added))
                wanted[f"n{number}/deep/g"] = "".join(f"{text}\n" for text in added)
                wanted[path] = str(files[path])
            case _:
                after, chunks = edited(dice, before)
                move_to = f"m{number}/g" if dice.random() < 0.5 else None
                if chunks or move_to:
                    hunks.append(UpdateFile(path, move_to, chunks))
                wanted[move_to or path] = "".join(text + end for text in after)
    dice.shuffle(hunks)
    make(tmp_path, files)
    apply_patch(render(Patch(tuple(hunks))), cwd=str(tmp_path))
    assert contents(tmp_path) == wanted
