"""The interpreter of BPF: by hand, and held against the running kernel."""

from __future__ import annotations

import platform
import random
import struct

import pytest

from support import bpf
from support.confined import needs_seccomp, run

DATA = bpf.call(7, 0xC000003E, [0x1_0000_0002, 0xFFFFFFFF_80000000, 3])
BIG = 0xFFFFFFFF


def value(*body: bpf.Instruction) -> int:
    """What A holds after the instructions."""
    program = [*body, (bpf.RETURN_A, 0, 0, 0)]
    bpf.check(program)
    return bpf.run(program, DATA)


def test_the_data_lies_as_in_the_kernels_struct() -> None:
    raw = struct.pack("<16I", *DATA)
    assert struct.unpack("<iIQ6Q", raw) == (7, 0xC000003E, 0, 0x1_0000_0002, 0xFFFFFFFF_80000000, 3, 0, 0, 0)
    assert bpf.call(-1, 0)[0] == BIG


@pytest.mark.parametrize(
    ("at", "expected"),
    [(0, 7), (4, 0xC000003E), (16, 2), (20, 1), (24, 0x80000000), (28, BIG), (32, 3), (60, 0)],
)
def test_it_loads_words_of_the_data(at: int, expected: int) -> None:
    assert value((bpf.LOAD_WORD, 0, 0, at)) == expected


@pytest.mark.parametrize(
    ("code", "a", "operand", "expected"),
    [
        (bpf.ADD, BIG, 2, 1),
        (bpf.SUB, 1, 2, BIG),
        (bpf.MUL, 0x80000001, 2, 2),
        (bpf.DIV, 7, 2, 3),
        (bpf.OR, 0b1100, 0b1010, 0b1110),
        (bpf.AND, 0b1100, 0b1010, 0b1000),
        (bpf.XOR, 0b1100, 0b1010, 0b0110),
        (bpf.SHIFT_LEFT, 0x80000001, 1, 2),
        (bpf.SHIFT_RIGHT, 0x80000000, 31, 1),
    ],
)
def test_it_computes_with_32_bits(code: int, a: int, operand: int, expected: int) -> None:
    load = (bpf.LOAD_CONSTANT, 0, 0, a)
    assert value(load, (code, 0, 0, operand)) == expected
    assert value((bpf.LOAD_X_CONSTANT, 0, 0, operand), load, (code | bpf.BY_X, 0, 0, 0)) == expected


@pytest.mark.parametrize(
    ("code", "a", "operand", "jumps"),
    [
        (bpf.IF_EQUAL, 5, 5, True),
        (bpf.IF_EQUAL, 5, 6, False),
        (bpf.IF_ABOVE, BIG, 5, True),
        (bpf.IF_ABOVE, 5, 5, False),
        (bpf.IF_AT_LEAST, 5, 5, True),
        (bpf.IF_AT_LEAST, 4, BIG, False),
        (bpf.IF_ANY_BIT, 6, 2, True),
        (bpf.IF_ANY_BIT, 6, 9, False),
    ],
)
def test_it_jumps_on_conditions_without_sign(code: int, a: int, operand: int, jumps: bool) -> None:
    begin = [(bpf.LOAD_X_CONSTANT, 0, 0, operand), (bpf.LOAD_CONSTANT, 0, 0, a)]
    end = [(bpf.RETURN, 0, 0, 10), (bpf.RETURN, 0, 0, 11), (bpf.RETURN, 0, 0, 12)]
    for condition in ((code, 2, 1, operand), (code | bpf.BY_X, 2, 1, BIG)):
        program = [*begin, condition, *end]
        bpf.check(program)
        assert bpf.run(program, DATA) == (12 if jumps else 11)


