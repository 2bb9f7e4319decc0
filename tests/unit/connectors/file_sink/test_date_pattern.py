"""Java's date patterns; the expected texts follow the documentation of ``DateTimeFormatter``."""

from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from penstock.connectors.files.sink.bucket_assigner import DateTimeBucketAssigner
from penstock.connectors.files.sink.bucket_date_pattern import date_pattern
from penstock.errors import ProgramError

TIME = datetime(2020, 3, 5, 15, 4, 9, 87_000, tzinfo=UTC)  # a Thursday


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("yyyy-MM-dd--HH", "2020-03-05--15"),
        ("uuuu/M/d", "2020/3/5"),
        ("yy", "20"),
        ("HH:mm:ss.SSS", "15:04:09.087"),
        ("SSSSSS", "087000"),
        ("h a", "3 PM"),
        ("KK kk", "03 15"),
        ("EEE EEEE", "Thu Thursday"),
        ("MMM MMMM", "Mar March"),
        ("D DDD", "65 065"),
        ("Q", "1"),
        ("'year='yyyy/'month='MM", "year=2020/month=03"),
        ("yyyy'T'HH 'o''clock' ''", "2020T15 o'clock '"),
        ("X x Z", "Z +00 +0000"),
        ("A", str((15 * 3600 + 4 * 60 + 9) * 1000 + 87)),
    ],
)
def test_letters(pattern, text):
    assert date_pattern(pattern)(TIME) == text


def test_zones():
    time = TIME.astimezone(ZoneInfo("Asia/Kolkata"))
    assert date_pattern("HH:mm XXX XX Z VV")(time) == "20:34 +05:30 +0530 +0530 Asia/Kolkata"


@pytest.mark.parametrize(
    ("pattern", "problem"), [("yyyy-bb", "'b'"), ("'open", "not closed"), ("yyyy[MM]", "reserves")]
)
def test_mistakes_are_named(pattern, problem):
    with pytest.raises(ProgramError, match=problem):
        DateTimeBucketAssigner(pattern)


def test_unknown_zones_are_named():
    with pytest.raises(ProgramError, match="Europe/Atlantis"):
        DateTimeBucketAssigner(timezone_id="Europe/Atlantis")


def test_buckets_change_with_the_unit_of_the_pattern():
    by_second = DateTimeBucketAssigner("HHmmss", "UTC")
    assert [by_second.bucket_at(now) for now in (0, 999, 1000)] == ["000000", "000000", "000001"]
    by_milli = DateTimeBucketAssigner("SSS", "UTC")
    assert [by_milli.bucket_at(now) for now in (0, 999, 1000)] == ["000", "999", "000"]
