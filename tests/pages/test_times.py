"""Times on pages: as short as is clear, and to the second where seconds decide."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.utils import timezone

from pipeline.templatetags.line import tag_at


@pytest.mark.parametrize("seconds", [-300, -1, 1, 59, 500])
def test_a_near_time_has_seconds(seconds: int) -> None:
    assert re.search(
        r">\w{3} \d+ \w{3}, \d\d:\d\d:\d\d \(", tag_at(timezone.now() + timedelta(0, seconds))
    )


@pytest.mark.parametrize("hours", [-400, -1, 1, 24])
def test_a_far_time_has_none(hours: int) -> None:
    assert re.search(
        r", \d\d:\d\d \([^)]+\)</time>$", tag_at(timezone.now() + timedelta(hours=hours))
    )


def test_no_time_is_never() -> None:
    assert tag_at(None) == "never"
