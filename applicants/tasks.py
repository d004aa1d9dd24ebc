"""Task handler of private emails: sign-in codes and invitations."""

from __future__ import annotations

from uuid import UUID

from applicants import mail
from tasks.registry import task_type
from tasks.retry import Backoff


def give_up_private_email(email: UUID) -> None:
    mail.drop_private_email(email)


@task_type(
    key=mail.PRIVATE,
    queue="email",
    timeout_seconds=60,
    max_attempts=10,
    trusted_short=True,
    urgent=True,
    waits_for_service=True,
    backoff=Backoff(base_seconds=2, cap_seconds=120, jitter_seconds=1),
    on_fail=give_up_private_email,
)
def send_private_email(email: UUID) -> dict[str, str]:
    """Send a stored email: {"outcome"} is sent, refused, expired or unreadable."""
    return {"outcome": mail.send_private_email(email)}
