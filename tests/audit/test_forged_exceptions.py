"""Forged exceptions: only the company moves one person ahead, to the very front, and says so."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from pipeline.audit.verify import verify_job
from pipeline.domain.states import ExceptionReason
from pipeline.models import Application, Event, LineException
from pipeline.services.exceptions import move_ahead
from tests.audit.test_forged_logs import first_bad_seq, forge, set_data
from tests.support import factories
from tests.support.invariants import assert_line_is_sound

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def moved() -> Application:
    """Someone who passed two people by an exception."""
    *_, last = factories.applications(factories.job(), 4)
    reason = ExceptionReason.HARDSHIP
    return move_ahead(application_id=last.id, reason=reason, actor=factories.RECRUITER)


@pytest.mark.parametrize(
    "change",
    [
        set_data(ticket=1),
        set_data(ticket=-7),
        set_data(tie=4),
        set_data(people_passed=1),
        set_data(from_ticket=1),
        set_data(from_tie=1),
        set_data(exception="FRIENDSHIP"),
        set_data(decay_count=1),
        set_data(eligible_at="2126-01-01T00:00:00.000000Z"),
        set_data(not_before="2126-01-01T00:00:00.000000Z"),
        lambda row: row.data.pop("exception"),
        lambda row: setattr(row, "actor_kind", "SYSTEM"),
        lambda row: setattr(row, "actor_kind", "APPLICANT"),
    ],
)
def test_an_exception_that_says_or_does_anything_else_is_named(
    moved: Application, change: Callable[[Event], Any]
) -> None:
    assert_line_is_sound(moved.job_id)

    seq = forge(moved.job_id, "MOVED_AHEAD", change)

    assert first_bad_seq(moved.job_id) == seq


@pytest.mark.parametrize(
    "change", [{"people_passed": 1}, {"reason": "OTHER"}, {"from_ticket": 9}, {"seq": 2}]
)
def test_a_row_that_tells_others_than_the_log_is_a_difference(
    moved: Application, change: dict[str, Any]
) -> None:
    LineException.objects.update(**change)

    differences = verify_job(moved.job_id).differences

    assert all("exception" in each for each in differences)
    assert differences


def test_a_deleted_exception_and_a_lower_count_are_differences(moved: Application) -> None:
    LineException.objects.all().delete()
    factories.row_of(moved.job_id).__class__.objects.update(exception_count=0)

    assert len(verify_job(moved.job_id).differences) == 2
