"""Reserved seats, a reasoned exception and a colleague with one job, for the demo."""

from __future__ import annotations

from django.db.models import QuerySet

from jobs.accounts import change_name
from jobs.models import Company, Job, JobRole
from jobs.team import give_job_role
from pipeline.config.demo_addresses import HIRING_MANAGER, STAFF_NAMES
from pipeline.domain.states import Actor, ActorKind, ExceptionReason, GroupKind, Status
from pipeline.management.demo.plans import CLOSING, RIGGER, SAILMAKER
from pipeline.models import Application
from pipeline.services.exceptions import move_ahead
from pipeline.services.reserved import Reserve, decide_claim, reserve_seats, state_claim

SEATS, CODE = 2, "CREW-2026"
WHY_RESERVED = "Two of the seats are for people who already work in our yard."
WHY_AHEAD = "We lost this application for a week when we moved offices. That was our mistake."


def add_fairness(company: Company, staff: Actor) -> None:
    """Reserve seats of a job, move one person ahead in another, and let a colleague see a third.

    A job that a smaller demo does not have is left out.
    """
    jobs = {
        job.posting.title: job
        for job in Job.objects.filter(company=company, posting__isnull=False).select_related(
            "posting"
        )
    }
    if reserving := jobs.get(CLOSING):
        _reserve(reserving, staff)
    if paused := jobs.get(SAILMAKER):
        _move_last_ahead(paused, staff)
    if managed := jobs.get(RIGGER.posting.title):
        member, _is_new = give_job_role(
            company_id=company.id,
            job_id=managed.id,
            email=HIRING_MANAGER,
            role=JobRole.HIRING_MANAGER,
            by=staff.id,
        )
        change_name(user_id=member.user_id, name=STAFF_NAMES[HIRING_MANAGER])


def _reserve(job: Job, staff: Actor) -> None:
    """Reserve seats for the company's own people; one who waits has stated to be one of them."""
    wanted = Reserve(SEATS, GroupKind.INTERNAL, sentence=WHY_RESERVED, code=CODE)
    reserve_seats(job_id=job.id, reserve=wanted, actor=staff)
    for person in _waiting(job).order_by("ticket", "tie")[:1]:
        applicant = Actor(ActorKind.APPLICANT, person.applicant_id)
        state_claim(application_id=person.id, code="", actor=applicant)
        decide_claim(application_id=person.id, confirms=True, actor=staff)


def _move_last_ahead(job: Job, staff: Actor) -> None:
    people = list(_waiting(job).order_by("-ticket", "-tie")[:2])
    if len(people) > 1:
        why = ExceptionReason.OUR_ERROR
        move_ahead(application_id=people[0].id, reason=why, actor=staff, text=WHY_AHEAD)


def _waiting(job: Job) -> QuerySet[Application]:
    return Application.objects.filter(job=job, status=Status.WAITLIST, verify_by=None)
