"""The order of a line: (ticket, tie), drawn under the job's lock. Nothing is ever renumbered."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pipeline.line.locked_job import LockedJob


def draw(job: LockedJob, misses: int) -> tuple[int, int]:
    """The place of somebody who joins the waitlist with the event that is recorded next.

    Without a miss: the next ticket, which is then used up. With misses: so many places behind the
    back, and no ticket is used up, so that exactly that many later newcomers pass, and nobody who
    waits already loses a place. The tie is the event's seq: the order is total.
    """
    tie = job.seq + 1
    if misses:
        return job.next_ticket + job.policy.places_lost(misses), tie
    job.next_ticket += 1
    return job.next_ticket - 1, tie


def head_after_promoting(job: LockedJob, last_promoted: int, first_skipped: int | None) -> int:
    """From which ticket the next promotion has to look.

    Never more than the next ticket or any waiting person's: a miss can give a ticket beyond the
    next newcomer's, and somebody in a cool-down stays behind when later people are promoted. (The
    obvious rule, the last promoted ticket, passes over both.)
    """
    bounds = [last_promoted, job.next_ticket]
    if first_skipped is not None:
        bounds.append(first_skipped)
    return min(bounds)