def test_it_keeps_values_in_x_and_in_cells() -> None:
    a, x = (bpf.LOAD_CONSTANT, 0, 0, 5), (bpf.LOAD_X_CONSTANT, 0, 0, 6)
    assert value(a, (bpf.TO_X, 0, 0, 0), (bpf.LOAD_CONSTANT, 0, 0, 1), (bpf.FROM_X, 0, 0, 0)) == 5
    assert value(a, (bpf.STORE, 0, 0, 3), (bpf.LOAD_CONSTANT, 0, 0, 1), (bpf.LOAD_CELL, 0, 0, 3)) == 5
    assert value(x, (bpf.STORE_X, 0, 0, 15), (bpf.LOAD_CELL, 0, 0, 15)) == 6
    assert value(a, (bpf.STORE, 0, 0, 0), (bpf.LOAD_X_CELL, 0, 0, 0), (bpf.FROM_X, 0, 0, 0)) == 5
    assert value((bpf.LOAD_LENGTH, 0, 0, 0)) == bpf.DATA_SIZE
    assert value((bpf.LOAD_X_LENGTH, 0, 0, 0), (bpf.FROM_X, 0, 0, 0)) == bpf.DATA_SIZE
    assert value(a, (bpf.NEGATE, 0, 0, 0)) == BIG - 4


def test_it_jumps_always_and_ends_on_a_division_by_0() -> None:
    assert value((bpf.JUMP, 0, 0, 1), (bpf.RETURN, 0, 0, 9), (bpf.LOAD_CONSTANT, 0, 0, 4)) == 4
    assert value((bpf.LOAD_CONSTANT, 0, 0, 4), (bpf.DIV | bpf.BY_X, 0, 0, 0), (bpf.RETURN, 0, 0, 9)) == 0


END = (bpf.RETURN, 0, 0, 0)


@pytest.mark.parametrize(
    ("program", "why"),
    [
        ([], "0 instructions"),
        ([END] * (bpf.MAX_LENGTH + 1), "4097 instructions"),
        ([(bpf.LOAD_CONSTANT, 0, 0, 0)], "no return"),
        ([(0x28, 0, 0, 0), END], "unknown"),  # half a word
        ([(0x40, 0, 0, 0), END], "unknown"),  # a word at X
        ([(0x94, 0, 0, 3), END], "unknown"),  # a remainder
        ([(bpf.LOAD_WORD, 0, 0, 2), END], "not a word"),
        ([(bpf.LOAD_WORD, 0, 0, 64), END], "not a word"),
        ([(bpf.IF_EQUAL, 1, 0, 0), END], "jumps out"),
        ([(bpf.IF_EQUAL, 0, 1, 0), END], "jumps out"),
        ([(bpf.JUMP, 0, 0, 1), END], "jumps out"),
        ([END, (bpf.JUMP, 0, 0, BIG), END], "jumps out"),  # backwards, if the kernel's sum had 32 bits
        ([(bpf.DIV, 0, 0, 0), END], "division"),
        ([(bpf.SHIFT_LEFT, 0, 0, 32), END], "shift"),
        ([(bpf.STORE, 0, 0, 16), END], "no such cell"),
        ([(bpf.LOAD_CELL, 0, 0, 0), END], "may be empty"),
        ([(bpf.IF_EQUAL, 1, 0, 0), (bpf.STORE, 0, 0, 1), (bpf.LOAD_X_CELL, 0, 0, 1), END], "may be empty"),
    ],
)
def test_what_the_kernel_refuses_is_refused(program: list[bpf.Instruction], why: str) -> None:
    with pytest.raises(bpf.Refused, match=why):
        bpf.check(program)


def test_a_program_comes_back_from_its_bytes() -> None:
    assert bpf.read(struct.pack("=HBBIHBBI", 0x15, 1, 2, 3, 6, 0, 0, BIG)) == [
        (0x15, 1, 2, 3),
        (6, 0, 0, BIG),
    ]


