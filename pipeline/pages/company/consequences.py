"""Sentences that say, with names, what a button will do or has done. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from jobs.models import Job, JobStatus
from pipeline.selectors.board import LOOKED_AHEAD

MOVED_ON = (
    "The line has moved on since you opened this page, so the consequences have changed. Read them"
    " again before you confirm."
)

IDLE = {
    JobStatus.PAUSED: "the seat stays free while the job is paused",
    JobStatus.CLOSED: "the job is closed, so nobody else gets the seat",
}


def together(names: Sequence[str], count: int) -> str:
    """Join names and count the rest: Ana Li, Bo Berg and 3 more."""
    shown = [name or "someone without a name" for name in names]
    more = count - len(shown)
    if more > 0:
        shown.append(f"{more:,} more")
    if len(shown) < 2:
        return "".join(shown)
    return f"{', '.join(shown[:-1])} and {shown[-1]}"


def are_promoted(names: Sequence[str], count: int) -> str:
    """Say who is promoted: Ana Li is promoted, Ana Li and Bo Berg are promoted."""
    return f"{together(names, count)} {'is' if count == 1 else 'are'} promoted"


def were_promoted(names: Sequence[str], count: int) -> str:
    """Return a sentence on who has just been promoted, or an empty string."""
    if not count:
        return ""
    return f" {together(names, count)} {'was' if count == 1 else 'were'} promoted."


def when_a_seat_opens(job: Job, next_name: str | None) -> str:
    """Describe the consequence of a person leaving a seat now."""
    if idle := IDLE.get(JobStatus(job.status)):
        return idle
    held = job.active_count + job.pending_count - 1
    if held >= job.capacity:
        still = f"{people(held)} still {'holds' if held == 1 else 'hold'} {seats(job.capacity)}"
        return f"nobody is promoted: {still}"
    if next_name is not None:
        return f"{together([next_name], 1)} is offered the seat"
    if job.waitlist_count > LOOKED_AHEAD:
        return "the seat goes to the first person in line who is not in a cool-down"
    if job.waitlist_count:
        return "the seat stays free until a cool-down ends"
    return "the seat stays free for the next applicant"


def seats(count: int) -> str:
    """Count seats: 1 seat, 2 seats."""
    return f"{count:,} seat{'' if count == 1 else 's'}"


def people(count: int) -> str:
    """Count people: 1 person, 2 people."""
    return f"{count:,} {'person' if count == 1 else 'people'}"


def of_capacity(job: Job, capacity: int, names: Sequence[str]) -> str:
    """Describe the consequence of a new number of seats.

    `names` are the first people who could be promoted, in order.
    """
    held = job.active_count + job.pending_count
    if capacity < held:
        over = held - capacity
        return (
            f"{people(held)} {'holds' if held == 1 else 'hold'} a seat now, {over:,} more than that"
            " allows. Nobody loses a seat: the job drains, and nobody is promoted until"
            f" {people(over + 1)} have left."
        )
    added = min(capacity - held, job.waitlist_count)
    if capacity <= job.capacity or added <= 0:
        return "Nobody is promoted, and nobody loses a seat."
    if job.status != JobStatus.OPEN:
        return "The job is not open, so nobody is promoted now."
    if not names and job.waitlist_count > LOOKED_AHEAD:
        return f"The first people who are not in a cool-down are promoted at once, up to {added:,}."
    if not names:
        return "Everyone waiting is in a cool-down, so nobody is promoted yet."
    if len(names) < added and job.waitlist_count > LOOKED_AHEAD:
        return f"Up to {people(added)} are promoted at once, starting with {names[0]}."
    count = min(added, len(names))
    return f"{are_promoted(names[: min(3, count)], count)} at once."
