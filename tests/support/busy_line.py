"""Small random histories: everything that can happen in a line, in any order."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from random import Random
from typing import Any
from uuid import UUID

from jobs.models import Job
from pipeline.domain.contests import REASONS_OF, ContestAnswer
from pipeline.domain.errors import LineError
from pipeline.domain.states import Outcome, ReinstatementReason
from pipeline.models import Application, Contest
from pipeline.services.contests import answer_contest, contest
from pipeline.services.jobs import open_job, pause_job
from pipeline.services.joining import verify
from pipeline.services.leaving import reinstate, remove, withdraw
from pipeline.services.turns import acknowledge, defer, pass_next, pass_offer, preaccept
from tests.support import factories
from tests.support.clock import database_now, let_time_pass


def busy_job(seed: int, *, steps: int = 60, company_id: UUID | None = None) -> UUID:
    """Make a job in which this many random things have happened; the same each time."""
    chance = Random(seed)
    rules: dict[str, Any] = {"penalty_places": 1, "max_decays": 1}
    job = factories.job(capacity=chance.randint(1, 3), company_id=company_id, **rules)
    for _ in range(steps):
        with suppress(LineError):
            chance.choice(STEPS)(job, chance)
    return job


def _one(job: UUID, chance: Random, *statuses: str) -> Application | None:
    people = list(Application.objects.filter(job_id=job, status__in=statuses).order_by("id"))
    return chance.choice(people) if people else None


def _apply(job: UUID, chance: Random) -> None:
    factories.application(job)


def _apply_unverified(job: UUID, chance: Random) -> None:
    factories.application(job, verified=False)


def _verify(job: UUID, chance: Random) -> None:
    unverified = Application.objects.filter(job_id=job, verify_by__isnull=False).order_by("id")
    if people := list(unverified):
        person = chance.choice(people)
        verify(application_id=person.id, actor=factories.owner_of(person))


def _acknowledge(job: UUID, chance: Random) -> None:
    if person := _one(job, chance, "PENDING_ACKNOWLEDGMENT"):
        acknowledge(application_id=person.id, actor=factories.owner_of(person))


def _withdraw(job: UUID, chance: Random) -> None:
    if person := _one(job, chance, "WAITLIST", "ACTIVE", "PENDING_ACKNOWLEDGMENT"):
        withdraw(application_id=person.id, actor=factories.owner_of(person))


def _hire(job: UUID, chance: Random) -> None:
    if person := _one(job, chance, "ACTIVE"):
        remove(application_id=person.id, outcome=Outcome.HIRED, actor=factories.RECRUITER)


def _reinstate(job: UUID, chance: Random) -> None:
    missed = Application.objects.filter(job_id=job, decay_count__gt=0).order_by("id")
    if people := list(missed):
        reason = ReinstatementReason.OUR_ERROR
        reinstate(application_id=chance.choice(people).id, reason=reason, actor=factories.RECRUITER)


def _reject(job: UUID, chance: Random) -> None:
    if person := _one(job, chance, "WAITLIST", "ACTIVE", "PENDING_ACKNOWLEDGMENT"):
        remove(application_id=person.id, outcome=Outcome.REJECTED, actor=factories.RECRUITER)


def _contest(job: UUID, chance: Random) -> None:
    if person := _one(job, chance, "INACTIVE"):
        contest(application_id=person.id, text="Why?", actor=factories.owner_of(person))


def _answer_contest(job: UUID, chance: Random) -> None:
    if asked := Contest.objects.filter(job_id=job, answer="").order_by("id").first():
        answer = chance.choice((ContestAnswer.UPHELD, ContestAnswer.CHANGED))
        answer_contest(
            contest_id=asked.id,
            application_id=asked.application_id,
            answer=answer,
            reason=chance.choice(REASONS_OF[answer]),
            actor=factories.RECRUITER,
        )


def _defer(job: UUID, chance: Random) -> None:
    if person := _one(job, chance, "WAITLIST"):
        ahead = chance.choice((None, 60, factories.WINDOW, 24 * 3_600))
        until = database_now() + timedelta(seconds=ahead) if ahead else None
        defer(application_id=person.id, not_before=until, actor=factories.owner_of(person))


def _preaccept(job: UUID, chance: Random) -> None:
    if person := _one(job, chance, "WAITLIST"):
        ahead = chance.choice((None, 60, factories.WINDOW, 24 * 3_600, 7 * 24 * 3_600))
        until = database_now() + timedelta(seconds=ahead) if ahead else None
        actor = factories.owner_of(person)
        preaccept(application_id=person.id, accept_until=until, actor=actor)


def _pass(job: UUID, chance: Random) -> None:
    if person := _one(job, chance, "PENDING_ACKNOWLEDGMENT"):
        pass_offer(application_id=person.id, actor=factories.owner_of(person))
    elif person := _one(job, chance, "WAITLIST"):
        wanted = chance.random() < 0.8
        pass_next(application_id=person.id, wanted=wanted, actor=factories.owner_of(person))


def _wait(job: UUID, chance: Random) -> None:
    let_time_pass(job, chance.choice((30, factories.COOLDOWN, factories.WINDOW, 24 * 3_600)))
    factories.settle_all()


def _resize(job: UUID, chance: Random) -> None:
    factories.alter(job, capacity=chance.randint(1, 4))


def _pause_or_resume(job: UUID, chance: Random) -> None:
    change = pause_job if Job.objects.get(id=job).status == "OPEN" else open_job
    change(job_id=job, actor=factories.RECRUITER)


STEPS: list[Callable[[UUID, Random], None]] = [
    *([_apply] * 5),
    _apply_unverified,
    _apply_unverified,
    _verify,
    _acknowledge,
    _acknowledge,
    _withdraw,
    _defer,
    _preaccept,
    _pass,
    _pass,
    _hire,
    _wait,
    _wait,
    _reinstate,
    _reject,
    _contest,
    _contest,
    _answer_contest,
    _resize,
    _pause_or_resume,
]