# A call number that no kernel has; the drawn programs decide about it only.
FREE = 1000
KERNEL = """\
import struct

seccomp_call = syscalls.number("seccomp")
ends = []
for code, arguments in given:
    raw = ctypes.create_string_buffer(bytes.fromhex(code))
    length = len(code) // 16
    head = struct.pack("@HP", length, ctypes.addressof(raw))
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        if libc.syscall(seccomp_call, 1, 0, ctypes.create_string_buffer(head, len(head))):
            end = "refused"
        else:
            result = libc.syscall(ctypes.c_long(1000), *(ctypes.c_ulong(a) for a in arguments))
            end = -ctypes.get_errno() if result == -1 else result
        os.write(writer, json.dumps(end).encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as file:
        ends.append(json.loads(file.read() or b'"died"'))
    os.waitpid(child, 0)
tell(ends)
"""


def drawn(source: random.Random) -> list[bpf.Instruction]:
    """A program whose answer is an error number; some break a rule."""
    few = (0, 1, 2, 3, 31, 0x80000000, BIG)
    constants = (*few, 4, 16, 20, 24, 36, 60)
    plain = sorted(bpf.KNOWN - set(bpf.RETURNS))
    body = []
    length = source.randrange(1, 25)
    for at in range(length):
        code = source.choice(plain)
        true = false = 0
        constant = source.choice(constants) if source.random() < 0.7 else source.getrandbits(32)
        left = length - at
        if code == bpf.LOAD_WORD:
            # All words but the address of the instruction, which isn't known here.
            constant = 4 * source.choice((0, 1, *range(4, 16)))
        elif code in bpf.CELL_USERS:
            constant = source.randrange(3)
        elif code == bpf.JUMP:
            constant = source.randrange(left)
        elif code & ~bpf.BY_X in bpf.CONDITIONS:
            true, false = source.randrange(left), source.randrange(left)
        elif code in (bpf.SHIFT_LEFT, bpf.SHIFT_RIGHT):
            constant = source.randrange(32)
        body.append((code, true, false, constant))
    # Cells 0 and 1 are filled for most programs, so that reading them is mostly right.
    fill = [(bpf.STORE, 0, 0, 0), (bpf.STORE_X, 0, 0, 1), (bpf.STORE, 0, 0, 2)][: source.choice((3, 3, 3, 2))]
    if source.random() < 0.1:
        code, true, false, constant = body.pop()
        body.append(source.choice([(code, true, false, 64), (0x28, 0, 0, 0), (bpf.IF_EQUAL, 200, 0, 0)]))
    return [
        (bpf.LOAD_WORD, 0, 0, 0),
        (bpf.IF_EQUAL, 1, 0, FREE),
        (bpf.RETURN, 0, 0, 0x7FFF0000),
        *fill,
        *body,
        (bpf.AND, 0, 0, 0xFFF),
        (bpf.OR, 0, 0, 0x50000),
        (bpf.RETURN_A, 0, 0, 0),
    ]


@needs_seccomp
def test_the_kernel_takes_and_computes_the_same() -> None:
    source = random.Random(1)
    programs = [drawn(source) for _ in range(600)]
    calls = [[source.getrandbits(64) >> source.choice((0, 32, 60)) for _ in range(6)] for _ in programs]
    native = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
    raw = [b"".join(struct.pack("=HBBI", *i) for i in p).hex() for p in programs]
    found, _ = run(KERNEL, list(zip(raw, calls, strict=True)))
    expected: list[int | str] = []
    for program, arguments in zip(programs, calls, strict=True):
        try:
            bpf.check(program)
        except bpf.Refused:
            expected.append("refused")
            continue
        action = bpf.run(program, bpf.call(FREE, native[platform.machine()], arguments))
        # A division by 0 kills the thread; the kernel cuts error numbers at 4095.
        expected.append(-(action & 0xFFF) if action else "died")
    assert found == expected
    assert {"refused", "died"} < set(expected)
    assert len(set(expected)) > 50
