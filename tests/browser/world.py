"""A small world in which no page is empty: a company, its jobs in every state, and people."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from applicants.models import Applicant
from jobs import keys
from jobs.models import ApiKey, Company, Membership, Role, Scope, User
from jobs.policies import Policy
from pipeline.domain.states import Actor, ActorKind, Outcome
from pipeline.form import later
from pipeline.form.versions import publish
from pipeline.models import Application, Contest
from pipeline.services.contests import contest
from pipeline.services.job_templates import keep_template
from pipeline.services.jobs import JobChanges, Posting, close_job, create_job, pause_job, update_job
from pipeline.services.joining import apply
from pipeline.services.leaving import remove, withdraw
from pipeline.services.turns import acknowledge
from tests.browser.careers import Careers, make_careers
from tests.browser.webhook_rows import Webhooks, make_webhooks
from tests.browser.work_rows import Work, make_work
from tests.support import factories
from tests.support.accounts import member_of
from tests.support.clock import let_time_pass
from tests.support.forms import FIVE, FIVE_ANSWERS, asked, filled, must_have_licence

HOUR = 3_600
NAMES = (
    "Amara Okafor, Bilal Rahman, Chen Wei, Daniela Rossi, Elif Yılmaz, Farid Haddad, Grace Kim,"
    " Hugo Martin, Ines Costa, Jonas Weber, Kavya Iyer, Liam O’Brien, Mina Sato, Noah Fischer,"
    " Olga Petrova, Priya Nair, Quentin Roy, Rosa Díaz, Sven Lund, Tara Singh,"
    " Wilhelmina Alexandra von und zu Hohenlohe-Langenburg-Schillingsfürst, Xi Chen"
).split(", ")
TEXT = "Build ledgers that balance.\n\nYou write Python, and you like it when a race is impossible."

ASKED = "My certificate is from last year.\n\nIt is on page 2 of what I sent you."


@dataclass
class World:
    """Data that the pages of a test show."""

    company: Company
    owner: User
    colleague: Membership
    key: ApiKey
    job: UUID
    draft: UUID
    paused: UUID
    closed: UUID
    applicant: Applicant
    offered: Application
    waiting: Application
    missed: Application
    ended: Application
    asked: Contest
    reviewed: Application
    questioned: Application
    template: UUID
    work: Work
    webhooks: Webhooks
    careers: Careers

    def ids_of_my_place(self) -> dict[str, Any]:
        return {"application_id": self.my_place.id}

    @property
    def my_place(self) -> Application:
        """The applicant's own application that waits, in the paused job."""
        return Application.objects.get(job_id=self.paused, applicant=self.applicant)

    @property
    def last_in_line(self) -> Application:
        """The last who waits in the open job."""
        waiting = Application.objects.filter(job_id=self.job, status="WAITLIST", verify_by=None)
        return waiting.order_by("-ticket", "-tie")[0]

    @property
    def names_of_contest(self) -> dict[str, UUID]:
        """The parts of the address at which the contest is answered."""
        return {"application_id": self.asked.application_id, "contest_id": self.asked.id}

    @property
    def actor(self) -> Actor:
        """The owner, as the log names them."""
        return Actor(ActorKind.COMPANY, self.owner.id)


