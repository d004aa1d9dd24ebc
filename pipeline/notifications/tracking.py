"""Bounces and complaints that django-anymail's webhooks report."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from django.db.models.functions import Now

from pipeline.models import Email, EmailState

# What a provider reports, and the state and the problem that it means for us.
_MEANINGS = {
    "bounced": (EmailState.BOUNCED, "BOUNCED"),
    "rejected": (EmailState.FAILED, "REFUSED"),
    "failed": (EmailState.FAILED, "REFUSED"),
    "complained": (EmailState.COMPLAINED, "COMPLAINED"),
}


def start_tracking_emails() -> None:
    """Follow a provider's reports, if django-anymail is installed."""
    with suppress(ImportError):
        from anymail.signals import tracking

        tracking.connect(note_tracked_email, dispatch_uid="emails")


def note_tracked_email(sender: object, event: Any, **_: Any) -> None:
    """Record the fate of an email; reports about others, and good news, change nothing."""
    meaning = _MEANINGS.get(event.event_type)
    if meaning and event.message_id:
        state, problem = meaning
        taken = Email.objects.filter(message_id=event.message_id, state=EmailState.SENT)
        taken.update(state=state, problem=problem, state_at=Now())
