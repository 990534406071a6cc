"""The assembler resolves labels, and makes nothing that the kernel would refuse."""

import struct

import pytest

from agent_exec.sandbox.linux.seccomp import ALLOW, KILL, Assembler, argument
from sandbox.linux.children import judge


def test_jumps_count_from_the_next_instruction() -> None:
    code = Assembler()
    code.load(0)
    code.equal(7, yes="far", no="near")
    code.label("near")
    code.give(1)
    code.give(2)
    code.label("far")
    code.give(3)
    program = code.assemble()
    assert struct.unpack_from("<HBBI", program, 8) == (0x15, 2, 0, 7)
    assert len(program) == 5 * 8
    assert judge(program, 0, 7) == 3
    assert judge(program, 0, 8) == 1


def test_every_test_and_the_mask() -> None:
    code = Assembler()
    code.load(argument(1))
    code.mask(0xF0)
    code.at_least(0x80, yes="much")
    code.any_bit(0x30, yes="bits")
    code.give(0)
    code.label("much")
    code.give(ALLOW)
    code.label("bits")
    code.give(KILL)
    program = code.assemble()
    assert judge(program, 0, 0, 0, 0x8F) == ALLOW
    assert judge(program, 0, 0, 0, 0x1F) == KILL
    assert judge(program, 0, 0, 0, 0x4F) == 0
    assert judge(program, 0, 0, 0, 0xFFFFFFFF_0000000F) == 0


def test_halves_of_arguments() -> None:
    assert [argument(0), argument(0, high=True), argument(5), argument(5, high=True)] == [16, 20, 56, 60]


@pytest.mark.parametrize("distance", [255, 256])
def test_no_jump_is_longer_than_a_byte(distance: int) -> None:
    code = Assembler()
    code.equal(0, yes="end")
    for _ in range(distance):
        code.load(0)
    code.label("end")
    code.give(0)
    if distance == 255:
        assert judge(code.assemble(), 0, 0) == 0
    else:
        with pytest.raises(ValueError, match="out of reach"):
            code.assemble()


def test_what_cannot_be_assembled() -> None:
    code = Assembler()
    with pytest.raises(ValueError, match="ends with a verdict"):
        code.assemble()
    code.label("back")
    with pytest.raises(ValueError, match="twice"):
        code.label("back")
    code.equal(0, yes="back")
    code.give(0)
    with pytest.raises(ValueError, match="out of reach"):
        code.assemble()
    code = Assembler()
    code.equal(0, yes="lost")
    code.give(0)
    with pytest.raises(ValueError, match="nowhere"):
        code.assemble()
    code = Assembler()
    for _ in range(4097):
        code.give(0)
    with pytest.raises(ValueError, match="too long"):
        code.assemble()
