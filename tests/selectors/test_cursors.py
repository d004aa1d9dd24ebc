"""Cursors: what goes in comes out, and anything else is None."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import Any
from uuid import UUID

import pytest

from pipeline.selectors.pages import LARGEST, decode_cursor, encode_cursor

ID = UUID("018f0000-0000-7000-8000-000000000001")
MOMENT = datetime(2026, 3, 1, 12, 0, 0, 5, tzinfo=UTC)


def test_a_cursor_gives_back_its_values() -> None:
    cursor = encode_cursor(MOMENT, ID, 7, "pending")

    assert decode_cursor(cursor, datetime, UUID, int, str) == (MOMENT, ID, 7, "pending")


def test_a_time_with_another_offset_comes_back_in_utc() -> None:
    elsewhere = MOMENT.astimezone(timezone(timedelta(hours=-8)))

    [found] = decode_cursor(encode_cursor(elsewhere), datetime) or ()

    assert (found, found.tzinfo) == (MOMENT, UTC)


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("", (int,)),
        ("~", (int,)),
        ("é", (int,)),
        ("bnVsbA", (int,)),
        (encode_cursor(1, 2), (int,)),
        (encode_cursor("1"), (int,)),
        (encode_cursor(LARGEST + 1), (int,)),
        (encode_cursor(-LARGEST - 1), (int,)),
        (encode_cursor(True), (int,)),
        (encode_cursor(1), (str,)),
        (encode_cursor("a\0"), (str,)),
        (encode_cursor("me"), (UUID,)),
        (encode_cursor(str(ID).upper()), (UUID,)),
        (encode_cursor("2026-03-01T12:00:00"), (datetime,)),
        (encode_cursor("0001-01-01T00:00:00+14:00"), (datetime,)),
    ],
)
def test_anything_else_is_no_cursor(text: str, kinds: tuple[Any, ...]) -> None:
    assert decode_cursor(text, *kinds) is None
