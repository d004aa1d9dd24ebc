"""The past of a demo job: people apply, confirm, miss and leave, and the company decides.

All of it goes through the services, in the order of time, under the simulated clock. The
job's title seeds the random numbers, so every demo has the same people and events.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import datetime, timedelta
from heapq import heappop, heappush
from itertools import count
from random import Random
from typing import Any, NamedTuple
from uuid import UUID

from applicants.people import find_or_create_person
from jobs.models import JobStatus
from pipeline.config.demo_addresses import demo_address
from pipeline.domain.errors import LineError
from pipeline.domain.states import Actor, ActorKind, EventType, Outcome, Reason, Status
from pipeline.management.demo.clock import SimulatedClock
from pipeline.management.demo.forms import fill_for
from pipeline.management.demo.origins import origin_of
from pipeline.management.demo.plans import PastJob
from pipeline.services.jobs import JobChanges, close_job, create_job, pause_job, update_job
from pipeline.services.joining import apply
from pipeline.services.leaving import remove, withdraw
from pipeline.services.settling import settle
from pipeline.services.turns import acknowledge
from tasks.sql.prepared import PreparedStatement

# How many of a hundred applications come in each hour of a day, and on each day of a week.
BY_HOUR = (1, 0, 0, 0, 0, 1, 2, 5, 8, 9, 8, 6, 7, 6, 5, 4, 4, 5, 5, 6, 7, 6, 4, 1)
BY_WEEKDAY = (1.3, 1.25, 1.15, 1.0, 0.9, 0.6, 0.7)
OFFICE_HOURS, WAKING_HOURS = (9, 17), (7, 23)
FIRST_SATURDAY = 5
WITHDRAWING = 0.12  # the share of people who leave the waitlist or a seat by themselves
NOTES = (
    "Friendly, but has not done this work before.",
    "Strong application. Another person was a little ahead.",
    "Could not start this season.",
)


class News(NamedTuple):
    """Time at which a job is due, and one of its new events; the rest is empty without one."""

    due: datetime | None
    seq: int | None
    event: str | None
    to_status: str | None
    application_id: UUID | None
    applicant_id: UUID | None
    at: datetime


_NEWS = PreparedStatement(
    """
SELECT job.next_due_at, event.seq, event.event, event.to_status, event.application_id,
       person.applicant_id, event.at
