"""Bulk messages: one text to many people, sent bit by bit, with a stop.

They go to the people of a job in one stage, or tell people in the company's talent pool of a job:
each in the thread of the application with which they agreed to that, and once for each job.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet
from django.db.models.functions import Now
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from applicants.models import ERASED_NAME
from jobs import activity
from jobs.models import Job, JobStatus
from pipeline.consents import pool
from pipeline.correspondence import templates, threads
from pipeline.correspondence.templates import Values
from pipeline.correspondence.threads import Draft, Side
from pipeline.domain.errors import JobNotFound, LineError, MessagesNotPossible
from pipeline.domain.states import Outcome, Status
from pipeline.models import Agreement, Application, BulkMessage, BulkMessageItem
from tasks.enqueue import enqueue

TASK = "message.bulk"  # the type of the task
# Other emails go first.
PRIORITY = -20
SLICES_PER_MINUTE = 6
PREVIEWED, LISTED = 3, 5

State = BulkMessageItem.State

WROTE_TO_POOL = activity.declare(
    "pool.told",
    activity.Group.MESSAGES,
    gettext_lazy("Told people in the talent pool of a job: %(people)s"),
)


class BulkRefused(Exception):
    """A bulk message cannot be sent to these people. The message says why."""


class Stage(StrEnum):
    """Stage of a job's people, by which a bulk message chooses them."""

    WAITLIST = Status.WAITLIST.value
    PENDING = Status.PENDING_ACKNOWLEDGMENT.value
    ACTIVE = Status.ACTIVE.value
    HIRED = Outcome.HIRED.value
    REJECTED = Outcome.REJECTED.value


# In place of a stage: people in the talent pool, whom the message tells of the job.
POOL = "POOL"


def find_people(job_id: UUID, stage: Stage) -> QuerySet[Application]:
    """Return the applications in a stage whose people can be written to."""
    rows = Application.objects.filter(job_id=job_id, verify_by=None).exclude(name=ERASED_NAME)
    if stage in (Stage.HIRED, Stage.REJECTED):
        return rows.filter(status=Status.INACTIVE, outcome=stage.value)
    return rows.filter(status=stage.value)


def values_for(job: Job, application: Application, author_name: str) -> Values:
    """Return what the fields of a text stand for in the message to one person."""
    return Values(application.name, job.posting.title, job.company.name, author_name)


def preview(
    job: Job, people: QuerySet[Application], text: str, author_name: str
) -> list[tuple[Application, str]]:
    """Return the messages that the first few people would get. Raises UnusableText."""
    first = people.order_by("id")[:PREVIEWED]
    return [(each, templates.fill(text, values_for(job, each, author_name))) for each in first]


@transaction.atomic(durable=True)
def start(*, bulk_id: UUID, job_id: UUID, stage: Stage, text: str, author_id: UUID) -> BulkMessage:
    """Begin to send a text to everyone in a stage now; a task goes on.

    Repeating it under the same id changes nothing. Raises UnusableText, BulkRefused for
    nobody or too many people, and JobNotFound if the id is that of another job's.
    """
    bulk, is_new = _begin(bulk_id, job_id, text, author_id, stage.value)
    if is_new:
        nobody = _("Nobody is in this stage now who has proved their address.")
        many = _("More than %(most)s people are in this stage. That is the most for one message.")
        _add_people(bulk, find_people(job_id, stage), nobody, many)
    return bulk


@transaction.atomic(durable=True)
def start_to_pool(
    *, bulk_id: UUID, job: Job, members: QuerySet[Agreement], text: str, author_id: UUID
) -> BulkMessage:
    """Begin to tell some members of the company's talent pool of an open job; a task goes on.

    Whoever has applied to it or was told of it is left out. Raises as `start` does, and BulkRefused
    if the job takes no applications.
    """
    bulk, is_new = _begin(bulk_id, job.id, text, author_id, POOL)
    if is_new:
        if job.status != JobStatus.OPEN:
            raise BulkRefused(_("This job takes no applications now. Open it first."))
        nobody = _("Nobody among them can be told of this job.")
        many = _("These are more than %(most)s people. That is the most for one message.")
        _add_people(bulk, pool.find_to_write(members, job.id), nobody, many)
        about = {"people": bulk.items.count()}
        activity.note(
            WROTE_TO_POOL, company_id=job.company_id, by=author_id, job_id=job.id, about=about
        )
    return bulk


def _begin(
    bulk_id: UUID, job_id: UUID, text: str, author_id: UUID, stage: str
) -> tuple[BulkMessage, bool]:
    templates.check_fields(text)
    given = {"job_id": job_id, "author_id": author_id, "text": text, "stage": stage}
    bulk, is_new = BulkMessage.objects.get_or_create(id=bulk_id, defaults=given)
    if bulk.job_id != job_id:
        raise JobNotFound
    return bulk, is_new


def _add_people(bulk: BulkMessage, people: QuerySet[Application], nobody: str, many: str) -> None:
    ids = list(people.values_list("id", flat=True)[: _most() + 1])
    if not ids:
        raise BulkRefused(nobody)
    if len(ids) > _most():
        raise BulkRefused(many % {"most": f"{_most():,}"})
    BulkMessageItem.objects.bulk_create(
        BulkMessageItem(bulk=bulk, application_id=each) for each in sorted(ids)
    )
    _enqueue(bulk.id)


