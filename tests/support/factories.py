"""Making companies, jobs, people and applications, the way the product makes them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from uuid import UUID

import factory
from uuid_utils.compat import uuid7

from applicants.models import Applicant
from jobs.models import Company, Job, User
from jobs.policies import Policy
from pipeline.domain.states import SYSTEM, Actor, ActorKind
from pipeline.models import Application, Event
from pipeline.services.jobs import JobChanges, Posting, create_job, update_job
from pipeline.services.joining import apply
from pipeline.services.settling import settle_next_due

RECRUITER = Actor(ActorKind.COMPANY, uuid7())
"""Someone who acts for a company."""

WINDOW = 600
"""Seconds to acknowledge, where a test does not say otherwise."""

COOLDOWN = 60
"""Seconds of cool-down, where a test does not say otherwise."""


class CompanyFactory(factory.django.DjangoModelFactory[Company]):
    """A company with a unique name."""

    class Meta:
        model = Company

    name = factory.Sequence(lambda n: f"Company {n}")


class UserFactory(factory.django.DjangoModelFactory[User]):
    """A staff account; the password is "correct horse"."""

    class Meta:
        model = User

    email = factory.Sequence(lambda n: f"staff{n}@example.org")
    password = factory.django.Password("correct horse")


class ApplicantFactory(factory.django.DjangoModelFactory[Applicant]):
    """A person with a unique address."""

    class Meta:
        model = Applicant

    email = factory.Sequence(lambda n: f"person{n}@example.org")
    name = factory.Sequence(lambda n: f"Person {n}")


@contextmanager
def numbered_from_zero() -> Iterator[None]:
    """Number what is made in the block from 0, in a database that is empty before and after it."""
    kinds: tuple[type[factory.Factory[Any]], ...] = (CompanyFactory, UserFactory, ApplicantFactory)
    following = [each._meta.next_sequence() for each in kinds]
    for each in kinds:
        each.reset_sequence(0)
    try:
        yield
    finally:
        for each, number in zip(kinds, following, strict=True):
            each.reset_sequence(number)


def company(**fields: Any) -> Company:
    """A company."""
    return CompanyFactory.create(**fields)


def applicant(**fields: Any) -> Applicant:
    """A person who has not applied to anything."""
    return ApplicantFactory.create(**fields)


def job(
    *,
    capacity: int = 1,
    company_id: UUID | None = None,
    open_now: bool = True,
    hiring: dict[str, Any] | None = None,
    **policy: Any,
) -> UUID:
    """A job, open unless told otherwise; `policy` are the fields that differ from the usual."""
    usual = {"acknowledgment_window_seconds": WINDOW, "cooldown_seconds": COOLDOWN}
    return create_job(
        company_id=company_id or company().id,
        posting=Posting("Engineer"),
        capacity=capacity,
        policy=Policy(**usual | policy),
        actor=RECRUITER,
        open_now=open_now,
        hiring=hiring or {},
    )


def application(job_id: UUID, person: Applicant | None = None, **how: Any) -> Application:
    """An application by that person (by a new one if none is given), submitted by themselves."""
    person = person or applicant()
    how = {"actor": as_applicant(person.id)} | how
    return apply(job_id=job_id, applicant_id=person.id, name=person.name, **how)


def applications(job_id: UUID, count: int, **how: Any) -> list[Application]:
    """Make this many applications of new people, one after the other."""
    return [application(job_id, **how) for _ in range(count)]


def as_applicant(applicant_id: UUID) -> Actor:
    """A person who acts for themselves."""
    return Actor(ActorKind.APPLICANT, applicant_id)


def owner_of(application: Application) -> Actor:
    """The person whose application it is."""
    return as_applicant(application.applicant_id)


def fresh(application: Application) -> Application:
    """The application as the database has it now."""
    return Application.objects.get(id=application.id)


def row_of(job_id: UUID) -> Job:
    """The job's row as the database has it now."""
    return Job.objects.get(id=job_id)


def status_of(application: Application) -> str:
    """The application's status, or its outcome when it has ended."""
    row = fresh(application)
    return str(row.outcome or row.status)


def statuses(*people: Application) -> list[str]:
    """The status of each, or its outcome when it has ended."""
    return [status_of(person) for person in people]


def line(job_id: UUID) -> list[UUID]:
    """Return the waiting people, in order."""
    waiting = Application.objects.filter(job_id=job_id, status="WAITLIST")
    return list(waiting.order_by("ticket", "tie").values_list("id", flat=True))


def events(job_id: UUID, *, after: int = 0) -> list[Event]:
    """The job's log, after that seq."""
    return list(Event.objects.filter(job_id=job_id, seq__gt=after).order_by("seq"))


def event_names(job_id: UUID, *, after: int = 0) -> list[str]:
    """Return the names of events in the job's log after that seq."""
    return [event.event for event in events(job_id, after=after)]


def alter(job_id: UUID, **what: Any) -> None:
    """Change a job's capacity, policy or posting, as its company."""
    update_job(job_id=job_id, changes=JobChanges(**what), actor=RECRUITER)


def settle_all() -> int:
    """Settle like the decay worker until nothing is due; return the number of steps."""
    steps = 0
    while settle_next_due() is not None:
        steps += 1
    return steps


__all__ = [
    "COOLDOWN",
    "RECRUITER",
    "SYSTEM",
    "WINDOW",
    "alter",
    "applicant",
    "application",
    "applications",
    "as_applicant",
    "company",
    "event_names",
    "events",
    "fresh",
    "job",
    "line",
    "owner_of",
    "row_of",
    "settle_all",
    "status_of",
    "statuses",
]
