"""Comparing a job's rows, log and replay with the model. The model's clock never goes back, while
the rows are shifted into the past: `passed` is by how much, in all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from datetime import datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from uuid import UUID

from jobs.models import Job
from pipeline.audit.archive import archive_log, replay_archived_log
from pipeline.audit.verify import Line, replay
from pipeline.line.event_log import LogEntry
from pipeline.line.locked_job import LockedJob
from pipeline.models import Application, ApplicationRow, Event, LineException
from pipeline.notifications.overtaken import read_passed
from pipeline.selectors.exceptions import read_exceptions_passing
from pipeline.selectors.past import PastPlace
from tests.properties.model import Model
from tests.properties.standing import Standing


def assert_rows_agree(
    job: Job | LockedJob,
    people: Iterable[Application | ApplicationRow],
    model: Model,
    passed: timedelta = timedelta(),
) -> None:
    """The job's row and every application are what the model says."""
    rows = {row.id: row for row in people}
    assert rows.keys() == {who.id for who in model.people}
    for who in model.people:
        assert _told(rows[who.id], passed) == _expected(who), who.id
        assert (rows[who.id].outcome, _later(rows[who.id].ended_at, passed)) == (
            who.outcome,
            who.ended_at,
        )
    waiting = [row for row in rows.values() if row.status == "WAITLIST"]
    waiting.sort(key=lambda row: (row.ticket or 0, row.tie or 0))
    assert [row.id for row in waiting] == [who.id for who in model.queue]
    _job_agrees(job, model, passed)


def _job_agrees(job: Job | LockedJob, model: Model, passed: timedelta) -> None:
    assert (job.status, job.capacity, job.policy.values(), job.policy_version) == (
        model.status,
        model.capacity,
        model.policy,
        model.version,
    )
    assert (job.seq, job.next_ticket) == (len(model.log), model.next_ticket)
    assert _later(job.closed_at, passed) == model.closed_at
    assert _later(job.drawn_at, passed) == model.drawn_at
    assert (job.positions_to_fill, job.hired_count) == (model.positions, model.hired)
    assert _later(job.closes_at, passed) == model.closes_at
    assert job.exception_count == model.exceptions
    assert (job.reserved_seats, _later(job.reserved_until, passed)) == (
        model.reserve,
        model.reserved_until,
    )
    assert job.reserved_count == sum(who.reserved for who in model.people)
    held, pending = model.held(), len(model.pending())
    assert (job.active_count, job.pending_count, job.waitlist_count) == (
        held - pending,
        pending,
        len(model.queue),
    )
    assert job.unverified_count == sum(who.verify_by is not None for who in model.queue)


def assert_log_agrees(
    log: Iterable[Event | LogEntry],
    model: Model,
    passed: timedelta = timedelta(),
    *,
    after: int,
) -> None:
    """The events after that seq are the model's."""
    told = [
        (
            event.event,
            event.application_id,
            event.outcome,
            event.from_status,
            event.to_status,
            event.cause_seq,
            event.effective_at + passed,
            event.policy_version,
            event.at + passed,
        )
        for event in log
    ]
    assert told == model.log[after:], f"{told}\n{model.log[after:]}"


def assert_replay_agrees(job_id: UUID, model: Model, passed: timedelta, seq: int) -> None:
    """The line that the log gives after event `seq` is the one the model had then."""
    event = Event.objects.get(job_id=job_id, seq=seq)
    line = replay(job_id, seq=seq)
    assert (line.seq, line.at) == (seq, event.at)
    _line_agrees(line, model.lines[seq - 1], passed)
    same_time = [s for s, row in enumerate(model.log, 1) if row[-1] == event.at + passed]
    assert replay(job_id, as_of=event.at).seq == same_time[-1]


def assert_passed_people_agree(job_id: UUID, model: Model) -> None:
    """Everyone whom an exception passed is found once for each, whatever they have done since."""
    told = Counter(
        who
        for exception in LineException.objects.filter(job_id=job_id)
        for who in read_passed(exception, after=0, upto=exception.seq)
    )
    assert told == Counter({w.id: w.passed_by_exception for w in model.people})
    job = Job.objects.get(id=job_id)
    for who in model.people:
        assert len(read_exceptions_passing(job, who.id)) == who.passed_by_exception


def assert_archive_agrees(job_id: UUID) -> None:
    """The log is archived, and the file alone gives the lines that the database gives."""
    with TemporaryDirectory() as folder:
        path = archive_log(Path(folder), job_id)
        last = replay(job_id).seq
        for seq in {1, last // 3 or 1, last // 2 or 1, last}:
            assert replay_archived_log(path, seq=seq) == replay(job_id, seq=seq)


def _line_agrees(line: Line, then: dict[str, Any], passed: timedelta) -> None:
    assert (line.status, line.capacity) == (then["status"], then["capacity"])
    assert (line.policy.values(), line.policy_version) == (then["policy"], then["version"])
    assert [place.application_id for place in line.waitlist] == then["order"]
    counted = [place.position for place in line.waitlist if place.verify_by is None]
    no_places = [None] * len(counted) if then["awaits_draw"] else None
    assert counted == (no_places or list(range(1, len(counted) + 1)))
    assert {place.position for place in line.waitlist if place.verify_by} <= {None}
    assert {place.status for place in line.active} <= {"ACTIVE"}
    assert {place.status for place in line.pending} <= {"PENDING_ACKNOWLEDGMENT"}
    told = {
        place.application_id: _told(place, passed)
        for place in line.active + line.pending + line.waitlist
    }
    assert told == {who.id: _expected(who) for who in then["people"].values()}


def _told(row: Application | ApplicationRow | PastPlace, passed: timedelta) -> tuple[Any, ...]:
    times = (
        row.eligible_at,
        row.not_before,
        row.accept_until,
        row.passed_at,
        row.verify_by,
        row.acknowledge_by,
        row.applied_at,
        row.promoted_at,
        row.acknowledged_at,
        row.status_since,
    )
    plain = (row.status, row.ticket, row.tie, row.decay_count, row.deadline_extended)
    passes = (row.passes_used, row.pass_next, row.reserved_seat)
    return (*plain, *passes, *(_later(moment, passed) for moment in times))


def _expected(who: Standing) -> tuple[Any, ...]:
    times = (
        who.eligible_at,
        who.not_before,
        who.accept_until,
        who.passed_at,
        who.verify_by,
        who.deadline,
        who.applied_at,
        who.promoted_at,
        who.acknowledged_at,
        who.since,
    )
    return (
        who.status,
        who.ticket,
        who.tie,
        who.misses,
        who.extended,
        who.passes,
        who.pass_next,
        who.reserved,
        *times,
    )


def _later(moment: datetime | None, passed: timedelta) -> datetime | None:
    return None if moment is None else moment + passed
