"""Read of everything that is kept about a person, for that person."""

from __future__ import annotations

from operator import attrgetter
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

from django.db.models import QuerySet, prefetch_related_objects

from applicants import codes
from applicants.models import Applicant, ApplicantToken
from jobs.models import Company
from pipeline.attachments.reads import read_files_of_person
from pipeline.consents import agreements
from pipeline.correspondence.threads import read_for_person
from pipeline.domain.place import PUBLISHED
from pipeline.equality import answers as equality
from pipeline.form import answers
from pipeline.models import (
    Application,
    ApplicationMessage,
    Attachment,
    DecisionText,
    Email,
    Event,
    GroupClaim,
    RemovedLog,
)
from pipeline.selectors.review import read_annotations, read_contest_texts
from pipeline.selectors.scores import read_scores_for_people
from pipeline.sources import origin
from pipeline.wording import sentences
from pipeline.wording.sentences import Reader


def collect(applicant: Applicant) -> dict[str, Any]:
    """Return all data kept about a person, with explanations, without secrets.

    Takes the same number of queries, however much is kept.

    It includes the reason code of a company's decision and what it wrote to the person, and the
    company's notes, tags, links and scores, but not the note of a decision.
    """
    applications, uploads = _collect_applications(applicant.id)
    return {
        "account": {
            "id": applicant.id,
            "email": applicant.email,
            "name": applicant.name,
            "time_zone": applicant.time_zone,
            "language": applicant.language,
            "chosen_language": applicant.chosen_language,
            "reminders": applicant.reminders,
            "created_at": applicant.created_at,
        },
        "applications": applications,
        "uploads": uploads,
        "devices": [
            {
                "name": device.name,
                "push_service": urlsplit(device.endpoint).hostname,
                "created_at": device.created_at,
                "notified_at": device.notified_at,
                "notifications": [
                    {"state": notice.state, "at": notice.at}
                    for notice in sorted(device.notices.all(), key=attrgetter("at"))
                ],
            }
            for device in applicant.devices.order_by("created_at").prefetch_related("notices")
        ],
        "signing_in": {
            "tokens": list(
                ApplicantToken.objects.filter(applicant=applicant)
                .order_by("created_at")
                .values("created_at", "expires_at", "revoked_at")
            ),
            "last_code": codes.find_latest(applicant.email),
        },
    }


def _describe_application(row: Application) -> dict[str, Any]:
    """Return the application itself: its job, its state and place, and where it came from."""
    return {
        "id": row.id,
        "job": row.job.posting.title,
        "job_id": row.job_id,
        "company": row.job.company.name,
        "name": row.name,
        "language": row.language,
        "status": row.status,
        "verified": row.is_verified,
        "outcome": row.outcome,
        "misses": row.decay_count,
        "applied_at": row.applied_at,
        "promoted_at": row.promoted_at,
        "acknowledge_by": row.acknowledge_by,
        "acknowledged_at": row.acknowledged_at,
        "eligible_at": row.eligible_at,
        **{name: getattr(row, name) for name in PUBLISHED},
        "ended_at": row.ended_at,
        "responsible": _describe_controller(row.job.company),
        "came_from": origin.of_row(row.came_from).values if hasattr(row, "came_from") else {},
    }


def _describe_exceptions(row: Application) -> list[dict[str, Any]]:
    return [
        {"seq": each.seq, "at": each.at, "reason": each.reason, "text": each.text}
        for each in (row.exceptions.all() if row.job.exception_count else ())
    ]


def _describe_claim(row: Application) -> dict[str, Any] | None:
    """Return what the person has stated about the group of the job's reserved seats."""
    claim: GroupClaim | None = getattr(row, "claim", None)
    if claim is None:
        return None
    return {
        "group": claim.kind,
        "state": claim.state,
        "stated_at": claim.stated_at,
        "decided_at": claim.decided_at,
        "salt_of_the_digest_in_the_log": bytes(claim.salt).hex(),
    }


def _describe_file(row: Attachment) -> dict[str, Any]:
    """Return the facts of a file. Its bytes are in the ZIP (`archive`), and on the page."""
    return {
        "id": row.id,
        "name": row.name,
        "message": row.message_id,
        "content_type": row.content_type,
        "size_bytes": row.size_bytes,
        "sha256": bytes(row.sha256).hex() if row.sha256 else None,
        "malware_scan": row.state,
        "received_at": row.received_at,
        "removed_unless_used_by": row.expires_at,
    }


