"""Threads of messages between a company and an applicant, one for each application."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.conf import settings
from django.db import connection, transaction
from django.db.models import Count, Q
from uuid_utils.compat import uuid7

from applicants.mail import NOWHERE
from applicants.models import ERASED_NAME
from applicants.texts import plain_text
from pipeline.attachments import uploads
from pipeline.database import instants
from pipeline.domain.errors import ApplicationNotFound, MessagesNotPossible, TooManyMessages
from pipeline.domain.permissions import Action
from pipeline.models import (
    MESSAGE_LENGTH,
    Application,
    ApplicationMessage,
    Attachment,
    EmailState,
)
from pipeline.notifications.applicants import OF_COMPANY, TOO_MANY
from pipeline.review.decisions import announce
from pipeline.selectors.pages import Page
from pipeline.web import rate_limit
from pipeline.web.rate_limit import Rate
from tasks.enqueue import enqueue

# Whoever may decide may write: the one place that says so, for pages and API.
WRITE = Action.DECIDE
# The types of the tasks, whose handlers are in `pipeline.correspondence.tasks`: the email to the
# applicant, and what follows an applicant's message.
EMAIL_TASK, FOLLOW_TASK = "message.email", "message.follow"
# A person may be waiting for the answer; offers and codes go first.
PRIORITY = 15
DAY_SECONDS = 86_400
# Messages to a thread in a day that are not shown as the applicant's own.
MOST_UNPROVED = 5
SHOWN = 50

Side, Way = ApplicationMessage.Side, ApplicationMessage.Way
Unproved = ApplicationMessage.Unproved


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """Message to be written. `id`: that of the new message, so that a repetition finds it.

    `upload_ids` are uploads of `holder`. `seen`: the last message that the writer had in front of
    them; None: all that there are. `about_job_id`: the new job that a message to the talent pool is
    about. The rest is about a message that came by email.
    """

    text: str
    id: UUID | None = None
    way: ApplicationMessage.Way = Way.PAGE
    author_id: UUID | None = None
    upload_ids: Sequence[UUID] = ()
    holder: bytes = b""
    seen: UUID | None = None
    unproved: str = ""
    sender: str = ""
    left_out: str = ""
    about_job_id: UUID | None = None


@transaction.atomic
def write(
    *, application_id: UUID, side: ApplicationMessage.Side, draft: Draft
) -> ApplicationMessage:
    """Add a message to an application's thread; a task then tells the other side.

    Writing it again under the same id changes nothing. Raises ApplicationNotFound, also if the
    person has been erased, or if the id is another thread's; MessagesNotPossible to an address that
    nobody has proved; TooManyMessages; and the errors of `uploads.attach`.
    """
    application = lock_application(application_id)
    if draft.id and (made := ApplicationMessage.objects.filter(id=draft.id).first()):
        if made.application_id != application_id:
            raise ApplicationNotFound
        return made
    if side == Side.COMPANY and not application.is_verified:
        raise MessagesNotPossible
    _count(application, side, is_unproved=bool(draft.unproved))
    job = application.job
    message = ApplicationMessage(
        id=draft.id or uuid7(),
        application=application,
        job_id=job.id,
        side=side,
        way=draft.way,
        author_id=draft.author_id,
        text=plain_text(draft.text)[:MESSAGE_LENGTH],
        unproved=draft.unproved,
        sender=draft.sender,
        left_out=draft.left_out,
        about_job_id=draft.about_job_id,
        written_at=instants.now(ahead_seconds=job.clock_offset_seconds),
        **(_email_fields(application) if side == Side.COMPANY else {}),
    )
    message.save(force_insert=True)
    uploads.attach(
        draft.upload_ids,
        job_id=job.id,
        application_id=application_id,
        question_id=None,
        message_id=message.id,
        holder=draft.holder,
    )
    if not draft.unproved:
        _mark_seen(message, draft.seen)
    if side == Side.APPLICANT:
        enqueue(FOLLOW_TASK, {"message": str(message.id)}, priority=PRIORITY)
    elif message.email_state == EmailState.QUEUED:
        enqueue(EMAIL_TASK, {"message": str(message.id)}, priority=PRIORITY)
    transaction.on_commit(lambda: announce(job.id))
    return message


def lock_application(application_id: UUID) -> Application:
    """Lock an application's row, which an erasure changes first. Raises ApplicationNotFound."""
    found = Application.objects.select_for_update(of=("self",), no_key=True)
    rows = found.select_related("job").exclude(name=ERASED_NAME)
    application = rows.filter(id=application_id).first()
    if application is None:
        raise ApplicationNotFound
    return application


