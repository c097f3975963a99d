"""The ids of submissions."""

from __future__ import annotations

import hashlib
import re
import unicodedata

# Letters of names that have no form without a mark.
_LETTERS = str.maketrans(
    {
        "ß": "ss", "ẞ": "SS", "æ": "ae", "Æ": "Ae", "œ": "oe", "Œ": "Oe", "ø": "o", "Ø": "O", "ł": "l",
        "Ł": "L", "đ": "d", "Đ": "D", "ð": "d", "Ð": "D", "þ": "th", "Þ": "Th", "ħ": "h", "Ħ": "H", "ı": "i",
    }
)  # fmt: skip


def ascii_letters(text: str) -> str:
    """A text in ASCII: accents are taken off, and what has no such form is left out."""
    return unicodedata.normalize("NFKD", text.translate(_LETTERS)).encode("ascii", "ignore").decode()


def submission_id(text: str) -> str:
    """Text made an id of letters, digits, ``.``, ``_`` and ``-``.

    Where that loses something (accents, blanks, other scripts), a few digits made from the text are added, so
    that two names never become one.
    """
    plain = re.sub(r"[^A-Za-z0-9._-]+", "-", ascii_letters(text)).strip("-.")[:100]
    if plain == text.replace("/", "-") or plain == text.replace("/", "-").strip("-."):
        return plain or with_suffix("submission", text)
    # Both Unicode forms of a name are the same name.
    return with_suffix(plain or "submission", unicodedata.normalize("NFC", text))


def with_suffix(base: str, origin: str) -> str:
    """An id told from others of the same base by six digits made from its origin."""
    try:
        raw = origin.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        raw = origin.encode("utf-8", "surrogatepass")
    return f"{base}-{hashlib.sha256(raw).hexdigest()[:6]}"
