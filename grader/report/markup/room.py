"""Room on a page: bytes that a kind of content may take up."""

from __future__ import annotations

from markupsafe import Markup

from grader.report.markup.safe import safe_text


def byte_count(text: str) -> int:
    """Bytes of the text in UTF-8."""
    return len(text) if text.isascii() else len(text.encode())


class Room:
    """Bytes that a kind of content may take up on a page.

    Attributes:
        left, used: Bytes.
        ample: Nothing was cut or left out for want of room.
    """

    def __init__(self, size: int) -> None:
        self.left = size
        self.used = 0
        self.ample = True

    def text(self, text: str, limit: int, *, least: int = 0) -> Markup:
        """The text, cleaned, escaped, cut to what there is room for, but never below ``least`` characters."""
        kept = safe_text(text, limit)
        cost = byte_count(kept)
        if cost > self.left:
            self.ample = False
            kept = safe_text(text, max(least, min(limit, self.left // 6), 1))
            cost = byte_count(kept)
        self.left -= cost
        self.used += cost
        return kept

    def whole(self, text: str, limit: int) -> Markup:
        """The text, cleaned and escaped; empty when it is longer than the limit or finds no room."""
        if len(text) > limit:
            return Markup()
        kept = safe_text(text, 2 * limit)
        return kept if self.take(byte_count(kept)) else Markup()

    def take(self, size: int) -> bool:
        """Whether there was room for so many bytes, which are then used up."""
        if size > self.left:
            self.ample = False
            return False
        self.left -= size
        self.used += size
        return True
