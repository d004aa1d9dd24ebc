"""What `manage.py` says before every command if it is not in order."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Warning, register

from applicants.mail import NOWHERE


@register
def mail_goes_somewhere(**_: Any) -> list[CheckMessage]:
    """Warn when mails are thrown away: then nobody can sign in as an applicant."""
    if settings.EMAIL_BACKEND != NOWHERE:
        return []
    hint = "Set EMAIL_URL, for example to smtp+tls://user:password@mail.example.com:587"
    return [Warning("No mail is sent: codes reach nobody.", hint=hint, id="applicants.W001")]