FROM jobs_job job
LEFT JOIN pipeline_event event ON event.job_id = job.id AND event.seq > %(seq)s
LEFT JOIN pipeline_application person ON person.id = event.application_id
WHERE job.id = %(job)s ORDER BY event.seq
""",
    News,
)


class PastActs:
    """Acts of the past, each at its time. An act may plan later ones."""

    def __init__(self, clock: SimulatedClock) -> None:
        self.clock = clock
        self._planned: list[tuple[datetime, int, Callable[[], object]]] = []
        self._number = count()

    def plan(self, moment: datetime, act: Callable[[], object]) -> None:
        """Plan an act; one that lies after the end of the past is left out."""
        if moment < self.clock.end:
            heappush(self._planned, (moment, next(self._number), act))

    def play(self) -> None:
        """Let the acts happen in the order of their times."""
        while self._planned:
            moment, _, act = heappop(self._planned)
            self.clock.set(moment)
            act()


class JobPast:
    """Past of one job: it plans its own creation and all arrivals, then reacts to events.

    `newcomers` gives the names of new people, `staff_id` the member who decides.
    """

    def __init__(
        self,
        acts: PastActs,
        plan: PastJob,
        *,
        job_id: UUID,
        company_id: UUID,
        staff_id: UUID,
        newcomers: Iterator[str],
    ) -> None:
        self.job_id = job_id
        self.staff = Actor(ActorKind.COMPANY, staff_id)
        self.company_id, self._acts, self._plan = company_id, acts, plan
        self._newcomers, self._chance = newcomers, Random(plan.posting.title)  # noqa: S311  no secret
        self._left_alone: set[UUID] = set()
        self._seq = 0
        self._due: datetime | None = None
        self.plan_at(plan.created, self.create)
        for days_ago, seats in plan.capacities:
            changes = JobChanges(capacity=seats)
            self.plan_at(days_ago, update_job, job_id=job_id, changes=changes, actor=self.staff)
        if plan.stopped is not None:
            stop = close_job if plan.stopped_as is JobStatus.CLOSED else pause_job
            self.plan_at(plan.stopped, stop, job_id=job_id, actor=self.staff)
        for moment in self.arrivals():
            acts.plan(moment, lambda: self.do(self.add_person, next(self._newcomers)))

    def plan_at(self, days_ago: float, act: Callable[..., object], **values: Any) -> None:
        """Plan an act for a time that many days before the end."""
        moment = self._acts.clock.end - timedelta(days=days_ago)
        self._acts.plan(moment, lambda: self.do(act, **values))

    def do(self, act: Callable[..., object], *args: Any, **values: Any) -> None:
        """Act on the job, unless the line refuses it, and plan how people react to the outcome."""
        with suppress(LineError):
            act(*args, **values)
        for row in _NEWS.all(job=self.job_id, seq=self._seq):
            if row.due and row.due != self._due:
                self._due = row.due
                self._acts.plan(row.due, lambda: self.do(settle, job_id=self.job_id))
            self._seq = row.seq or self._seq
            if row.application_id and row.application_id not in self._left_alone:
                self.react(row)

    def add_person(self, name: str, *, left_alone: bool = False) -> None:
        """Let a person apply. One who is `left_alone` reacts to nothing and is not decided on."""
        person = find_or_create_person(demo_address(name))
        actor = Actor(ActorKind.APPLICANT, person.id)
        filled = fill_for(self.job_id, name)
        made = apply(
            job_id=self.job_id,
            applicant_id=person.id,
            name=name,
            actor=actor,
            filled=filled,
            companions=[origin_of(name)],
        )
        if left_alone:
            self._left_alone.add(made.id)

    def create(self) -> None:
        """Create the job, as a draft or open."""
        create_job(
            job_id=self.job_id,
            company_id=self.company_id,
            posting=self._plan.posting,
            capacity=self._plan.capacity,
            policy=self._plan.policy,
            actor=self.staff,
            open_now=not self._plan.is_draft,
            questions=self._plan.questions,
        )

    def arrivals(self) -> Iterator[datetime]:
        """Yield the times at which people apply, with the rhythm of days and weeks."""
        end, chance = self._acts.clock.end, self._chance
        opened = end - timedelta(days=self._plan.created)
        closed = end - timedelta(days=self._plan.stopped or 0)
        day = opened.replace(hour=0, minute=0, second=0, microsecond=0)
        while day < closed:
            rate = self._plan.people_a_day * BY_WEEKDAY[day.weekday()]
            for _ in range(round(chance.triangular(0, 2 * rate, rate) + chance.random() - 0.5)):
                (hour,) = chance.choices(range(24), BY_HOUR)
                moment = day + timedelta(hours=hour, seconds=chance.uniform(0, 3_600))
                if opened < moment < closed:
                    yield moment
            day += timedelta(days=1)

    def react(self, event: News) -> None:
        """Plan the next act of a person, or the company's next decision on them."""
        chance = self._chance
        if event.to_status == Status.PENDING_ACKNOWLEDGMENT:
            window = self._plan.policy.acknowledgment_window_seconds
            answer = event.at + timedelta(seconds=window * min(chance.expovariate(5), 0.95))
            answer, roll = _next_working_moment(answer, WAKING_HOURS, chance), chance.random()
            if roll < self._plan.confirming:
                self._plan_act(answer, acknowledge, event)
            elif roll < self._plan.confirming + WITHDRAWING / 2:
                self._plan_act(answer, withdraw, event)
        elif event.to_status == Status.ACTIVE:
            end = event.at + timedelta(days=chance.uniform(0.5, self._plan.review_days))
            if chance.random() < WITHDRAWING:
                self._plan_act(_next_working_moment(end, WAKING_HOURS, chance), withdraw, event)
            else:
                end = _next_working_moment(end, OFFICE_HOURS, chance, weekends=False)
                self._acts.plan(end, lambda: self.do(self.decide, event.application_id))
        elif event.event == EventType.APPLIED and chance.random() < WITHDRAWING:
            end = event.at + timedelta(days=chance.uniform(1, 15))
            self._plan_act(_next_working_moment(end, WAKING_HOURS, chance), withdraw, event)

    def _plan_act(self, moment: datetime, service: Callable[..., object], event: News) -> None:
        actor = Actor(ActorKind.APPLICANT, event.applicant_id)
        values = {"application_id": event.application_id, "actor": actor}
        self._acts.plan(moment, lambda: self.do(service, **values))

    def decide(self, application_id: UUID) -> None:
        """Hire, reject or remove a person, by chance."""
        roll, note = self._chance.random(), ""
        outcome: Outcome = Outcome.REJECTED
        reason: Reason | None = Reason.NOT_A_MATCH
        if roll < self._plan.hiring:
            outcome, reason = Outcome.HIRED, None
        elif roll > 0.95:
            outcome, reason = Outcome.REMOVED, Reason.MISSED_INTERVIEW
        elif roll > 0.8:
            note = self._chance.choice(NOTES)
        remove(
            application_id=application_id,
            outcome=outcome,
            actor=self.staff,
            reason=reason,
            note=note,
        )


def _next_working_moment(
    moment: datetime, hours: tuple[int, int], chance: Random, *, weekends: bool = True
) -> datetime:
    """Return a time, or one in the first two hours of the next day that people act on."""
    first, last = hours
    if moment.hour >= last or moment.hour < first:
        next_day = moment + timedelta(days=1 if moment.hour >= last else 0)
        moment = next_day.replace(hour=first) + timedelta(seconds=chance.uniform(0, 7_200))
    while not weekends and moment.weekday() >= FIRST_SATURDAY:
        moment += timedelta(days=1)
    return moment