def _count(application: Application, side: str, *, is_unproved: bool) -> None:
    """Count a message of one side to the other in a day. Raises TooManyMessages."""
    if is_unproved:
        subject, most = f"unproved {application.id}", MOST_UNPROVED
    else:
        subject = f"{side} {application.job.company_id} {application.applicant_id}"
        most = settings.MESSAGES_PER_DAY
    tally = rate_limit.count("messages", subject, Rate(most, DAY_SECONDS))
    if not tally.allowed:
        raise TooManyMessages(limit=most, wait_seconds=tally.wait_seconds)


def _email_fields(application: Application) -> dict[str, str]:
    """Return the state of the email that brings a message, before it is sent.

    It counts among the emails of the company to this person. None leaves a sandbox.
    """
    if application.job.is_test:
        return {"email_state": EmailState.SENT}
    if not settings.NOTIFY or settings.EMAIL_BACKEND == NOWHERE:
        return {}
    subject = f"{application.job.company_id} {application.applicant_id}"
    if rate_limit.count("email_of_company", subject, OF_COMPANY).allowed:
        return {"email_state": EmailState.QUEUED}
    return {"email_state": EmailState.FAILED, "email_problem": TOO_MANY}


def mark_read(*, application_id: UUID, reader: ApplicationMessage.Side, until: UUID) -> None:
    """Note that one side has read the other's messages, up to and with the message `until`.

    Repeating it changes nothing.
    """
    rows = ApplicationMessage.objects.select_related("job")
    last = rows.filter(application_id=application_id, id=until).first()
    if last is None:
        return
    now = instants.now(ahead_seconds=last.job.clock_offset_seconds)
    if _mark_read(application_id, reader=reader, until=last.written_at, at=now):
        announce(last.job_id)


def _mark_seen(answer: ApplicationMessage, last_id: UUID | None) -> None:
    """Note that the writer of an answer has read what they had in front of them."""
    at = answer.written_at
    until = at
    if last_id:
        thread = ApplicationMessage.objects.filter(application_id=answer.application_id)
        until = thread.filter(id=last_id).values_list("written_at", flat=True).first() or at
    _mark_read(answer.application_id, reader=answer.side, until=until, at=at)


def _mark_read(application_id: UUID, *, reader: str, until: datetime, at: datetime) -> int:
    others = ApplicationMessage.objects.filter(application_id=application_id, read_at=None)
    return others.exclude(side=reader).filter(written_at__lte=until).update(read_at=at)


