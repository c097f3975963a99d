"""Classic BPF as the kernel takes it for filters of system calls: its checks, and an interpreter.

A program is a list of instructions (code, jump if true, jump if false, constant). What it looks at, ``struct
seccomp_data``, is a tuple of sixteen 32-bit words here. The rules are those of seccomp(2) and of the kernel's
Documentation/networking/filter.rst; test_bpf.py compares both halves with the running kernel.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence

Instruction = tuple[int, int, int, int]
Program = Sequence[Instruction]

MAX_LENGTH = 4096
DATA_SIZE = 64
CELLS = 16
WORD = 0xFFFFFFFF

LOAD_CONSTANT, LOAD_WORD, LOAD_CELL, LOAD_LENGTH = 0x00, 0x20, 0x60, 0x80
LOAD_X_CONSTANT, LOAD_X_CELL, LOAD_X_LENGTH = 0x01, 0x61, 0x81
STORE, STORE_X = 0x02, 0x03
ADD, SUB, MUL, DIV, OR, AND, SHIFT_LEFT, SHIFT_RIGHT, NEGATE = (
    0x04,
    0x14,
    0x24,
    0x34,
    0x44,
    0x54,
    0x64,
    0x74,
    0x84,
)
XOR = 0xA4
JUMP, IF_EQUAL, IF_ABOVE, IF_AT_LEAST, IF_ANY_BIT = 0x05, 0x15, 0x25, 0x35, 0x45
RETURN, RETURN_A = 0x06, 0x16
TO_X, FROM_X = 0x07, 0x87
# Added to an operation or a condition: with X instead of the constant.
BY_X = 0x08

ARITHMETIC = (ADD, SUB, MUL, DIV, OR, AND, XOR, SHIFT_LEFT, SHIFT_RIGHT)
CONDITIONS = (IF_EQUAL, IF_ABOVE, IF_AT_LEAST, IF_ANY_BIT)
RETURNS = (RETURN, RETURN_A)
CELL_USERS = (LOAD_CELL, LOAD_X_CELL, STORE, STORE_X)
KNOWN = frozenset(
    [
        *(LOAD_CONSTANT, LOAD_WORD, LOAD_LENGTH, LOAD_X_CONSTANT, LOAD_X_LENGTH, NEGATE, JUMP, TO_X, FROM_X),
        *(*RETURNS, *CELL_USERS, *ARITHMETIC, *CONDITIONS),
        *(code | BY_X for code in ARITHMETIC + CONDITIONS),
    ]
)


class Refused(ValueError):
    """The kernel would not take the program."""


def read(raw: bytes) -> list[Instruction]:
    """The instructions of an array of ``struct sock_filter``."""
    return list(struct.iter_unpack("=HBBI", raw))


def call(number: int, architecture: int, arguments: Iterable[int] = ()) -> tuple[int, ...]:
    """The words of ``struct seccomp_data``; arguments that are left out are 0."""
    six = [*arguments, 0, 0, 0, 0, 0, 0][:6]
    mask = (1 << 64) - 1
    return struct.unpack(
        "<16I", struct.pack("<IIQ6Q", number & WORD, architecture, 0, *(a & mask for a in six))
    )


def check(program: Program) -> None:
    """Raise `Refused` for what the kernel refuses to install."""
    length = len(program)
    if not 0 < length <= MAX_LENGTH:
        raise Refused(f"{length} instructions")
    for at, (code, true, false, constant) in enumerate(program):
        where = f"instruction {at} ({code:#x}, {true}, {false}, {constant:#x})"
        if code not in KNOWN:
            raise Refused(f"{where}: unknown")
        if code == LOAD_WORD and (constant % 4 or constant >= DATA_SIZE):
            raise Refused(f"{where}: not a word of the data")
        if code in CELL_USERS and constant >= CELLS:
            raise Refused(f"{where}: no such cell")
        if code == DIV and not constant:
            raise Refused(f"{where}: division by 0")
        if code in (SHIFT_LEFT, SHIFT_RIGHT) and constant >= 32:
            raise Refused(f"{where}: too far a shift")
        if any(target >= length for target in targets(at, program[at])):
            raise Refused(f"{where}: jumps out of the program")
    if program[-1][0] not in RETURNS:
        raise Refused("the last instruction is no return")
    _check_cells(program)


def targets(at: int, instruction: Instruction) -> tuple[int, ...]:
    """Where a jump leads; nothing for other instructions."""
    code, true, false, constant = instruction
    if code == JUMP:
        return (at + 1 + constant,)
    if code & ~BY_X in CONDITIONS:
        return at + 1 + true, at + 1 + false
    return ()


def _check_cells(program: Program) -> None:
    # Bits of the cells that hold something on every way to an instruction.
    everything = (1 << CELLS) - 1
    filled = [everything] * len(program)
    now = 0
    for at, instruction in enumerate(program):
        now &= filled[at]
        code, constant = instruction[0], instruction[3]
        if code in (STORE, STORE_X):
            now |= 1 << constant
        elif code in (LOAD_CELL, LOAD_X_CELL):
            if not now >> constant & 1:
                raise Refused(f"instruction {at}: reads a cell that may be empty")
        elif ways := targets(at, instruction):
            for target in ways:
                filled[target] &= now
            now = everything


def run(program: Program, data: Sequence[int]) -> int:
    """The action that a program which passes `check` returns."""
    a = x = at = 0
    cells = [0] * CELLS
    while True:
        code, true, false, constant = program[at]
        at += 1
        if code == LOAD_WORD:
            a = data[constant // 4]
            continue
        if code == RETURN:
            return constant
        operand = x if code & BY_X else constant
        kind = code & ~BY_X
        if kind == IF_EQUAL:
            at += true if a == operand else false
        elif kind == IF_ABOVE:
            at += true if a > operand else false
        elif kind == IF_AT_LEAST:
            at += true if a >= operand else false
        elif kind == IF_ANY_BIT:
            at += true if a & operand else false
        elif code == RETURN_A:
            return a
        elif code == JUMP:
            at += constant
        elif code == TO_X:
            x = a
        elif code == FROM_X:
            a = x
        elif code == STORE:
            cells[constant] = a
        elif code == STORE_X:
            cells[constant] = x
        elif code in (LOAD_CONSTANT, LOAD_CELL, LOAD_LENGTH):
            a = _loaded(code, constant, cells)
        elif code in (LOAD_X_CONSTANT, LOAD_X_CELL, LOAD_X_LENGTH):
            x = _loaded(code & ~1, constant, cells)
        elif code == NEGATE:
            a = -a & WORD
        elif kind == DIV and operand == 0:
            return 0
        else:
            a = _computed(kind, a, operand)


def _loaded(code: int, constant: int, cells: list[int]) -> int:
    return {LOAD_CONSTANT: constant, LOAD_CELL: cells[constant % CELLS], LOAD_LENGTH: DATA_SIZE}[code]


def _computed(kind: int, a: int, operand: int) -> int:
    shift = operand % 32
    if kind == ADD:
        result = a + operand
    elif kind == SUB:
        result = a - operand
    elif kind == MUL:
        result = a * operand
    elif kind == DIV:
        result = a // operand
    elif kind == OR:
        result = a | operand
    elif kind == AND:
        result = a & operand
    elif kind == XOR:
        result = a ^ operand
    elif kind == SHIFT_LEFT:
        result = a << shift
    elif kind == SHIFT_RIGHT:
        result = a >> shift
    else:
        raise Refused(f"unknown instruction {kind:#x}")
    return result & WORD
