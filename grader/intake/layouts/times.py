"""Times of submission as learning platforms write them, made ISO 8601.

Only Gradescope tells an offset from UTC; the others write the local time of the server, or of the teacher
who downloads, and don't say which. Such a time stays without an offset.
"""

from __future__ import annotations

import re
import unicodedata
from datetime import UTC, datetime

_ZONED = re.compile(
    r"(\d{4})-(\d\d?)-(\d\d?)(?:[Tt]|[ \t]+)(\d\d?):(\d\d):(\d\d)(?:\.\d*)?[ \t]*"
    r"(?:(Z|UTC)|([-+])(\d\d?):?(\d\d)?)?"
)
_DASHED = re.compile(r"(\d{4})-(\d\d)-(\d\d)-(\d\d)-(\d\d)-(\d\d)")
# The beginnings of the months' names, without accents, in the languages that platforms are used in most:
# English, French, Spanish, Portuguese, Italian, German, Dutch, Swedish, Danish, Norwegian, Turkish.
_MONTHS = {
    1: "jan gen ene oca",
    2: "feb fev sub",
    3: "mar mrt maa mae",
    4: "apr avr abr nis",
    5: "may mai mag mei maj",
    6: "jun juin giu haz",
    7: "jul juil lug tem",
    8: "aug aou ago agu",
    9: "sep set eyl",
    10: "oct okt ott out eki",
    11: "nov kas",
    12: "dec dez des dic ara",
}
_MONTH = {start: number for number, starts in _MONTHS.items() for start in starts.split()}
# A year that comes first is followed by the month everywhere; between points the day comes first.
_YEAR_FIRST = re.compile(
    r"(?P<year>\d{4})[-./年] ?(?P<month>\d\d?)[-./月] ?(?P<day>\d\d?)日?\D? *(?P<clock>.+)"
)
_POINTS = re.compile(r"(?P<day>\d\d?)\. ?(?P<month>\d\d?)\. ?(?P<year>\d{4}),? +(?P<clock>.+)")
_WORDS = re.compile(r"[^\W\d_]+|\d+")


def zoned(text: str) -> str:
    """``2026-04-26 17:34:00.861687000 Z`` made ``2026-04-26T17:34:00+00:00``; empty when it is no time.

    Fractions of a second are dropped, which is to the student's advantage.
    """
    found = _ZONED.fullmatch(text.strip())
    if not found:
        return ""
    year, month, day, hour, minute, second, utc, sign, hours, minutes = found.groups()
    offset = "+00:00" if utc else f"{sign}{hours:0>2}:{minutes or '00'}" if sign else ""
    return _time(f"{year}-{month:0>2}-{day:0>2}T{hour:0>2}:{minute}:{second}{offset}")


def dashed(text: str) -> str:
    """``2026-10-05-23-59-00`` made ``2026-10-05T23:59:00``; empty when it is no time."""
    found = _DASHED.fullmatch(text)
    return _time("{}-{}-{}T{}:{}:{}".format(*found.groups())) if found else ""


def spelled(text: str) -> str:
    """``Oct 5, 2026 1159 PM`` made ``2026-10-05T23:59:00``; empty when it isn't understood.

    The month's name may be in another language, before or after the day; hours are of 12 with AM or PM, or
    of 24. So are ``2026-10-05 2359`` and ``05.10.2026 2359`` read; what can be read in two ways, as
    ``05/10/2026``, is not.
    """
    plain = _plain(text)
    if found := _YEAR_FIRST.fullmatch(plain) or _POINTS.fullmatch(plain):
        clock = _clock(_WORDS.findall(found["clock"]))
        return _time(f"{found['year']}-{found['month']:0>2}-{found['day']:0>2}T{clock}:00")
    words = _WORDS.findall(plain)
    months = [number for word in words if (number := _month(word))]
    years = [i for i, word in enumerate(words) if re.fullmatch(r"(19|20)\d\d", word)]
    if len(months) != 1 or not years:
        return ""
    year = years[0]
    days = [word for word in words[:year] if word.isdecimal()]
    clock = _clock(words[year + 1 :])
    if len(days) != 1 or len(days[0]) > 2 or not clock:
        return ""
    return _time(f"{words[year]}-{months[0]:0>2}-{days[0]:0>2}T{clock}:00")


def seconds(time: str) -> float:
    """An ISO 8601 time as a number to compare with others of the same kind; -1 for an empty one."""
    if not time:
        return -1.0
    value = datetime.fromisoformat(time)
    # A time without an offset is compared with its like only, so that any one zone will do.
    return (value if value.tzinfo else value.replace(tzinfo=UTC)).timestamp()


def _plain(text: str) -> str:
    parts = unicodedata.normalize("NFKD", text.lower())
    return "".join(c for c in parts if not unicodedata.combining(c))


def _month(word: str) -> int:
    return _MONTH.get(word[:4]) or _MONTH.get(word[:3], 0)


def _clock(words: list[str]) -> str:
    """``1159 PM``, ``23 59`` or ``23h59`` as ``23:59``; empty when it is none of these."""
    digits = "".join(word if word.isdecimal() else " " for word in words).split()
    if len(digits) == 1 and 3 <= len(digits[0]) <= 4:
        hour, minute = int(digits[0][:-2]), digits[0][-2:]
    elif len(digits) in (2, 3) and len(digits[0]) <= 2 and len(digits[1]) == 2:
        hour, minute = int(digits[0]), digits[1]
    else:
        return ""
    # Spanish writes p. m., which comes as two words.
    half = "".join(word for word in words if not word.isdecimal())
    if half in ("am", "pm"):
        if not 1 <= hour <= 12:
            return ""
        hour = hour % 12 + (12 if half == "pm" else 0)
    return f"{hour:0>2}:{minute}"


def _time(text: str) -> str:
    try:
        return datetime.fromisoformat(text).isoformat()
    except ValueError:
        return ""
