"""Contests of the demo's past: two people ask to look again, and one gets the place back."""

from __future__ import annotations

from typing import NamedTuple

from jobs.models import User
from pipeline.domain.contests import ContestAnswer, ContestReason
from pipeline.domain.states import Actor, ActorKind, Outcome
from pipeline.management.demo.past import JobPast
from pipeline.management.demo.plans import RECRUITER
from pipeline.models import Application, Contest
from pipeline.services.contests import answer_contest, contest


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


def plan(job: JobPast) -> None:
    """Plan the contests of a job, each about the last person who was not selected by then."""
    for number, each in enumerate(CONTESTS):
        job.plan_at(each.asked_days_ago, record, job=job, text=each.text)
        if each.answered_days_ago is not None:
            values = {"number": number, "text": each.answer_text}
            job.plan_at(each.answered_days_ago, record_answer, job=job, **values)


def record(*, job: JobPast, text: str) -> None:
    """Let the last person who was not selected ask to look again, at the simulated time."""
    rejected = Application.objects.filter(job_id=job.job_id, outcome=Outcome.REJECTED)
    last = rejected.filter(contests=None).latest("ended_at")
    contest(application_id=last.id, text=text, actor=Actor(ActorKind.APPLICANT, last.applicant_id))


def record_answer(*, job: JobPast, number: int, text: str) -> None:
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
