"""Emails about a seat that was accepted in advance: one, and neither an offer nor a reminder."""

from __future__ import annotations

from datetime import timedelta

import pytest

from pipeline.services.turns import preaccept
from tasks.models import Task
from tests.notifications import test_applicant_emails as emails
from tests.support import factories
from tests.support.applicants import leave
from tests.support.clock import database_now

pytestmark = pytest.mark.django_db(transaction=True)
notify = emails.notify


def test_a_seat_accepted_in_advance_is_told_once_and_nothing_watches_an_offer() -> None:
    seated, first = factories.applications(factories.job(), 2)
    emails.sent(2)
    until = database_now() + timedelta(days=1)
    preaccept(application_id=first.id, accept_until=until, actor=factories.owner_of(first))
    leave(seated)

    *_, message = emails.sent(3)
    assert message.to == [first.applicant.email]
    assert message.subject.startswith("You have a seat for")
    assert "said yes in advance" in str(message.body)
    assert not message.attachments
    assert emails.kinds(first.id) == [("APPLIED", "SENT"), ("ACKNOWLEDGED", "SENT")]
    assert not Task.objects.filter(type__key__in=["email.guard", "email.offer"]).exists()
