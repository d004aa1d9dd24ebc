"""Emails about an offer whose deadline was extended: they agree, and end with the offer."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from pipeline.domain.errors import EmailNotRepeatable
from pipeline.models import Email
from pipeline.services.turns import extend_deadline, extend_offer
from tests.notifications.test_applicant_emails import notify, promote, sent
from tests.notifications.test_repeat import again as send_again
from tests.support import factories
from tests.support.applicants import confirm
from tests.support.clock import let_time_pass

__all__ = ["notify"]
pytestmark = pytest.mark.django_db(transaction=True)


def calendar_of(message: Any) -> str:
    """The file for calendars of a mail, with its long lines joined."""
    return message.attachments[0].get_payload(decode=True).decode().replace("\r\n ", "")


@pytest.mark.parametrize("again", [False, True])
def test_an_offer_sent_after_an_extension_names_one_deadline(again: bool) -> None:
    waiting = promote()
    if again:
        sent(1)
    extend_deadline(application_id=waiting.id, seconds=factories.WINDOW)
    if again:
        send_again(Email.objects.get(kind="PROMOTED"))

    offers = [each for each in sent(3 if again else 2) if "Your turn" in each.subject]

    deadline = factories.fresh(waiting).acknowledge_by
    assert deadline is not None
    assert f"{deadline:%H:%M}" in offers[-1].subject
    assert f"DTEND:{deadline:%Y%m%dT%H%M%SZ}" in calendar_of(offers[-1])
    assert "SEQUENCE:1" in calendar_of(offers[-1])


@pytest.mark.parametrize("ending", ["confirmed", "missed"])
def test_more_time_is_not_told_once_the_offer_is_over(ending: str) -> None:
    waiting = promote()
    sent(1)
    extend_deadline(application_id=waiting.id, seconds=60)
    if ending == "confirmed":
        confirm(waiting)
    else:
        let_time_pass(waiting.job_id, factories.WINDOW + 60)
        factories.settle_all()

    subjects = [message.subject for message in sent(2)]

    assert not any("More time" in subject for subject in subjects)
    row = Email.objects.get(application_id=waiting.id, kind="DEADLINE_EXTENDED")
    assert (row.state, row.problem) == ("FAILED", "OVER")
    with pytest.raises(EmailNotRepeatable):
        send_again(row)


def give(waiting: Any, hours: int) -> None:
    """Let the company extend the offer by some hours."""
    deadline = factories.fresh(waiting).acknowledge_by
    assert deadline is not None
    until = deadline + timedelta(hours=hours)
    extend_offer(application_id=waiting.id, acknowledge_by=until, actor=factories.RECRUITER)


def test_more_time_from_the_company_is_told_with_a_new_entry_for_calendars() -> None:
    waiting = promote()
    sent(1)
    give(waiting, 1)

    [*_, message] = sent(2)

    deadline = factories.fresh(waiting).acknowledge_by
    assert deadline is not None
    assert message.subject.startswith("More time: confirm your seat")
    assert f"{deadline:%H:%M}" in message.subject
    assert "The company gave you more time" in message.body
    assert "no fault" not in message.body
    assert f"DTEND:{deadline:%Y%m%dT%H%M%SZ}" in calendar_of(message)
    assert "SEQUENCE:1" in calendar_of(message)
    give(waiting, 1)
    assert "SEQUENCE:2" in calendar_of(sent(3)[-1])


def test_of_two_extensions_before_an_email_only_the_last_deadline_is_told() -> None:
    waiting = promote()
    sent(1)
    give(waiting, 1)
    give(waiting, 2)

    told = [each.subject for each in sent(2) if "More time" in each.subject]

    deadline = factories.fresh(waiting).acknowledge_by
    assert deadline is not None
    assert len(told) == 1
    assert f"{deadline:%H:%M}" in told[0]


def test_the_end_of_an_offer_takes_the_last_entry_out_of_calendars() -> None:
    waiting = promote()
    sent(1)
    for _ in range(5):
        give(waiting, 1)
    extend_deadline(application_id=waiting.id, seconds=60)
    confirm(waiting)

    cancelled = calendar_of(sent(2)[-1])

    assert "METHOD:CANCEL" in cancelled
    assert "SEQUENCE:7" in cancelled
