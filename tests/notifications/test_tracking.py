"""A provider of django-anymail: its id is kept, and its bounces and complaints reach the page."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from anymail.signals import AnymailTrackingEvent, tracking
from anymail.webhooks.base import AnymailBaseWebhookView

from pipeline.models import Email
from pipeline.notifications.applicants import start_tracking_emails
from tests.support import factories
from tests.support.task_runs import run_due_tasks

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def sent(settings: Any) -> Email:
    """An email that the provider has taken."""
    start_tracking_emails()
    settings.NOTIFY = True
    settings.EMAIL_BACKEND = "anymail.backends.test.EmailBackend"
    factories.application(factories.job())
    run_due_tasks()
    return Email.objects.get()


def report(email: Email, kind: str, message_id: str = "") -> None:
    event = AnymailTrackingEvent(
        event_type=kind,
        timestamp=datetime.now(UTC),
        message_id=message_id or email.message_id,
        recipient="ana@example.org",
    )
    tracking.send(sender=AnymailBaseWebhookView, event=event, esp_name="test")
    email.refresh_from_db()


def test_the_providers_id_is_kept(sent: Email) -> None:
    assert sent.state == "SENT"
    assert sent.message_id
    assert not sent.message_id.startswith("<")


@pytest.mark.parametrize(
    ("kind", "state", "problem"),
    [
        ("bounced", "BOUNCED", "BOUNCED"),
        ("complained", "COMPLAINED", "COMPLAINED"),
        ("rejected", "FAILED", "REFUSED"),
        ("delivered", "SENT", ""),
        ("opened", "SENT", ""),
    ],
)
def test_what_the_provider_reports_shows_on_the_application(
    sent: Email, kind: str, state: str, problem: str
) -> None:
    report(sent, kind)

    assert (sent.state, sent.problem) == (state, problem)


def test_reports_about_unknown_emails_change_nothing(sent: Email) -> None:
    report(sent, "bounced", "someone else's")

    assert sent.state == "SENT"
