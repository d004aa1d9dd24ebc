"""What a button of the company's pages will do, and what it did, in words with names. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from jobs.models import Job, JobStatus
from pipeline.selectors.board import LOOKED_AHEAD
from pipeline.wording.english import count, joined, people, plural
from pipeline.wording.event_words import UNFILLED_SEATS

MOVED_ON = (
    "The line has moved on since this page was shown, so something else follows now. Read what the"
    " button says, and press it again if that is what you want."
)


def together(names: Sequence[str], total: int) -> str:
    """Names in a row, and how many more there are: Ana Li, Bo Berg and 3 more."""
    shown = [name or "somebody without a name" for name in names]
    more = total - len(shown)
    if more > 0:
        shown.append(f"{more:,} more")
    return joined(shown)


def are_promoted(names: Sequence[str], total: int) -> str:
    """Ana Li is promoted, or Ana Li and Bo Berg are promoted."""
    return f"{together(names, total)} {plural(total, 'is', 'are')} promoted"


def were_promoted(names: Sequence[str], total: int) -> str:
    """A sentence about who has just been promoted; nothing if nobody was."""
    if not total:
        return ""
    return f" {together(names, total)} {plural(total, 'was', 'were')} promoted."


def when_a_seat_opens(job: Job, next_name: str | None) -> str:
    """What follows when somebody leaves a seat of a job now."""
    if idle := UNFILLED_SEATS.get(JobStatus(job.status)):
        return idle
    held = job.active_count + job.pending_count - 1
    if held >= job.capacity:
        still = (
            f"{people(held)} still {plural(held, 'holds', 'hold')} {count(job.capacity, 'seat')}"
        )
        return f"nobody is promoted, {still}"
    if next_name is not None:
        return f"{together([next_name], 1)} is offered the seat"
    if job.waitlist_count > LOOKED_AHEAD:
        return "the seat goes to the first in line who is not in a cool-down"
    if job.waitlist_count:
        return "the seat stays free until a cool-down ends"
    return "the seat stays free for who applies next"


def of_capacity(job: Job, capacity: int, names: Sequence[str]) -> str:
    """What follows when a job gets that many seats; `names`: the first who could be promoted."""
    held = job.active_count + job.pending_count
    if capacity < held:
        over = held - capacity
        return (
            f"{people(over)} more than that {plural(over, 'holds', 'hold')} a seat now. Nobody"
            f" loses it: the job drains, and nobody is promoted until {people(over + 1)} have left."
        )
    added = min(capacity - held, job.waitlist_count)
    if capacity <= job.capacity or added <= 0:
        return "Nobody is promoted and nobody loses a seat by this."
    if job.status != JobStatus.OPEN:
        return "The job is not open, so nobody is promoted by this now."
    if not names and job.waitlist_count > LOOKED_AHEAD:
        return f"The first who are in no cool-down are promoted at once: {people(added)} or fewer."
    if not names:
        return "All who wait are in a cool-down, so nobody is promoted at once."
    if len(names) < added and job.waitlist_count > LOOKED_AHEAD:
        return f"Up to {people(added)} are promoted at once, beginning with {names[0]}."
    total = min(added, len(names))
    return f"{are_promoted(names[: min(3, total)], total)} at once."
