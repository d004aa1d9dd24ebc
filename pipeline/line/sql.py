"""Columns and parts of SQL that several statements of the line share."""

from __future__ import annotations

from jobs.policies import POLICY_FIELDS
from pipeline.models import Application

# Columns of the job's row that a change reads.
HOT = (
    "id company_id status capacity active_count pending_count waitlist_count unverified_count "
    "next_ticket head_ticket seq chain_head next_due_at policy_version form_version opened_at "
    "closed_at last_event_at last_txid is_test clock_offset_seconds draw_at drawn_at "
    "positions_to_fill hired_count exception_count opens_at closes_at "
    "reserved_seats reserved_for reserved_count reserved_until"
).split() + list(POLICY_FIELDS)

APPLICATION: list[str] = [field.attname for field in Application._meta.concrete_fields]
APPLICATION_COLUMNS = ", ".join(APPLICATION)

# The time zone of an application's person, by which quiet hours go, after its columns.
TIME_ZONE = "(SELECT time_zone FROM applicants_applicant WHERE id = applicant_id)"


def count_people_ahead(ticket: str, tie: str) -> str:
    """Return SQL that counts the verified people before a place in the line of `job`.

    It counts the nearer side, the people ahead or all the others, on the index of the waitlist's
    order. Each side also names its first ticket; otherwise the index would be read from the line's
    first ticket, past the entries of everyone who was promoted.
    """
    side = """(
        SELECT count(*) FROM pipeline_application other
        WHERE other.job_id = job.id AND other.status = 'WAITLIST'
          AND other.ticket >= {first} AND (other.ticket, other.tie) {which} ({ticket}, {tie})
    )"""
    ahead = side.format(first="job.head_ticket", which="<", ticket=ticket, tie=tie)
    behind = side.format(first=ticket, which=">=", ticket=ticket, tie=tie)
    return f"""
    CASE WHEN {ticket} - job.head_ticket <= job.next_ticket - {ticket}
         THEN {ahead} ELSE job.waitlist_count - {behind} END - (
        SELECT count(*) FROM pipeline_application other
        WHERE other.job_id = job.id AND other.status = 'WAITLIST' AND other.verify_by IS NOT NULL
          AND (other.ticket, other.tie) < ({ticket}, {tie})
    )
    """
