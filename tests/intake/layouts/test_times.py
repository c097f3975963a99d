"""Times of submission as platforms write them."""

from __future__ import annotations

import calendar
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.intake.layouts.times import dashed, seconds, spelled, zoned

AROUND = st.datetimes(datetime(1990, 1, 1), datetime(2099, 12, 31))


@pytest.mark.parametrize(
    ("text", "time"),
    [
        ("2026-04-26 17:34:00.861687000 Z", "2026-04-26T17:34:00+00:00"),
        ("2026-04-26 17:34:00 -07:00", "2026-04-26T17:34:00-07:00"),
        ("2026-04-26T17:34:00.123+0530", "2026-04-26T17:34:00+05:30"),
        ("2026-04-26 17:34:00 +02", "2026-04-26T17:34:00+02:00"),
        ("2026-4-6 7:34:00 UTC", "2026-04-06T07:34:00+00:00"),
        ("2026-04-26 17:34:00", "2026-04-26T17:34:00"),
        ("2026-02-30 17:34:00 Z", ""),
        ("2026-04-26 25:34:00 Z", ""),
        ("2026-04-26 17:34:00 +99:00", ""),
        ("2026-04-26", ""),
        ("yesterday", ""),
        ("", ""),
    ],
)
def test_times_with_an_offset(text: str, time: str) -> None:
    assert zoned(text) == time


@pytest.mark.parametrize(
    ("text", "time"),
    [
        ("Oct 5, 2026 1159 PM", "2026-10-05T23:59:00"),
        ("Oct 5, 2026 1205 AM", "2026-10-05T00:05:00"),
        ("Oct 5, 2026 1205 PM", "2026-10-05T12:05:00"),
        ("Oct 5, 2026 900 AM", "2026-10-05T09:00:00"),
        ("October 5, 2026 9 05 AM", "2026-10-05T09:05:00"),
        ("5 October, 2026 2359", "2026-10-05T23:59:00"),
        ("5. Okt. 2026 2359", "2026-10-05T23:59:00"),
        ("5 oct. 2026 23 h 59", "2026-10-05T23:59:00"),
        ("5 octobre 2026 23h59", "2026-10-05T23:59:00"),
        ("5 de outubro de 2026 2359", "2026-10-05T23:59:00"),
        ("5 oct 2026 1159 p. m.", "2026-10-05T23:59:00"),
        ("3 août 2026 804", "2026-08-03T08:04:00"),
        ("3 déc. 2026 0804", "2026-12-03T08:04:00"),
        ("31 mrt. 2026 0804", "2026-03-31T08:04:00"),
        ("9 Mär 2026 0804", "2026-03-09T08:04:00"),
        ("2 Şub 2026 0804", "2026-02-02T08:04:00"),
        ("2 juin 2026 0804", "2026-06-02T08:04:00"),
        ("2 juil. 2026 0804", "2026-07-02T08:04:00"),
        ("2 Ağu 2026 0804", "2026-08-02T08:04:00"),
        ("2026-10-05 2359", "2026-10-05T23:59:00"),
        ("2026-10-05, 1159 PM", "2026-10-05T23:59:00"),
        ("2026.10.5 2359", "2026-10-05T23:59:00"),
        ("2026年10月5日 2359", "2026-10-05T23:59:00"),
        ("05.10.2026 2359", "2026-10-05T23:59:00"),
        ("5. 10. 2026, 23 59", "2026-10-05T23:59:00"),
        ("2026-13-05 2359", ""),
        ("05.13.2026 2359", ""),
        ("2026-10-05", ""),
        # Read in two ways, or no time at all.
        ("05-10-2026 1159", ""),
        ("Oct 5, 2026", ""),
        ("Oct 35, 2026 1159 PM", ""),
        ("Oct 5, 2026 1359 PM", ""),
        ("Oct 5, 2026 1199 AM", ""),
        ("Oct Nov 5, 2026 1159 PM", ""),
        ("Jane Doe", ""),
        ("²³ Oct 2026 ²³", ""),
        ("", ""),
    ],
)
def test_times_in_words(text: str, time: str) -> None:
    assert spelled(text) == time


@given(AROUND)
def test_every_minute_is_read_back(time: datetime) -> None:
    month = calendar.month_abbr[time.month]
    minute = time.replace(second=0, microsecond=0).isoformat()
    half = "AM" if time.hour < 12 else "PM"
    assert spelled(f"{month} {time.day}, {time.year} {time.hour % 12 or 12}{time:%M} {half}") == minute
    assert spelled(f"{time.day} {month} {time.year} {time:%H%M}") == minute
    assert dashed(f"{time:%Y-%m-%d-%H-%M-%S}") == time.replace(microsecond=0).isoformat()


@given(st.text(max_size=40) | st.text("0123456789 :-.,ZTOctAPM", max_size=40))
def test_no_text_makes_reading_fail(text: str) -> None:
    for time in (zoned(text), dashed(text), spelled(text)):
        assert time == "" or datetime.fromisoformat(time)


@given(AROUND, AROUND)
def test_times_compare_as_numbers(first: datetime, second: datetime) -> None:
    assert (seconds(first.isoformat()) < seconds(second.isoformat())) == (first < second)
    assert seconds(first.replace(tzinfo=UTC).isoformat()) == seconds(first.isoformat())
    assert seconds("") == -1.0
