"""The database and the list in memory as one source: each question goes to both."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable
from datetime import timedelta
from operator import attrgetter
from typing import Any
from uuid import UUID

from pipeline.line.locked_job import LockedJob
from pipeline.line.sources import Database, Memory
from pipeline.models import Application, ApplicationRow, PlannedSeats
from tests.support.clock import APPLICATION_TIMES


def _to_both(name: str) -> Callable[..., Any]:
    """Return a method that asks both, and checks that they give the same answer."""

    def ask(self: Both, about: LockedJob | Application, *given: Any, **named: Any) -> Any:
        job_id = about.id if isinstance(about, LockedJob) else about.job_id
        memory = self.lines[job_id]
        memory.plans = list(PlannedSeats.objects.filter(job_id=job_id))
        answer = getattr(Database, name)(self, about, *given, **named)
        same = getattr(memory, name)(about, *given, **named)
        if name == "waiting":  # in no order
            answer, same = (sorted(each, key=attrgetter("id")) for each in (answer, same))
        assert _plain(answer) == _plain(same), name
        self.answers[name] += 1
        return answer

    return ask


class Both(Database):
    """The database, with the same lines in memory. It answers as the database does."""

    def __init__(self) -> None:
        self.lines: defaultdict[UUID, Memory] = defaultdict(Memory)
        self.answers = Counter[str]()

    def write(self, job: LockedJob, *, commit: bool) -> None:
        self.lines[job.id].keep(job)
        super().write(job, commit=commit)

    def let_time_pass(self, job_id: UUID, past: timedelta) -> None:
        """Move the times in memory into the past, as a test has moved those in the database."""
        line = self.lines[job_id]
        for entry in line.log:
            entry.at, entry.effective_at = entry.at - past, entry.effective_at - past
        for row in list(line.rows.values()):
            times = {name: getattr(row, name) for name in APPLICATION_TIMES}
            line.put(row._replace(**{name: at and at - past for name, at in times.items()}))

    def assert_rows_are_the_same(self, job_id: UUID) -> None:
        rows = Application.objects.filter(job_id=job_id).values_list(*ApplicationRow._fields)
        assert {row[0]: row for row in rows} == self.lines[job_id].rows


for _name in (
    "application due next_in_line next_held next_instant waiting left_open unanswered_pass"
    " last_miss place_before_offer front next_members"
).split():
    setattr(Both, _name, _to_both(_name))


def _plain(answer: Any) -> Any:
    if isinstance(answer, Application | PlannedSeats):
        return [getattr(answer, field.attname) for field in answer._meta.concrete_fields]
    if isinstance(answer, list | tuple):
        return [_plain(each) for each in answer]
    return answer
