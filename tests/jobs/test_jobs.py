"""Constraints of a job in the database, and staff accounts."""

from __future__ import annotations

import pytest
from django.db import IntegrityError

from jobs.models import Job, Membership, Role, User
from tests.support import factories

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("capacity", 0),
        ("capacity", 10_001),
        ("active_count", -1),
        ("pending_count", -1),
        ("waitlist_count", -1),
        ("head_ticket", 2),
        ("acknowledgment_window_seconds", 59),
        ("penalty_places", 1_001),
        ("max_decays", 101),
        ("cooldown_seconds", 0),
    ],
)
def test_a_job_out_of_range_cannot_be_stored(column: str, value: int) -> None:
    job_id = factories.job()

    with pytest.raises(IntegrityError):
        Job.objects.filter(id=job_id).update(**{column: value})


@pytest.mark.parametrize("capacity", [1, 10_000])
def test_a_job_has_between_one_and_ten_thousand_seats(capacity: int) -> None:
    row = factories.row_of(factories.job(capacity=capacity))

    assert (row.capacity, row.seats_free) == (capacity, capacity)


def test_seats_free_is_never_less_than_none_while_a_lowering_drains() -> None:
    job_id = factories.job(capacity=3)
    factories.applications(job_id, 3)
    factories.alter(job_id, capacity=1)

    assert factories.row_of(job_id).seats_free == 0


def test_a_member_has_one_role_in_a_company() -> None:
    company, user = factories.company(), factories.UserFactory.create(password=None)
    Membership.objects.create(company=company, user=user, role=Role.VIEWER)

    with pytest.raises(IntegrityError):
        Membership.objects.create(company=company, user=user, role=Role.OWNER)


def test_staff_are_known_by_their_address_whatever_its_case() -> None:
    user = User.objects.create_user(" Grace@Example.ORG ", "correct horse")

    assert user.email == "grace@example.org"
    assert user.check_password("correct horse")
    assert not user.is_superuser


def test_the_one_who_keeps_the_back_office_is_made_as_such() -> None:
    user = User.objects.create_superuser("root@example.org", "correct horse")

    assert (user.is_staff, user.is_superuser) == (True, True)
