"""Seeding of the demo: its past under the simulated clock, then the jobs whose log starts now."""

from __future__ import annotations

import logging
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from itertools import islice
from pathlib import Path
from random import Random
from uuid import UUID, uuid5

from django.db import connection
from django.db.models.functions import Now

from applicants.people import find_or_create_person
from jobs import keys
from jobs.accounts import change_name, set_first_password
from jobs.companies import create_company
from jobs.models import USUAL_SCOPES, ApiKey, Company, Job, Role, User
from jobs.team import add_member
from pipeline.config.demo_addresses import APPLICANT, OWNER, STAFF_NAMES, demo_address
from pipeline.config.env import STATE_DIR
from pipeline.database import instants
from pipeline.domain.states import CLOSES_AT, POSITIONS, Actor, ActorKind, Status
from pipeline.figures import forecast
from pipeline.line.write import unregister_follow_up
from pipeline.management.demo import records
from pipeline.management.demo.careers import add_careers_page
from pipeline.management.demo.clock import simulated_time
from pipeline.management.demo.correspondence import add_messages
from pipeline.management.demo.fairness import add_fairness
from pipeline.management.demo.forms import add_cv, fill_for
from pipeline.management.demo.origins import count_views, origin_of, tell_people
from pipeline.management.demo.past import JobPast, PastActs
from pipeline.management.demo.plans import (
    APPLICATIONS_OF_ONE,
    CLOSING,
    COMPANIES,
    FILLING,
    FIRST_NAMES,
    LAST_NAMES,
    MOVING,
    RESERVED,
    RIGGER,
    SHIPWRIGHT,
    STORY,
    WEEKS,
    LiveJob,
    PlannedCompany,
)
from pipeline.management.demo.records import (
    IMPORTS,
    add_report_schedule,
    import_people,
    plan_reports,
    start_failing_task,
)
from pipeline.management.demo.reviews import add_reviews, tell_nobody
from pipeline.management.demo.webhooks import PastWebhooks
from pipeline.management.demo.words import add_words
from pipeline.notifications import outbox, reviewers
from pipeline.notifications.outbox import email_tasks
from pipeline.notifications.reviewers import seat_tasks
from pipeline.services.jobs import JobChanges, create_job, update_job
from pipeline.services.joining import apply
from pipeline.services.turns import acknowledge
from tasks.advisory_locks import SEED_DEMO

KEY_NAME = "demo"


@dataclass(frozen=True, slots=True)
class Demo:
    """Access to the demo. `job_id` is the job that moves by itself, `story_id` the one to try out.

    `password` is the owner's, or empty if the owner has changed it.
    """

    company_id: UUID
    job_id: UUID
    story_id: UUID
    api_key: str
    password: str


@contextmanager
def unlogged_decisions() -> Iterator[None]:
    """Keep what nobody really did out of the security log."""
    security = logging.getLogger("security")
    level = security.level
    security.setLevel(logging.WARNING)
    try:
        yield
    finally:
        security.setLevel(level)


@unlogged_decisions()
def create_missing() -> Demo:
    """Create the missing parts of the demo. Existing parts keep people's changes."""
    is_new = _seeded_company(COMPANIES[0]) is None
    if any(_seeded_company(plan) is None for plan in COMPANIES):
        write_missing_companies()
    company = Company.objects.filter(memberships__user__email=OWNER).earliest("created_at")
    staff_id = User.objects.get(email=OWNER).id
    staff = Actor(ActorKind.COMPANY, staff_id)
    if is_new:
        start_failing_task(company.id, staff_id)
        announce_ends()
        add_careers_page(company, staff_id)
        reviewed = Job.objects.filter(company=company, posting__title=SHIPWRIGHT.posting.title)
        for job_id in reviewed.values_list("id", flat=True):  # none in a smaller demo
            add_reviews(company, job_id)
        add_words(company, staff_id)
        add_messages(company)
        with silenced_emails():
            add_fairness(company, staff)
    moving, story = (create_live_job(job, company, staff) for job in (MOVING, STORY))
    if is_new:
        tell_nobody(company, moving)
        forecast.update_statements()  # or the pages would know none until its task has run
    key, password = _seeded_api_key(company), _seeded_password(company)
    return Demo(company.id, moving, story, key, password)


