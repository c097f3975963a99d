"""The ids of submissions."""

from __future__ import annotations

import hashlib
import re
import unicodedata


def submission_id(text: str) -> str:
    """Text made an id of letters, digits, ``.``, ``_`` and ``-``.

    Where that loses something (accents, blanks, other scripts), a few digits made from the text are added, so
    that two names never become one.
    """
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    plain = re.sub(r"[^A-Za-z0-9._-]+", "-", plain).strip("-.")[:100]
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
