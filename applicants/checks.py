"""System checks of the environment, which `manage.py` runs before every command."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Warning, register

from applicants.mail import NOWHERE


@register("environment")
def check_that_mail_goes_somewhere(**_: Any) -> list[CheckMessage]:
    """Warn if emails are discarded, because no applicant can then sign in."""
    if settings.EMAIL_BACKEND != NOWHERE:
        return []
    hint = "Set EMAIL_URL, for example to smtp+tls://user:password@mail.example.com:587"
    return [Warning("No email is sent: applicants get no codes.", hint=hint, id="applicants.W001")]
