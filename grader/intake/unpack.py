"""Compressed bytes made plain ones, never more than were asked for."""

from __future__ import annotations

import bz2
import io
import lzma
import zlib
from collections.abc import Callable
from typing import BinaryIO, Protocol

from grader.intake.tree import UnreadableError

CHUNK = 1 << 16
# What a decoder for xz may use; the strongest setting of the usual tool needs 65 MiB.
MAX_DICTIONARY = 256 << 20
CUT = "The archive is cut off; its end is missing."
DAMAGED = "The archive is damaged: {}."

Kind = str  # zip, tar, gzip, bzip2, xz


class Decoder(Protocol):
    """One compressed stream. ``decode`` gives at most as many bytes as it is told."""

    @property
    def done(self) -> bool: ...

    @property
    def hungry(self) -> bool:
        """It gives nothing more before it gets more."""

    @property
    def rest(self) -> bytes:
        """What follows the stream, once it is done."""

    def decode(self, data: bytes, most: int) -> bytes: ...


class _Plain:
    done = False
    hungry = True
    rest = b""

    def __init__(self) -> None:
        self._left = b""

    def decode(self, data: bytes, most: int) -> bytes:
        self._left += data
        given, self._left = self._left[:most], self._left[most:]
        self.hungry = not self._left
        return given


class _Deflate:
    def __init__(self, window: int) -> None:
        self._stream = zlib.decompressobj(window)

    @property
    def done(self) -> bool:
        return self._stream.eof

    @property
    def hungry(self) -> bool:
        return not self._stream.unconsumed_tail

    @property
    def rest(self) -> bytes:
        return self._stream.unused_data

    def decode(self, data: bytes, most: int) -> bytes:
        return self._stream.decompress(self._stream.unconsumed_tail + data, most)


class _Block:
    def __init__(self, stream: bz2.BZ2Decompressor | lzma.LZMADecompressor) -> None:
        self._stream = stream

    @property
    def done(self) -> bool:
        return self._stream.eof

    @property
    def hungry(self) -> bool:
        return self._stream.needs_input

    @property
    def rest(self) -> bytes:
        return self._stream.unused_data

    def decode(self, data: bytes, most: int) -> bytes:
        return self._stream.decompress(data, most)


def _xz() -> Decoder:
    return _Block(lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=MAX_DICTIONARY))


def _bzip2() -> Decoder:
    return _Block(bz2.BZ2Decompressor())


STREAMS: dict[Kind, Callable[[], Decoder]] = {
    "tar": _Plain,
    "gzip": lambda: _Deflate(31),
    "bzip2": _bzip2,
    "xz": _xz,
}
# By the numbers that a zip file gives them. The others, with which few tools write, are not read: LZMA's
# decoder takes as much memory as the archive tells it to.
ZIP_METHODS: dict[int, Callable[[], Decoder]] = {0: _Plain, 8: lambda: _Deflate(-15), 12: _bzip2}


class Unpacked(io.RawIOBase):
    """A compressed file as a stream of plain bytes.

    Args:
        file: The compressed file, from its start.
        kind: One of STREAMS.
        limit: How many plain bytes are given at most.
        explain: What is said when there are more.
    """

    def __init__(self, file: BinaryIO, kind: Kind, limit: int, explain: str) -> None:
        self._file = file
        self._make = STREAMS[kind]
        self._decoder: Decoder | None = None
        self._plain = kind == "tar"
        self._pending = b""
        self._ended = False
        self._limit = limit
        self._explain = explain
        self.given = 0

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        """At most ``size`` bytes; fewer only at the end.

        Raises:
            UnreadableError: The file is damaged, cut off, or gives more than the limit.
        """
        pieces = []
        wanted = self._limit - self.given + 1 if size < 0 else size
        while wanted > 0 and not self._ended:
            piece = self._next(wanted)
            self.given += len(piece)
            if self.given > self._limit:
                raise UnreadableError(self._explain)
            wanted -= len(piece)
            pieces.append(piece)
        return b"".join(pieces)

    def skip(self, size: int) -> None:
        """Passes over some bytes. Raises UnreadableError, also when there are fewer."""
        while size > 0:
            piece = self.read(min(size, CHUNK))
            if not piece:
                raise UnreadableError(CUT)
            size -= len(piece)

    def _next(self, most: int) -> bytes:
        if self._decoder is None:
            self._decoder = self._make()
        decoder = self._decoder
        data = b""
        if decoder.hungry or self._pending:
            data = self._pending or self._file.read(CHUNK)
            self._pending = b""
            if not data:
                self._ended = True
                if self._plain:
                    return b""
                raise UnreadableError(CUT)
        try:
            piece = decoder.decode(data, most)
        except (zlib.error, lzma.LZMAError, OSError, EOFError, ValueError, MemoryError) as error:
            raise UnreadableError(DAMAGED.format(error)) from None
        if decoder.done:
            # Several streams may follow each other; zeros behind the last one are padding.
            self._decoder = None
            self._pending = decoder.rest or self._file.read(CHUNK)
            if not self._pending.strip(b"\0"):
                self._ended = True
        return piece


def inflate(method: int, file: BinaryIO, packed: int, limit: int) -> bytes:
    """A zip member's bytes, at most ``limit`` and one more.

    Args:
        method: One of ZIP_METHODS.
        file: Where the member's data begin.
        packed: How many compressed bytes it has.
        limit: How many plain bytes are wanted.

    Raises:
        UnreadableError: The data are damaged or cut off.
    """
    decoder = ZIP_METHODS[method]()
    out: list[bytes] = []
    room = limit + 1
    while room > 0 and not decoder.done:
        data = b""
        if decoder.hungry:
            data = file.read(min(packed, CHUNK))
            packed -= len(data)
            if not data:
                if method == 0 and packed == 0:
                    break
                raise UnreadableError("The file is cut off within the archive.")
        try:
            piece = decoder.decode(data, room)
        except (zlib.error, OSError, EOFError, ValueError, MemoryError) as error:
            raise UnreadableError(f"The file is damaged within the archive: {error}.") from None
        room -= len(piece)
        out.append(piece)
    return b"".join(out)
