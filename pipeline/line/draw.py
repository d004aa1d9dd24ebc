"""Draw of the order of a job's first line, under its lock, at the announced time."""

from __future__ import annotations

from typing import Any

from jobs.models import JobStatus
from pipeline.domain.draw import ALGORITHM, draw_seed, drawn_order
from pipeline.domain.states import SYSTEM, EventType, Move
from pipeline.line import sql
from pipeline.line.effects import ticket_as_effect
from pipeline.line.event_log import logged_time
from pipeline.line.lock import locked_application
from pipeline.line.locked_job import LockedJob
from pipeline.line.moves import make_job_move, make_move
from pipeline.line.round_trips import fetch_in_one_trip
from pipeline.line.write import write

# Everyone on the waitlist.
_READ_ALL_WAITING = f"""
SELECT {", ".join(sql.APPLICATION)} FROM pipeline_application
WHERE job_id = %(job)s AND status = 'WAITLIST'
"""  # noqa: S608


def draw_if_due(job: LockedJob) -> int | None:
    """Draw and write the order of everyone on the waitlist, once; return the draw's seq, or None.

    One event names the seed, which is computed from the chain's head before it and from its time.
    Then a separate event places each person, in the drawn order. Unverified people are placed too:
    they keep the place until they prove the address. A draw that is not due makes the job due
    then.
    """
    if not job.awaits_draw or job.draw_at is None or job.status is JobStatus.DRAFT:
        return None
    if job.draw_at > job.now:
        job.note_due(job.draw_at)
        return None
    (rows,) = fetch_in_one_trip(_READ_ALL_WAITING, parameters={"job": job.id})
    read = [job.attach(locked_application(row)) for row in rows]
    people = {each.id: each for each in read if each.ticket is not None}  # not who has just lapsed
    seed, job.drawn_at = draw_seed(bytes(job.chain_head), logged_time(job.now)), job.now
    facts = {"seed": seed.hex(), "algorithm": ALGORITHM, "drawn": len(people)}
    entry = make_job_move(job, EventType.DRAWN, actor=SYSTEM, effective_at=job.draw_at, facts=facts)
    job.head_ticket = job.next_ticket
    why: Any = {"cause_seq": entry.seq, "effective_at": job.draw_at}
    for application_id in drawn_order(seed, job.id, people):
        application = people[application_id]
        application.ticket, application.tie = ticket_as_effect(job, 0)
        make_move(job, application, Move.PLACE, **why)
    job.freed_by.clear()  # the draw opens the seats
    write(job)  # the order that seats are filled by is read from the rows
    return entry.seq
