"""Members who are told about reviews, and the tasks that tell them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from enum import StrEnum
from uuid import UUID

from django.conf import settings
from django.db import connection
from django.db.models import QuerySet

from applicants.models import Device
from jobs.models import Job, Membership, Telling
from pipeline.domain.permissions import Action
from pipeline.models import Application, ApplicationAssignee, JobFollower, ReviewNotice
from pipeline.selectors.members import members_allowed
from tasks.enqueue import NewTask, enqueue_many

# The types of the tasks, whose handlers are in `pipeline.notifications.reviewers`: an email, and a
# notification on devices.
TASK, PUSH_TASK = "email.review", "devices.review"
PRIORITY = 15
MOST_NAMED = 50  # applications in one task; the others have tasks of their own


class News(StrEnum):
    """News for a member about the review of some applications."""

    SEAT = "SEAT"  # someone has taken a seat
    ASSIGNED = "ASSIGNED"
    MENTIONED = "MENTIONED"
    DUE = "DUE"
    OVERDUE = "OVERDUE"
    MESSAGE = "MESSAGE"  # an applicant wrote


# The action for whose sake a member is told: of a seat to score, else of the job's affairs.
_FOR = defaultdict(lambda: Action.READ_JOB, {News.SEAT: Action.READ_APPLICATION})


def members_concerned(news: News, *, company_id: UUID, job_id: UUID) -> QuerySet[Membership]:
    """Return the members who may see what the news are about."""
    team = members_allowed(_FOR[news], company_id=company_id, job_id=job_id)
    return team.filter(user__is_active=True)


def read_tellings(job: Job, news: News) -> list[tuple[Membership, Telling]]:
    """Return how each member who may see it is told news about a job, in two queries."""
    chosen = dict(JobFollower.objects.filter(job_id=job.id).values_list("user_id", "telling"))
    team = members_concerned(news, company_id=job.company_id, job_id=job.id)
    return [
        (member, Telling(chosen.get(member.user_id, member.telling)))
        for member in team.order_by("id")
    ]


def read_telling(member: Membership, job_id: UUID) -> Telling:
    """Return how a member is told about a job, in one query."""
    chosen = JobFollower.objects.filter(job_id=job_id, user_id=member.user_id)
    return Telling(chosen.values_list("telling", flat=True).first() or member.telling)


_NOTE_ONCE = """
INSERT INTO pipeline_reviewnotice (application_id, since, kind)
SELECT id, since, %(kind)s
FROM unnest(%(ids)s::uuid[], %(times)s::timestamptz[]) seat (id, since)
ON CONFLICT DO NOTHING RETURNING application_id
"""


def note_once(seats: Iterable[tuple[UUID, datetime]], kind: ReviewNotice.Kind) -> list[UUID]:
    """Record a step of the reviews that began at these times; return those that are new here.

    Part of the caller's transaction, which takes the step. Of two at the same time, one waits for
    the other's commit.
    """
    in_order = sorted(seats)
    ids, times = [seat[0] for seat in in_order], [seat[1] for seat in in_order]
    with connection.cursor() as cursor:
        cursor.execute(_NOTE_ONCE, {"kind": kind.value, "ids": ids, "times": times})
        return [application_id for (application_id,) in cursor.fetchall()]


def tell(job: Job, news: News, application_ids: Collection[UUID]) -> int:
    """Enqueue the emails about some applications, and the notifications; return how many emails.

    They go to an application's assignee, else to everyone: emails to those who want to be told at
    once, notifications to those who have switched them on and want to be told at all. What is
    overdue also goes to members who want alerts. Part of the caller's transaction.
    """
    team = read_tellings(job, news)
    deciders = _read_deciders(job) if news is News.OVERDUE else set()
    with_device = _read_users_with_device([member.user_id for member, _how in team])
    rows = ApplicationAssignee.objects.filter(application_id__in=application_ids)
    assignees = dict(rows.values_list("application_id", "user_id"))
    told: dict[str, dict[int, list[UUID]]] = {TASK: defaultdict(list), PUSH_TASK: defaultdict(list)}
    for application_id in application_ids:
        reviewers = [each for each in team if each[0].user_id == assignees.get(application_id)]
        for member, how in team:
            is_reviewer = not reviewers or (member, how) in reviewers
            is_alerted = member.id in deciders and _is_alerted(member, how, is_reviewer)
            if is_alerted or (is_reviewer and how == Telling.AT_ONCE):
                told[TASK][member.id].append(application_id)
            is_wanted = is_alerted or (is_reviewer and how != Telling.NEVER)
            if is_wanted and member.user_id in with_device:
                told[PUSH_TASK][member.id].append(application_id)
    for member_id, ids in sorted(told[PUSH_TASK].items()):
        tell_member(member_id, job.id, news, ids, by=PUSH_TASK)
    return sum(tell_member(each, job.id, news, ids) for each, ids in sorted(told[TASK].items()))


def _read_users_with_device(user_ids: Collection[UUID]) -> set[UUID | None]:
    """Return who has switched notifications on; no query on a site without a key for them."""
    if not settings.VAPID_PRIVATE_KEY:
        return set()
    return set(Device.objects.filter(user_id__in=user_ids).values_list("user_id", flat=True))


def _read_deciders(job: Job) -> set[int]:
    team = members_allowed(Action.DECIDE, company_id=job.company_id, job_id=job.id)
    return set(team.values_list("id", flat=True))


def _is_alerted(member: Membership, how: Telling, is_reviewer: bool) -> bool:
    return how != Telling.NEVER and (is_reviewer or member.alerts)


def tell_member(
    membership_id: int,
    job_id: UUID,
    news: News,
    application_ids: Sequence[UUID],
    *,
    by: str = TASK,
) -> int:
    """Enqueue the emails, or notifications, to a member about some applications; return how many.

    Part of the caller's transaction.
    """
    about = [str(each) for each in application_ids]
    common = {"membership": membership_id, "job_id": str(job_id), "news": news.value}
    tasks = [
        NewTask(by, common | {"applications": about[n : n + MOST_NAMED]}, priority=PRIORITY)
        for n in range(0, len(about), MOST_NAMED)
    ]
    return len(enqueue_many(tasks)) if tasks else 0


def tell_colleague(member: Membership, application: Application, news: News) -> None:
    """Enqueue the email to a member who was assigned or mentioned, if they want it at once.

    And the notification, if they have switched it on. Part of the caller's transaction.
    """
    how = read_telling(member, application.job_id)
    if how == Telling.AT_ONCE:
        tell_member(member.id, application.job_id, news, [application.id])
    if how != Telling.NEVER and _read_users_with_device([member.user_id]):
        tell_member(member.id, application.job_id, news, [application.id], by=PUSH_TASK)