def announce_ends() -> None:
    """Let one job of the demo have a number of positions, of which one is left; another closes."""
    ours = Job.objects.filter(company__name__endswith="(demo)")
    for job in ours.filter(posting__title__in=(FILLING, CLOSING)).select_related("posting"):
        if job.posting.title == FILLING:
            hiring: dict[str, object] = {POSITIONS: max(2, job.hired_count + 1)}
        else:
            hiring = {CLOSES_AT: instants.now() + timedelta(days=21)}
        owner = job.company.memberships.filter(role=Role.OWNER).earliest("id")
        actor = Actor(ActorKind.COMPANY, owner.user_id)
        update_job(job_id=job.id, changes=JobChanges(hiring=hiring), actor=actor)


def seeded_job_id(company: Company, title: str, seconds: float = 0) -> UUID:
    """Return the id of a demo job, the same at each start.

    It holds the company's time plus some seconds, because lists of jobs are ordered by id.
    """
    milliseconds = int((company.created_at.timestamp() + seconds) * 1_000)
    whole = bytearray(milliseconds.to_bytes(6) + uuid5(company.id, title).bytes[6:])
    whole[6] = whole[6] & 0x0F | 0x70
    return UUID(bytes=bytes(whole))


def _seeded_company(plan: PlannedCompany) -> Company | None:
    return Company.objects.filter(memberships__user__email=plan.owner).first()


def write_missing_companies() -> None:
    """Write the past of the missing companies, all of it in one transaction.

    No email is derived from it, because nobody needs one about last month.
    """
    with simulated_time() as clock, silenced_emails():
        clock.set(clock.end - timedelta(weeks=WEEKS, hours=1))
        with connection.cursor() as cursor:  # two commands at once would make two demos
            cursor.execute("SELECT pg_advisory_xact_lock(%s)", [SEED_DEMO])
        acts, newcomers = PastActs(clock), random_names()
        past: dict[str, JobPast] = {}
        for plan in COMPANIES:
            if _seeded_company(plan) is None:
                past |= create_planned_company(acts, plan, newcomers)
        if SHIPWRIGHT.posting.title in past:
            plan_extras(acts, past, newcomers)
        acts.play()
        for company_id in {each.company_id for each in past.values()}:
            count_views(company_id)


def create_planned_company(
    acts: PastActs, plan: PlannedCompany, newcomers: Iterator[str]
) -> dict[str, JobPast]:
    """Create a company with its team, and plan the past of its jobs, by title."""
    company = create_company(name=plan.name, owner_email=plan.owner)
    Company.objects.filter(id=company.id).update(created_at=Now())
    company.refresh_from_db()
    for email, role in plan.colleagues:
        add_member(company_id=company.id, email=email, role=role)
    tell_people(company)
    for person in User.objects.filter(memberships__company=company, email__in=STAFF_NAMES):
        change_name(user_id=person.id, name=STAFF_NAMES[person.email])
    staff_id = User.objects.get(email=plan.owner).id
    return {
        job.posting.title: JobPast(
            acts,
            job,
            job_id=seeded_job_id(company, job.posting.title, (WEEKS * 7 - job.created) * 86_400),
            company_id=company.id,
            staff_id=staff_id,
            newcomers=newcomers,
        )
        for job in plan.jobs
    }