def forget(application_ids: Collection[UUID]) -> list[UUID]:
    """Remove all messages of applications, and the people from bulk messages; return their ids.

    Their files go with those of the application. Inside the caller's transaction, in one statement,
    because retention ends under the lock of the job.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            """
            WITH bulk AS (
                DELETE FROM pipeline_bulkmessageitem WHERE application_id = ANY(%(ids)s)
            )
            DELETE FROM pipeline_applicationmessage WHERE application_id = ANY(%(ids)s)
            RETURNING id
            """,
            {"ids": list(application_ids)},
        )
        return [message_id for (message_id,) in cursor.fetchall()]


# Reads.


@dataclass(frozen=True, slots=True)
class ShownMessage:
    """A message with its files, for the people of a thread."""

    row: ApplicationMessage
    files: list[Attachment]

    @property
    def is_from_company(self) -> bool:
        """Return whether the company wrote it."""
        return self.row.side == Side.COMPANY

    @property
    def author_name(self) -> str:
        """Return the name of the member who wrote it, as they gave it; else empty.

        Applicants read it, so it is never the member's address.
        """
        return self.row.author.name if self.row.author else ""

    @property
    def has_bounced(self) -> bool:
        """Tell whether its email did not arrive."""
        return self.row.email_state in (EmailState.FAILED, EmailState.BOUNCED)


def read_thread(
    application_id: UUID, *, before: tuple[datetime, UUID] | None = None, limit: int = SHOWN
) -> Page[ShownMessage]:
    """Return the messages of a thread, newest first, in two queries.

    `before`: the time and the id of the last message of the page before.
    """
    rows = ApplicationMessage.objects.filter(application_id=application_id)
    if before:
        at, message_id = before
        rows = rows.filter(Q(written_at__lt=at) | Q(written_at=at, id__lt=message_id))
    found = list(rows.select_related("author").order_by("-written_at", "-id")[: limit + 1])
    return Page.cut(with_files(application_id, found), limit)


def with_files(application_id: UUID, rows: Sequence[ApplicationMessage]) -> list[ShownMessage]:
    """Return messages of a thread with their files, in one query."""
    files: dict[UUID | None, list[Attachment]] = {}
    sent = Attachment.objects.filter(
        application_id=application_id, message_id__in=[row.id for row in rows]
    )
    for file in sent.order_by("id"):
        files.setdefault(file.message_id, []).append(file)
    return [ShownMessage(row, files.get(row.id, [])) for row in rows]


def count_unread(application_ids: Collection[UUID], *, reader: ApplicationMessage.Side) -> int:
    """Return how many messages to one side in these threads are not read yet, in one query."""
    unread = ApplicationMessage.objects.filter(application_id__in=application_ids, read_at=None)
    return unread.exclude(side=reader).count()


def count_unread_of_job(job_id: UUID) -> int:
    """Return how many of a job's applicants wrote what the company has not read, in one query."""
    unread = ApplicationMessage.objects.filter(job_id=job_id, side=Side.APPLICANT, read_at=None)
    return unread.aggregate(threads=Count("application_id", distinct=True))["threads"] or 0


@dataclass(frozen=True, slots=True)
class UnreadThread:
    """A thread with messages that the applicant has not read."""

    application_id: UUID
    company: str
    number: int


def read_unread_of_person(applicant_id: UUID) -> list[UnreadThread]:
    """Return a person's threads with unread messages, in one query. Those of sandboxes are not."""
    unread = ApplicationMessage.objects.filter(
        application__applicant_id=applicant_id, side=Side.COMPANY, read_at=None, job__is_test=False
    )
    rows = unread.values_list("application_id", "job__company__name").annotate(Count("id"))
    return [UnreadThread(*row) for row in rows.order_by("application_id")]


@dataclass(frozen=True, slots=True)
class ListedThread:
    """A thread in the list of a job's: its latest message, and how many the company has to read."""

    message: ApplicationMessage
    unread: int


# Threads with unread messages come first, then the latest.
_THREADS = """
SELECT DISTINCT ON (message.application_id) message.id, unread.number
FROM pipeline_applicationmessage message CROSS JOIN LATERAL (
    SELECT count(*) AS number FROM pipeline_applicationmessage other
    WHERE other.application_id = message.application_id
      AND other.side = 'APPLICANT' AND other.read_at IS NULL
) unread
WHERE message.job_id = %(job)s
ORDER BY message.application_id, message.written_at DESC, message.id DESC
"""


def read_threads_of_job(job_id: UUID, *, start: int, limit: int) -> Page[ListedThread]:
    """Return a job's threads, first those with unread messages, each group by time, newest first.

    In two queries. `start`: how many to pass over.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            f"""
            SELECT threads.id, threads.number FROM ({_THREADS}) threads
            JOIN pipeline_applicationmessage latest ON latest.id = threads.id
            ORDER BY threads.number > 0 DESC, latest.written_at DESC, threads.id DESC
            OFFSET %(start)s LIMIT %(most)s
            """,  # noqa: S608  a constant of this module
            {"job": job_id, "start": start, "most": limit + 1},
        )
        found = cursor.fetchall()
    rows = ApplicationMessage.objects.select_related("application__applicant", "author")
    by_id = rows.in_bulk([message_id for message_id, _ in found])
    listed = [ListedThread(by_id[each], number) for each, number in found if each in by_id]
    return Page.cut(listed, limit)


def read_for_person(applicant_id: UUID) -> dict[UUID, list[ApplicationMessage]]:
    """Return all messages of a person's threads by application, oldest first, in one query."""
    found: dict[UUID, list[ApplicationMessage]] = {}
    rows = ApplicationMessage.objects.filter(application__applicant_id=applicant_id)
    for row in rows.select_related("author").order_by("written_at", "id"):
        found.setdefault(row.application_id, []).append(row)
    return found
