"""Records of a company besides its lines: contests, imports, reports, a schedule, a dead letter."""

from __future__ import annotations

from contextlib import suppress
from datetime import timedelta
from typing import NamedTuple
from uuid import UUID

from django.db.models.functions import Now
from uuid_utils.compat import uuid7

from jobs.models import User
from pipeline.config.demo_addresses import demo_address
from pipeline.domain.contests import ContestAnswer, ContestReason
from pipeline.domain.states import Actor, ActorKind, Outcome
from pipeline.figures import reports
from pipeline.figures.reports import KEY
from pipeline.figures.series import Week
from pipeline.files.imports.admitting import admit_rows
from pipeline.files.imports.starting import start_import
from pipeline.files.imports.tasks import describe_result
from pipeline.management.demo.past import JobPast, PastActs
from pipeline.management.demo.plans import RECRUITER
from pipeline.models import Application, Contest, StoredFile
from pipeline.services.contests import answer_contest, contest
from pipeline.work import schedules
from pipeline.work.schedules import Plan
from pipeline.work.start import TaskRequest, WorkError, start_tasks
from tasks.models import Status as TaskStatus
from tasks.models import Task

REPORTS = 4
_REFUSED_ROWS = (
    "Nora Lind,nora.lind@",
    ",somebody@demo.example",
    "Otto Lind,otto.lind@demo.example",
    "Otto Lind,otto.lind@demo.example",
)
# Days ago, file, number of people, rows that are refused or repeat one.
IMPORTS = ((5.1, "spring-fair.csv", 14, ()), (2.2, "referrals.csv", 9, _REFUSED_ROWS))


def import_people(
    *, job: JobPast, file_name: str, people: list[str], more: tuple[str, ...] = ()
) -> None:
    """Import people at the simulated time, in this process.

    Its task ends at that time too. Columns that the tables fill in themselves are set to the
    simulated time.
    """
    source = file_name.removesuffix(".csv")
    rows = [f"{each},{demo_address(each)},{source}" for each in people]
    content = "\n".join(["name,email,source", *rows, *more]).encode()
    import_id = uuid7()
    task = start_import(
        company_id=job.company_id,
        job_id=job.job_id,
        name=file_name,
        content=[content],
        actor=job.staff,
        producer=f"member:{job.staff.id}",
        file_id=import_id,
    )
    run = admit_rows(import_id)
    StoredFile.objects.filter(id=import_id).update(created_at=Now())
    Task.objects.filter(id=task.id).update(
        created_at=Now(),
        started_at=Now(),
        finished_at=Now(),
        status=TaskStatus.SUCCEEDED,
        attempt=1,
        result=describe_result(run),
    )


def plan_reports(acts: PastActs, job: JobPast) -> None:
    """Plan the reports of the last weeks, each for the Monday morning after its week."""
    week = Week.last_whole(acts.clock.end, "UTC")
    for back in range(REPORTS):
        monday = week.end - timedelta(weeks=back)
        acts.plan(
            min(monday + timedelta(hours=8), acts.clock.end - timedelta(seconds=1)),
            lambda: reports.make(job_id=job.job_id, company_id=job.company_id),
        )


def add_report_schedule(job: JobPast) -> None:
    """Schedule a job's weekly reports, as its page does."""
    schedules.create(
        company_id=job.company_id,
        plan=Plan(
            name="Weekly report of Shipwright",
            cron="0 8 * * 1",
            type_key=KEY,
            payload={"job_id": str(job.job_id), "zone": "UTC"},
        ),
        schedule_id=reports.schedule_id(job.job_id),
        actor=f"member:{job.staff.id}",
    )


def start_failing_task(company_id: UUID, staff_id: UUID) -> None:
    """Start a task that fails until it is a dead letter, where companies may start such tasks."""
    order = TaskRequest("demo.sleep", {"then": "fail", "label": "An example of a failure"})
    with suppress(WorkError):
        start_tasks(company_id=company_id, producer=f"member:{staff_id}", requests=[order])


# Contests of the demo's past: two people ask to look again, and one gets the place back.


class PastContest(NamedTuple):
    """Contest of the past. Without an answer, it still waits for one."""

    asked_days_ago: float
    text: str
    answered_days_ago: float | None = None
    answer_text: str = ""


CONTESTS = (
    PastContest(
        3.6,
        "I sent you my certificate as a caulker the evening before. Did it arrive?",
        2.7,
        "It did, in another mailbox. We are sorry: you have your place back.",
    ),
    PastContest(1.4, "I was told that I may start in March. May I ask for another look?"),
)


def plan_contests(job: JobPast) -> None:
    """Plan the contests of a job, each about the last person who was not selected by then."""
    for number, each in enumerate(CONTESTS):
        job.plan_at(each.asked_days_ago, record_contest, job=job, text=each.text)
        if each.answered_days_ago is not None:
            values = {"number": number, "text": each.answer_text}
            job.plan_at(each.answered_days_ago, record_contest_answer, job=job, **values)


def record_contest(*, job: JobPast, text: str) -> None:
    """Let the last person who was not selected ask to look again, at the simulated time."""
    rejected = Application.objects.filter(job_id=job.job_id, outcome=Outcome.REJECTED)
    last = rejected.filter(contests=None).latest("ended_at")
    contest(application_id=last.id, text=text, actor=Actor(ActorKind.APPLICANT, last.applicant_id))


def record_contest_answer(*, job: JobPast, number: int, text: str) -> None:
    """Give the person of a contest the place back. The answer is not by the member who decided."""
    asked = Contest.objects.filter(job_id=job.job_id).order_by("seq")[number]
    answer_contest(
        contest_id=asked.id,
        application_id=asked.application_id,
        answer=ContestAnswer.CHANGED,
        reason=ContestReason.MAIL_FAILURE,
        actor=Actor(ActorKind.COMPANY, User.objects.get(email=RECRUITER).id),
        text=text,
    )
