"""What follows when somebody leaves a line, said before they do."""

from __future__ import annotations

from jobs.models import Job, JobStatus
from pipeline.pages.applicant.application_card import Card


def what_if_withdrawn(card: Card) -> str:
    """What becomes of the place, or of the seat, of who withdraws now."""
    if card.state == "waiting":
        return _place(card.seen.position or 1, card.seen.people_waiting)
    if card.state == "late":
        return "The time to confirm is over, and the seat is not yours any more."
    has = "You have a seat." if card.state == "active" else "A seat is on offer to you."
    return f"{has} {_seat(card.job)}"


def _place(position: int, waiting: int) -> str:
    where = f"You are number {position:,} of {waiting:,} in line."
    if position >= waiting:
        return f"{where} Nobody is behind you."
    return f"{where} If you withdraw, everybody behind you moves up."


def _seat(job: Job) -> str:
    """After settling, seats are free in an open job only if nobody who waits can be offered one."""
    if job.status == JobStatus.CLOSED:
        return "The job is closed: if you withdraw, nobody else is offered the seat."
    if job.active_count + job.pending_count > job.capacity:
        return (
            "The job has fewer seats than before: if you withdraw, this one is not offered again."
        )
    if job.status == JobStatus.PAUSED:
        return "The job is paused: if you withdraw, the seat stays free until the job goes on."
    if not job.waitlist_count:
        return "Nobody waits now: if you withdraw, the seat is free for who applies next."
    if job.seats_free:
        return (
            "Everybody who waits is in the pause after a missed deadline: if you withdraw, the seat"
            " stays free until the first pause is over or somebody applies."
        )
    return (
        "If you withdraw, it is offered at once to the first in line who is not in the pause after"
        " a missed deadline."
    )
