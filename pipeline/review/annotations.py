"""Notes, tags, links and the assignee of an application: adding and removing them."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from uuid import UUID

from django.db import connection, transaction
from django.db.models.functions import Now

from applicants.models import ERASED_NAME
from jobs.models import Job
from pipeline.domain.errors import (
    ApplicationNotFound,
    AssigneeNotFound,
    MentionNotFound,
    TooManyAnnotations,
)
from pipeline.domain.permissions import Action
from pipeline.models import (
    Application,
    ApplicationAssignee,
    ApplicationLink,
    ApplicationNote,
    ApplicationTag,
    NoteMention,
)
from pipeline.review.notices import News, tell_colleague
from pipeline.selectors.members import members_allowed

security = logging.getLogger("security")

MOST_NOTES, MOST_TAGS, MOST_LINKS = 100, 20, 20


@contextmanager
def annotated_application(application_id: UUID) -> Iterator[Application]:
    """Lock an application's row, so that its limits hold and its person is not erased meanwhile.

    Raises ApplicationNotFound, also if the person has been erased.
    """
    with transaction.atomic():
        found = Application.objects.select_for_update(of=("self",), no_key=True)
        application = found.exclude(name=ERASED_NAME).filter(id=application_id).first()
        if application is None:
            raise ApplicationNotFound
        yield application


def add_note(
    *,
    application_id: UUID,
    text: str,
    author_id: UUID,
    mentioned: Collection[UUID] = (),
) -> ApplicationNote:
    """Add a member's note, and tell the colleagues whom it mentions.

    Raises ApplicationNotFound, TooManyAnnotations, and MentionNotFound unless all of them are
    members who may see the job.
    """
    with annotated_application(application_id) as application:
        if application.notes.count() >= MOST_NOTES:
            raise TooManyAnnotations(limit=MOST_NOTES, things="notes")
        note = application.notes.create(text=text, author_id=author_id)
        if mentioned:
            _mention(application, note, set(mentioned))
        return note


def _mention(application: Application, note: ApplicationNote, user_ids: set[UUID]) -> None:
    job = Job.objects.only("company_id").get(id=application.job_id)
    team = members_allowed(Action.READ_JOB, company_id=job.company_id, job_id=job.id)
    members = list(team.filter(user_id__in=user_ids).order_by("id"))
    if len(members) != len(user_ids):
        raise MentionNotFound
    NoteMention.objects.bulk_create(
        NoteMention(note=note, user_id=member.user_id) for member in members
    )
    for member in members:
        if member.user_id != note.author_id:
            tell_colleague(member, application, News.MENTIONED)


def remove_note(*, application_id: UUID, note_id: int, company_id: UUID, member_id: UUID) -> None:
    """Remove a note, if it is there. The security log notes that, without the text."""
    removed, _ = ApplicationNote.objects.filter(application_id=application_id, id=note_id).delete()
    if removed:
        ids = {"company": company_id, "member": member_id, "application": application_id}
        security.info("note.removed", extra={name: str(value) for name, value in ids.items()})


def normalised_tag(text: str) -> str:
    """Return a tag as it is stored: in lower case, with single spaces."""
    return " ".join(text.lower().split())


def add_tag(*, application_id: UUID, word: str) -> ApplicationTag:
    """Add a tag, normalised. Adding it twice changes nothing.

    Raises ApplicationNotFound, TooManyAnnotations.
    """
    word = normalised_tag(word)
    with annotated_application(application_id) as application:
        if known := application.tags.filter(word=word).first():
            return known
        if application.tags.count() >= MOST_TAGS:
            raise TooManyAnnotations(limit=MOST_TAGS, things="tags")
        return application.tags.create(word=word, job_id=application.job_id)


def remove_tag(*, application_id: UUID, word: str) -> None:
    """Remove a tag, if it is there."""
    ApplicationTag.objects.filter(application_id=application_id, word=word).delete()


def add_link(*, application_id: UUID, url: str, label: str) -> ApplicationLink:
    """Add a link. Raises ApplicationNotFound, TooManyAnnotations."""
    with annotated_application(application_id) as application:
        if application.links.count() >= MOST_LINKS:
            raise TooManyAnnotations(limit=MOST_LINKS, things="links")
        return application.links.create(url=url, label=label or url[:100])


def remove_link(*, application_id: UUID, link_id: int) -> None:
    """Remove a link, if it is there."""
    ApplicationLink.objects.filter(application_id=application_id, id=link_id).delete()


def assign_application(
    *, application_id: UUID, company_id: UUID, user_id: UUID | None, by_id: UUID | None = None
) -> ApplicationAssignee | None:
    """Assign an application to a member of the company, or with None to nobody.

    The member is told, unless they did it themselves or had it already. Raises AssigneeNotFound if
    the account is not a member who may see the job, ApplicationNotFound.
    """
    with annotated_application(application_id) as application:
        if user_id is None:
            ApplicationAssignee.objects.filter(application=application).delete()
            return None
        team = members_allowed(Action.READ_JOB, company_id=company_id, job_id=application.job_id)
        member = team.filter(user_id=user_id).first()
        if member is None:
            raise AssigneeNotFound
        assigned, is_new = ApplicationAssignee.objects.get_or_create(
            application=application, defaults={"user_id": user_id, "job_id": application.job_id}
        )
        if not is_new and assigned.user_id == user_id:
            return assigned
        if not is_new:
            assigned.user_id, assigned.assigned_at = user_id, Now()
            assigned.save(update_fields=["user", "assigned_at"])
        if user_id != by_id:
            tell_colleague(member, application, News.ASSIGNED)
        return assigned


# In one statement, because retention ends under the lock of the job.
_FORGET = """
WITH mentions AS (
    DELETE FROM pipeline_notemention WHERE note_id IN (
        SELECT id FROM pipeline_applicationnote WHERE application_id = ANY(%(ids)s)
    )
),
tags AS (DELETE FROM pipeline_applicationtag WHERE application_id = ANY(%(ids)s)),
links AS (DELETE FROM pipeline_applicationlink WHERE application_id = ANY(%(ids)s)),
assignees AS (DELETE FROM pipeline_applicationassignee WHERE application_id = ANY(%(ids)s)),
looks AS (UPDATE jobs_activity SET application_id = NULL WHERE application_id = ANY(%(ids)s)),
scores AS (DELETE FROM pipeline_score WHERE application_id = ANY(%(ids)s)),
notices AS (DELETE FROM pipeline_reviewnotice WHERE application_id = ANY(%(ids)s))
DELETE FROM pipeline_applicationnote WHERE application_id = ANY(%(ids)s)
"""


def forget_annotations(application_ids: list[UUID]) -> None:
    """Remove what the members of a company attached to applications, and their reviews' traces."""
    with connection.cursor() as cursor:
        cursor.execute(_FORGET, {"ids": application_ids})
