"""Whole messages over a pipe: eight bytes that tell their length, then their bytes."""

from __future__ import annotations

from typing import IO

HEADER = 8


def send(pipe: IO[bytes], message: bytes) -> None:
    """Write a message. Raises OSError when nobody reads any more."""
    pipe.write(len(message).to_bytes(HEADER, "little") + message)
    pipe.flush()


def receive(pipe: IO[bytes]) -> bytes:
    """The next message. Raises EOFError when there is no whole one any more."""
    return _exactly(pipe, int.from_bytes(_exactly(pipe, HEADER), "little"))


def _exactly(pipe: IO[bytes], length: int) -> bytes:
    data = pipe.read(length)
    if len(data) < length:
        raise EOFError
    return data
