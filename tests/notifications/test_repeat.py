"""Emails that a company has sent again, and those that make no sense a second time."""

from __future__ import annotations

import pytest

from applicants.models import ERASED, Applicant
from pipeline.domain.errors import EmailNotRepeatable
from pipeline.models import Email
from pipeline.notifications.companies import repeat_email
from tests.notifications.test_applicant_emails import notify, promote, sent
from tests.support.applicants import confirm

__all__ = ["notify"]
pytestmark = pytest.mark.django_db(transaction=True)


def again(row: Email) -> None:
    """A member has an email sent again."""
    repeat_email(application_id=row.application_id, email_id=row.id, producer="member:x")


def test_an_email_is_sent_again_as_one_of_its_own() -> None:
    waiting = promote()
    sent(1)
    row = Email.objects.get(application_id=waiting.id, kind="PROMOTED")

    again(row)

    first, second = sent(2)
    assert first.extra_headers["Message-ID"] != second.extra_headers["Message-ID"]
    assert [each.number for each in Email.objects.filter(kind="PROMOTED").order_by("number")] == [
        0,
        1,
    ]


@pytest.mark.parametrize("why", ["QUEUED", "reminder", "over", "erased", "often"])
def test_what_makes_no_sense_is_not_sent_again(why: str) -> None:
    waiting = promote()
    sent(1)
    row = Email.objects.get(application_id=waiting.id, kind="PROMOTED")
    if why == "QUEUED":
        Email.objects.filter(id=row.id).update(state="QUEUED")
    elif why == "reminder":
        Email.objects.filter(id=row.id).update(kind="REMINDER_HALF")
    elif why == "over":
        confirm(waiting)
    elif why == "erased":
        Applicant.objects.filter(id=waiting.applicant_id).update(email=f"{ERASED}x")
    else:
        Email.objects.filter(id=row.id).update(number=5)

    with pytest.raises(EmailNotRepeatable):
        again(row)
