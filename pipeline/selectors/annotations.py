"""Reads of notes, tags, links and assignees of applications."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from django.db import connection
from django.db.models import Exists, F, OuterRef, QuerySet

from jobs.models import Membership
from pipeline.models import (
    ApplicationAssignee,
    ApplicationLink,
    ApplicationNote,
    ApplicationTag,
)

# Tags that a filter offers.
MOST_TAGS_OFFERED = 100


@dataclass(slots=True)
class Annotations:
    """Notes, newest first, tags, links and the assignee of an application."""

    notes: list[ApplicationNote] = field(default_factory=list)
    tags: list[str] = field(default_factory=list)
    links: list[ApplicationLink] = field(default_factory=list)
    assignee: str = ""
    assignee_id: UUID | None = None

    @property
    def stamp(self) -> str:
        """Return a text that changes whenever any annotation does."""
        ids = [note.id for note in self.notes], [link.id for link in self.links]
        return f"{ids}{self.tags}{self.assignee_id}"

    def for_the_person(self) -> dict[str, Any]:
        """Return notes, tags and links as the applicant may see them, without members' names."""
        return {
            "notes": [{"text": note.text, "written_at": note.written_at} for note in self.notes],
            "tags": self.tags,
            "links": [{"label": link.label, "url": link.url} for link in self.links],
        }


def annotations_of(application_ids: Collection[UUID]) -> dict[UUID, Annotations]:
    """Return the annotations of each application, in four queries."""
    condition: dict[str, Any] = {"application_id__in": list(application_ids)}
    found = {application_id: Annotations() for application_id in application_ids}
    for note in (
        ApplicationNote.objects.filter(**condition).select_related("author").order_by("-id")
    ):
        found[note.application_id].notes.append(note)
    for row_id, word in _annotation_tags_of(condition):
        found[row_id].tags.append(word)
    for link in ApplicationLink.objects.filter(**condition).order_by("id"):
        found[link.application_id].links.append(link)
    for assigned in _annotation_assignees_still_members(condition).select_related("user"):
        found[assigned.application_id].assignee = assigned.user.email
        found[assigned.application_id].assignee_id = assigned.user_id
    return found


def row_annotations_of(application_ids: Collection[UUID]) -> dict[UUID, Annotations]:
    """Return only the tags and the assignee of each application in a list, in two queries."""
    condition: dict[str, Any] = {"application_id__in": list(application_ids)}
    found = {application_id: Annotations() for application_id in application_ids}
    for row_id, word in _annotation_tags_of(condition):
        found[row_id].tags.append(word)
    for row_id, email in _annotation_assignees_still_members(condition).values_list(
        "application_id", "user__email"
    ):
        found[row_id].assignee = email
    return found


def _annotation_tags_of(condition: dict[str, Any]) -> Iterable[tuple[UUID, str]]:
    tags = ApplicationTag.objects.filter(**condition).order_by("word")
    return tags.values_list("application_id", "word")


def _annotation_assignees_still_members(condition: dict[str, Any]) -> QuerySet[ApplicationAssignee]:
    """Return the assignees who are still members of the company."""
    theirs = Membership.objects.filter(
        user_id=OuterRef("user_id"), company_id=OuterRef("job__company_id")
    )
    return ApplicationAssignee.objects.filter(Exists(theirs), **condition)


# Goes from each tag to the next one in the index, past all applications that have it.
_TAGS_IN_JOB = """
WITH RECURSIVE tag (word) AS (
    (SELECT word FROM pipeline_applicationtag WHERE job_id = %(job)s ORDER BY word LIMIT 1)
    UNION ALL
    SELECT (SELECT word FROM pipeline_applicationtag
            WHERE job_id = %(job)s AND word > tag.word ORDER BY word LIMIT 1)
    FROM tag WHERE tag.word IS NOT NULL
)
SELECT word FROM tag WHERE word IS NOT NULL LIMIT %(most)s
"""


def annotation_tags_in_job(job_id: UUID) -> list[str]:
    """Return the first tags that a job's applications have, in one query that reads only these."""
    with connection.cursor() as cursor:
        cursor.execute(_TAGS_IN_JOB, {"job": job_id, "most": MOST_TAGS_OFFERED})
        return [word for (word,) in cursor.fetchall()]


def possible_annotation_assignees(company_id: UUID) -> list[tuple[UUID, str]]:
    """Return the ids and addresses of a company's members, in one query."""
    members = Membership.objects.filter(company_id=company_id).annotate(email=F("user__email"))
    return list(members.order_by("email").values_list("user_id", "email"))