def make_world() -> World:
    """Make it, the way the product makes it; times lie in the past days."""
    company = factories.company(name="Northwind Labs")
    owner = member_of(company)
    colleague = Membership.objects.get(user=member_of(company, Role.RECRUITER))
    actor = Actor(ActorKind.COMPANY, owner.id)
    key, _ = keys.create(company_id=company.id, name="Payroll", scopes=[Scope.READ])
    job = _job(company, actor, "Backend engineer, payments", seats=8)
    people = [_person(name) for name in NAMES]
    crowd = _history(job, people, actor)
    _ask_questions(job, crowd)
    me = people[16]
    paused = _job(company, actor, "Office manager", seats=2)
    closed = _job(company, actor, "Support agent", seats=1)
    publish(job_id=paused, questions=FIVE, actor=actor)
    for each in (paused, closed):
        for person in [*people[:3], me]:
            _apply(each, person)
    pause_job(job_id=paused, actor=actor)
    close_job(job_id=closed, actor=actor)
    auditor = _job(company, actor, "Auditor", seats=1)
    ended, other = _apply(auditor, me), _apply(auditor, people[4])
    for each in (ended, other):
        _end(each, Outcome.REJECTED, actor)
    offer = _job(company, actor, "Site reliability engineer", seats=1, first=True)
    return World(
        company=company,
        owner=owner,
        colleague=colleague,
        key=key,
        job=job,
        draft=_job(company, actor, "Data scientist", seats=3, open_now=False),
        paused=paused,
        closed=closed,
        applicant=me,
        offered=_apply(offer, me),
        waiting=crowd[16],
        missed=crowd[9],
        ended=ended,
        reviewed=crowd[10],
        questioned=_questioned(company, actor, me),
        asked=contest(application_id=other.id, text=ASKED, actor=factories.owner_of(other)),
        template=keep_template(job=factories.row_of(job), name="Engineer").id,
        work=make_work(company.id, job, owner.id),
        webhooks=make_webhooks(company.id),
        careers=make_careers(),
    )


def _history(job: UUID, people: list[Applicant], actor: Actor) -> list[Application]:
    """Two days of a job: it fills, some confirm, some miss, some leave, two are decided on."""
    crowd = [_apply(job, person) for person in people]
    let_time_pass(job, 20 * HOUR)
    _end(crowd[0], Outcome.HIRED, actor)
    withdraw(application_id=crowd[1].id, actor=factories.owner_of(crowd[1]))
    let_time_pass(job, 2 * HOUR)
    acknowledge(application_id=crowd[8].id, actor=factories.owner_of(crowd[8]))
    let_time_pass(job, 23 * HOUR)  # the one that was offered a seat with her has missed it
    factories.settle_all()
    let_time_pass(job, 3 * HOUR)
    acknowledge(application_id=crowd[10].id, actor=factories.owner_of(crowd[10]))
    _end(crowd[2], Outcome.REJECTED, actor)
    update_job(job_id=job, changes=JobChanges(capacity=9), actor=actor)
    let_time_pass(job, 40 * 60)
    return crowd


def _ask_questions(job: UUID, crowd: list[Application]) -> None:
    """Publish a form, which two people on the waitlist have answered."""
    publish(job_id=job, questions=[*FIVE, must_have_licence()], actor=factories.RECRUITER)
    for person in crowd[16:18]:
        given = later.fill_later(factories.row_of(job), {**FIVE_ANSWERS, "licence": True})
        actor = factories.owner_of(person)
        later.change_answers(application_id=person.id, filled=given, actor=actor)


def _questioned(company: Company, actor: Actor, person: Applicant) -> Application:
    """Make an application in review, whose person is asked one more question."""
    made = _apply(_job(company, actor, "Accountant", seats=1), person)
    asked(made)
    return made


def _job(
    company: Company, actor: Actor, title: str, *, seats: int, first: bool = False, **how: bool
) -> UUID:
    return create_job(
        company_id=company.id,
        posting=Posting(title, TEXT, "Berlin or remote"),
        capacity=seats,
        policy=Policy(acknowledge_first_seat=first),
        actor=actor,
        **how,
    )


def _person(name: str) -> Applicant:
    address = f"{name.split()[0].lower()}.{name.split()[-1].lower()}@example.org"
    return factories.applicant(name=name, email=address.encode("ascii", "ignore").decode())


def _apply(job: UUID, person: Applicant) -> Application:
    actor = factories.as_applicant(person.id)
    given = filled(job) if factories.row_of(job).form_version else None
    return apply(job_id=job, applicant_id=person.id, name=person.name, actor=actor, filled=given)


def _end(application: Application, outcome: Outcome, actor: Actor) -> None:
    remove(application_id=application.id, outcome=outcome, actor=actor)