def _most() -> int:
    return int(settings.BULK_MESSAGE_PEOPLE)


def _enqueue(bulk_id: UUID, *, after_seconds: float = 0) -> None:
    run_after = timezone.now() + timedelta(seconds=after_seconds) if after_seconds else None
    enqueue(TASK, {"bulk": str(bulk_id)}, run_after=run_after, priority=PRIORITY)


def send_slice(bulk_id: UUID) -> int:
    """Send the next messages of a bulk message, and return how many people are left.

    A task for the next slice follows at the site's rate. Safe to run again, also at the same time:
    each message has the id of its person's item.
    """
    rows = BulkMessage.objects.select_related("author", "job__posting", "job__company")
    bulk = rows.filter(id=bulk_id, finished_at=None).first()
    if bulk is None:
        return 0
    if bulk.stage == POOL and bulk.job.status != JobStatus.OPEN:
        stop(bulk_id=bulk.id, job_id=bulk.job_id)
        return 0
    per_minute: int = settings.BULK_MESSAGES_PER_MINUTE
    number = max(1, per_minute // SLICES_PER_MINUTE)
    waiting = bulk.items.filter(state=State.WAITING).select_related("application")
    for item in waiting.order_by("id")[:number]:
        _send_one(bulk, item)
    left = waiting.count()
    if left:
        _enqueue(bulk.id, after_seconds=60 * number / per_minute)
    else:
        _finish(bulk.id)
    return left


class _Stopped(Exception):
    """The person's message was stopped or sent meanwhile."""


def _send_one(bulk: BulkMessage, item: BulkMessageItem) -> None:
    """Write one person's message. The application is locked first, as by an erasure."""
    mine = BulkMessageItem.objects.filter(id=item.id, state=State.WAITING)
    author_name = bulk.author.name if bulk.author else ""
    values = values_for(bulk.job, item.application, author_name or bulk.job.company.name)
    draft = Draft(
        id=item.id,
        text=templates.fill(bulk.text, values),
        author_id=bulk.author_id,
        about_job_id=bulk.job_id if bulk.stage == POOL else None,
    )
    try:
        with transaction.atomic():
            if draft.about_job_id:
                _check_member(item.application_id, bulk.job)
            threads.write(application_id=item.application_id, side=Side.COMPANY, draft=draft)
            if not mine.update(state=State.SENT):
                raise _Stopped
    except _Stopped:
        return
    except LineError:
        mine.update(state=State.LEFT_OUT)


def _check_member(application_id: UUID, about_job: Job) -> None:
    """Check that a person can be told of a job, and keep them from leaving the pool until then.

    Two messages about one job wait for each other here. Raises MessagesNotPossible, and
    ApplicationNotFound once the person is erased.
    """
    application = threads.lock_application(application_id)
    is_member = pool.hold(application, about_job.company)
    if not is_member or pool.was_told(application.applicant_id, about_job.id):
        raise MessagesNotPossible


@transaction.atomic
def _finish(bulk_id: UUID) -> None:
    BulkMessage.objects.filter(id=bulk_id, finished_at=None).update(finished_at=Now(), text="")


def stop(*, bulk_id: UUID, job_id: UUID) -> int:
    """Send nothing more of a bulk message; return to how many people it does not go.

    Messages that are written already stay. Stopping it twice returns 0.
    """
    with transaction.atomic():
        found = BulkMessage.objects.filter(id=bulk_id, job_id=job_id, finished_at=None)
        if not found.update(stopped_at=Now()):
            return 0
        items = BulkMessageItem.objects.filter(bulk_id=bulk_id, state=State.WAITING)
        stopped = items.update(state=State.STOPPED)
        _finish(bulk_id)
    return stopped


def give_up(bulk_id: UUID) -> None:
    """Leave out the remaining people, when the last attempt has failed."""
    left = BulkMessageItem.objects.filter(bulk_id=bulk_id, state=State.WAITING)
    left.update(state=State.LEFT_OUT)
    _finish(bulk_id)


@dataclass(frozen=True, slots=True)
class Progress:
    """Progress of a bulk message, in people."""

    total: int
    sent: int
    left_out: int
    stopped: int

    @property
    def done(self) -> int:
        """Return for how many people it is over."""
        return self.sent + self.left_out + self.stopped

    @property
    def percent(self) -> int:
        """Return the share of them in percent."""
        return 100 * self.done // self.total if self.total else 100


def read_latest(job_id: UUID) -> list[BulkMessage]:
    """Return the latest bulk messages of a job, newest first, in one query."""
    rows = BulkMessage.objects.filter(job_id=job_id).select_related("author")
    return list(rows.order_by("-created_at")[:LISTED])


def read_progress(bulk_id: UUID) -> Progress:
    """Return how far a bulk message has come, in one query. People erased since are not counted."""
    states = Counter(
        BulkMessageItem.objects.filter(bulk_id=bulk_id).values_list("state", flat=True)
    )
    return Progress(
        states.total(), states[State.SENT], states[State.LEFT_OUT], states[State.STOPPED]
    )
