"""Emails that people can do without, and their end."""

from __future__ import annotations

from uuid import UUID

from applicants.preferences import stop_reminders_to_applicant
from jobs.team import choose_team_member_emails

REMINDERS, DIGEST, ALERTS = "reminders", "digest", "alerts"
WORDS = {
    REMINDERS: "reminders of deadlines",
    DIGEST: "the daily digest",
    ALERTS: "alerts",
}


def stop_subscription(what: str, of: str) -> None:
    """Send a person no more emails of a kind; `of` is the id of an applicant or a membership."""
    if what == REMINDERS:
        stop_reminders_to_applicant(UUID(of))
    else:
        choose_team_member_emails(membership_id=int(of), **{what: False})