def _describe_message(row: ApplicationMessage) -> dict[str, Any]:
    """Return a message of a thread, from either side."""
    return {
        "id": row.id,
        "from": row.side,
        "by": row.author.name if row.author else "",
        "way": row.way,
        "text": row.text,
        "not_shown_as_yours_because": row.unproved,
        "sender": row.sender,
        "files_left_out": row.left_out,
        "about_another_job": row.about_job_id,
        "email": row.email_state,
        "written_at": row.written_at,
        "read_at": row.read_at,
    }


def _collect_events(theirs: QuerySet[Application]) -> dict[UUID | None, list[dict[str, Any]]]:
    timelines: dict[UUID | None, list[dict[str, Any]]] = {}
    events = Event.objects.filter(application_id__in=theirs.values("id"))
    events = events.annotate(company_wrote=DecisionText.of_event())
    for event in events.order_by("job_id", "seq"):
        timelines.setdefault(event.application_id, []).append(
            {
                "seq": event.seq,
                "event": event.event,
                "at": event.at,
                "effective_at": event.effective_at,
                "outcome": event.outcome,
                "reason": event.data.get("reason"),
                "what_it_means": sentences.compose(event, Reader.APPLICANT),
                "what_the_company_wrote": event.company_wrote,
                "hash": bytes(event.hash).hex(),
            }
        )
    return timelines


def _collect_emails(applications: QuerySet[Application]) -> dict[UUID, list[dict[str, Any]]]:
    """Return the emails about each application."""
    emails: dict[UUID, list[dict[str, Any]]] = {}
    sent = Email.objects.filter(application_id__in=applications.values("id"))
    for email in sent.order_by("created_at"):
        told = {"about": email.kind, "seq": email.seq, "state": email.state, "at": email.state_at}
        emails.setdefault(email.application_id, []).append(told)
    return emails


def _describe_controller(company: Company) -> dict[str, str]:
    return {"name": company.controller_name, "contact": company.privacy_contact}


def _collect_agreed(ids: list[UUID]) -> dict[UUID, dict[str, Any]]:
    """Return what people agreed to and chose when they applied, by application."""
    agreed, chosen = agreements.read_for_people(ids), dict(equality.read_choices(ids))
    return {
        each: {
            "agreements": agreed.get(each, []),
            "equal_opportunity": chosen.get(each, {}),
        }
        for each in ids
    }


def _read_rows(theirs: QuerySet[Application]) -> list[Application]:
    named = ("job__posting", "job__company", "came_from", "claim")
    rows = list(theirs.select_related(*named).order_by("id"))
    prefetch_related_objects([row for row in rows if row.job.exception_count], "exceptions")
    return rows


def _collect_applications(
    applicant_id: UUID,
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return a person's applications, and uploads that no application has taken yet."""
    theirs = Application.objects.filter(applicant_id=applicant_id)
    timelines = _collect_events(theirs)
    removed = RemovedLog.objects.filter(job__in=theirs.values("job_id"))
    archived = dict(removed.values_list("job_id", "removed_at"))
    emails = _collect_emails(theirs)
    rows = _read_rows(theirs)
    ids = [row.id for row in rows]
    files = read_files_of_person(applicant_id, ids)
    written, kept = read_contest_texts(theirs), read_annotations(ids)
    scores = read_scores_for_people(ids)
    answered, agreed = answers.read_for_person(applicant_id), _collect_agreed(ids)
    messages = read_for_person(applicant_id)
    applications = [
        {
            **_describe_application(row),
            **agreed[row.id],
            "answers": answered.get(row.id, {}).get("answers", []),
            "further_questions": answered.get(row.id, {}).get("further_questions", []),
            "asked_to_look_again": written.get(row.id, []),
            "reserved_seats": _describe_claim(row),
            "exceptions": _describe_exceptions(row),
            "kept_by_the_company": kept[row.id].for_the_person()
            | {"scores": scores.get(row.id, [])},
            "files": [_describe_file(each) for each in files.get(row.id, [])],
            "messages": [_describe_message(each) for each in messages.get(row.id, [])],
            "emails": emails.get(row.id, []),
            "timeline": timelines.get(row.id, []),
            # Then the timeline is empty: the log is in files, which name nobody.
            "timeline_moved_to_archive_at": archived.get(row.job_id),
        }
        for row in rows
    ]
    return applications, [_describe_file(each) for each in files.get(None, [])]
