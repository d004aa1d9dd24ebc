"""Demo company with fixed names and three jobs, one of which moves by itself."""

from __future__ import annotations

import os
import secrets
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID, uuid5

from applicants.services import find_or_create_applicant
from jobs.accounts import set_first_password
from jobs.companies import create_company
from jobs.keys import create_api_key, find_api_key
from jobs.models import ApiKey, Company, Job, Role, Scope, User
from jobs.policies import Policy
from jobs.team import add_member
from pipeline.config.demo import COMPANY, OWNER
from pipeline.config.env import STATE_DIR
from pipeline.domain.states import Actor, ActorKind, Status
from pipeline.services.acknowledge import acknowledge
from pipeline.services.apply import apply
from pipeline.services.lifecycle import Posting, create_job, pause_job

COLLEAGUES = {"recruiter@demo.example": Role.RECRUITER, "viewer@demo.example": Role.VIEWER}
KEY_NAME = "demo"


@dataclass(frozen=True, slots=True)
class DemoJob:
    """Job of the demo, with the people who apply, in order, and how many of them confirm a seat."""

    posting: Posting
    capacity: int
    policy: Policy
    people: tuple[str, ...] = ()
    confirmed: int = 0
    opened: bool = True
    paused: bool = False


MINUTE_BY_MINUTE = Policy(
    acknowledgment_window_seconds=60,
    acknowledge_first_seat=True,
    penalty_places=1,
    max_decays=100,
    cooldown_seconds=20,
)

JOBS = (
    DemoJob(
        Posting("Boatbuilder", "Build and mend wooden boats by the harbour.", "Harbour yard"),
        capacity=3,
        policy=MINUTE_BY_MINUTE,
        people=("Ana Li", "Bo Berg", "Cy Okafor", "Dee Rao", "Eli Sato", "Fay Moreau", "Gus Novak"),
        confirmed=1,
    ),
    DemoJob(
        Posting("Sailmaker", "Cut and sew sails. Paused until the new loft is ready.", "Sail loft"),
        capacity=2,
        policy=Policy(),
        people=("Ana Li", "Hana Kim", "Ivo Petrov", "Jo Diaz"),
        paused=True,
    ),
    DemoJob(
        Posting("Harbour pilot", "A draft: only the company sees it.", "Pier 4"),
        capacity=1,
        policy=Policy(acknowledgment_window_seconds=172_800),
        opened=False,
    ),
)


@dataclass(frozen=True, slots=True)
class Demo:
    """Access to the demo. `job_id` is the job that moves by itself.

    `password` is the owner's, or empty if the owner has changed it.
    """

    company_id: UUID
    job_id: UUID
    api_key: str
    password: str


def seed_demo_company() -> Demo:
    """Create the missing parts of the demo. Existing parts keep people's changes."""
    company = Company.objects.filter(memberships__user__email=OWNER).first()
    company = company or create_company(name=COMPANY, owner_email=OWNER)
    actor = Actor(ActorKind.COMPANY, company.id)
    job_ids = [_seed_demo_job(job, company, actor) for job in JOBS]
    for email, role in COLLEAGUES.items():  # only once, so that a removed colleague stays removed
        if not User.objects.filter(email=email).exists():
            add_member(company_id=company.id, email=email, role=role)
    return Demo(company.id, job_ids[0], _demo_api_key(company), _demo_password(company))


def _seed_demo_job(plan: DemoJob, company: Company, actor: Actor) -> UUID:
    """Create a planned job with its people, unless it exists; return its id.

    The id is the same at each start. It holds the company's time, because lists of jobs are ordered
    by id.
    """
    milliseconds = int(company.created_at.timestamp() * 1_000) + JOBS.index(plan)
    whole = bytearray(milliseconds.to_bytes(6) + uuid5(company.id, plan.posting.title).bytes[6:])
    whole[6] = whole[6] & 0x0F | 0x70
    job_id = UUID(bytes=bytes(whole))
    if Job.objects.filter(id=job_id).exists():
        return job_id
    create_job(
        job_id=job_id,
        company_id=company.id,
        posting=plan.posting,
        capacity=plan.capacity,
        policy=plan.policy,
        actor=actor,
        open_now=plan.opened,
    )
    for number, name in enumerate(plan.people):
        person = find_or_create_applicant(f"{name.lower().replace(' ', '.')}@demo.example")
        made = apply(job_id=job_id, applicant_id=person.id, name=name, actor=actor)
        if number < plan.confirmed and made.status == Status.PENDING_ACKNOWLEDGMENT:
            acknowledge(application_id=made.id, actor=Actor(ActorKind.APPLICANT, person.id))
    if plan.paused:
        pause_job(job_id=job_id, actor=actor)
    return job_id


def _demo_api_key(company: Company) -> str:
    """Return the demo's key. It is kept in a file beside the embedded database."""
    file = STATE_DIR / f"demo_api_key.{company.id}"
    if file.exists() and find_api_key(file.read_text()):
        return file.read_text()
    ApiKey.objects.filter(company=company, name=KEY_NAME).delete()
    _row, key = create_api_key(company_id=company.id, name=KEY_NAME, scopes=list(Scope))
    _keep_demo_secret(file, key)
    return key


def _demo_password(company: Company) -> str:
    """Return the owner's password, kept in a file beside the key. A changed password is kept."""
    file = STATE_DIR / f"demo_password.{company.id}"
    owner = User.objects.get(email=OWNER)
    if not owner.has_usable_password():
        _keep_demo_secret(file, secrets.token_urlsafe(12))
        set_first_password(user_id=owner.id, password=file.read_text())
        return file.read_text()
    kept = file.read_text() if file.exists() else ""
    return kept if kept and owner.check_password(kept) else ""


def _keep_demo_secret(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_name(f"{path.name}.{os.getpid()}")
    fresh.touch(mode=0o600)
    fresh.write_text(text)
    fresh.replace(path)