def plan_extras(acts: PastActs, past: dict[str, JobPast], newcomers: Iterator[str]) -> None:
    """Plan the first company's other records, and the applications of one person."""
    rigger, shipwright = past[RIGGER.posting.title], past[SHIPWRIGHT.posting.title]
    for days_ago, file_name, number, more in IMPORTS:
        people = list(islice(newcomers, number))
        values = {"job": rigger, "file_name": file_name, "people": people, "more": more}
        rigger.plan_at(days_ago, import_people, **values)
    plan_reports(acts, shipwright)
    records.plan_contests(shipwright)
    changes = [each[0] for job in COMPANIES[0].jobs for each in job.capacities]
    stops = [job.stopped for job in COMPANIES[0].jobs if job.stopped is not None]
    PastWebhooks(acts, shipwright.company_id, [*changes, *stops])
    for title, days_ago in APPLICATIONS_OF_ONE:
        if title in past:
            past[title].plan_at(days_ago, past[title].add_person, name=APPLICANT, left_alone=True)
    at_end = acts.clock.end - timedelta(seconds=1)
    acts.plan(at_end, lambda: add_report_schedule(shipwright))


def random_names() -> Iterator[str]:
    """Yield names in a random order that is always the same; no name twice."""
    names = [f"{first} {last}" for first in FIRST_NAMES for last in LAST_NAMES]
    Random("newcomers").shuffle(names)  # noqa: S311  no secret
    return iter([name for name in names if name not in RESERVED])


@contextmanager
def silenced_emails() -> Iterator[None]:
    """Derive no emails: nothing happened at the stated time."""
    unregister_follow_up(email_tasks)
    unregister_follow_up(seat_tasks)
    try:
        yield
    finally:
        outbox.start()
        reviewers.start()


def create_live_job(plan: LiveJob, company: Company, staff: Actor) -> UUID:
    """Create a job whose log starts now, with its people, unless it exists; return its id."""
    job_id = seeded_job_id(company, plan.posting.title, WEEKS * 7 * 86_400)
    if Job.objects.filter(id=job_id).exists():
        return job_id
    create_job(
        job_id=job_id,
        company_id=company.id,
        posting=plan.posting,
        capacity=plan.capacity,
        policy=plan.policy,
        actor=staff,
        questions=plan.questions,
    )
    for number, name in enumerate(plan.people):
        person = find_or_create_person(demo_address(name))
        actor = Actor(ActorKind.APPLICANT, person.id)
        filled = fill_for(job_id, name)
        made = apply(
            job_id=job_id,
            applicant_id=person.id,
            name=name,
            actor=actor,
            filled=filled,
            companions=[origin_of(name)],
        )
        if number < plan.confirmed and made.status == Status.PENDING_ACKNOWLEDGMENT:
            acknowledge(application_id=made.id, actor=actor)
        add_cv(made, company.id, plan.posting.title)
    return job_id


def _seeded_api_key(company: Company) -> str:
    """Return the demo's key. It is kept in a file beside the embedded database."""
    file = STATE_DIR / f"demo_api_key.{company.id}"
    if file.exists() and keys.find(file.read_text()):
        return file.read_text()
    ApiKey.objects.filter(company=company, name=KEY_NAME).delete()
    _row, key = keys.create(company_id=company.id, name=KEY_NAME, scopes=USUAL_SCOPES)
    _keep_seeded_secret(file, key)
    return key


def _seeded_password(company: Company) -> str:
    """Return the owner's password, kept in a file beside the key. A changed password is kept."""
    file = STATE_DIR / f"demo_password.{company.id}"
    owner = User.objects.get(email=OWNER)
    if not owner.has_usable_password():
        _keep_seeded_secret(file, secrets.token_urlsafe(12))
        set_first_password(user_id=owner.id, password=file.read_text())
        return file.read_text()
    kept = file.read_text() if file.exists() else ""
    return kept if kept and owner.check_password(kept) else ""


def _keep_seeded_secret(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_name(f"{path.name}.{os.getpid()}")
    fresh.touch(mode=0o600)
    fresh.write_text(text)
    fresh.replace(path)
