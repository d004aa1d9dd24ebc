"""One proof of an address verifies every application, also if some cannot be verified now."""

from __future__ import annotations

import pytest
from django.db import connection

from pipeline.services.joining import verify_applications
from tests.services.test_verify import A_DAY, unverified
from tests.support import factories
from tests.support.clock import let_time_pass
from tests.support.together import held_lock

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_line_that_is_too_busy_does_not_keep_the_others_unverified(
    caplog: pytest.LogCaptureFixture,
) -> None:
    person = factories.applicant()
    busy, free = (unverified(factories.job(), person) for _ in range(2))

    with connection.cursor() as cursor:
        cursor.execute("SET lock_timeout = 50")
    with held_lock(busy.job_id):
        assert verify_applications(person.id) == 1

    assert factories.fresh(free).is_verified
    assert not factories.fresh(busy).is_verified
    assert "its line is busy" in caplog.text


def test_what_ends_just_before_it_is_verified_does_not_keep_the_others_unverified() -> None:
    person = factories.applicant()
    late, fine = (unverified(factories.job(), person) for _ in range(2))
    let_time_pass(late.job_id, A_DAY)  # it is to be settled yet

    assert verify_applications(person.id) == 1

    assert factories.statuses(late, fine) == ["LAPSED", "PENDING_ACKNOWLEDGMENT"]


def test_who_takes_over_a_strangers_application_under_the_same_name_keeps_it() -> None:
    job_id = factories.job(capacity=2)
    person = factories.applicant(name="Ana Li")
    strangers = unverified(job_id, person)

    hers = factories.application(job_id, person)

    assert (hers.id, hers.name, hers.is_verified) == (strangers.id, "Ana Li", True)


def test_who_proves_the_address_verifies_everything_made_with_it() -> None:
    person = factories.applicant()
    jobs = [factories.job(), factories.job()]
    made = [unverified(job_id, person) for job_id in jobs]
    other = unverified(jobs[0])

    assert verify_applications(person.id) == 2
    assert verify_applications(person.id) == 0

    assert factories.statuses(*made, other) == ["PENDING_ACKNOWLEDGMENT"] * 2 + ["WAITLIST"]
