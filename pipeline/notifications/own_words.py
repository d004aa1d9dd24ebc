"""Emails to applicants put into their company's own words, around what every email has to say."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from jobs.models import Job
from pipeline.notifications.messages import (
    EventForMail,
    Facts,
    Message,
    event_email_kind,
    offers_seat,
)
from pipeline.texts.kinds import email_text_kind
from pipeline.texts.words import OwnWords, field_values, read_parts
from pipeline.wording.english import subject_line, time_here_and_utc


def put_into_words_of(
    job: Job, message: Message, event: EventForMail, facts: Facts, *, reminder: str
) -> Message:
    """Put an email into the words that the job's company has for it now.

    In one query, or in none if it has no words of its own and was read with its letterhead.
    """
    kind, is_offer = event_email_kind(event), offers_seat(event)
    own_kind = email_text_kind(event, kind, is_offer=is_offer, reminder=reminder)
    parts = read_parts(job.company, own_kind, job_language=job.posting.language)
    return put_into_words(message, parts, facts, controller=job.company.legal_name)


def put_into_words(
    message: Message, parts: Mapping[str, str], facts: Facts, *, controller: str
) -> Message:
    """Put words with fields around what an email says.

    All that people need stays: deadline, link, why the email comes, and how to stop it.
    """
    deadline = facts.deadline and time_here_and_utc(facts.deadline, facts.zone)
    values = field_values(
        name=facts.name, job=facts.job_title, company=facts.company, deadline=deadline or ""
    )
    own = OwnWords.of(parts, values, controller=controller)
    is_own = own.opening or own.closing
    kept = tuple(each for each in message.paragraphs if not (is_own and each.is_courtesy))
    subject = subject_line(own.subject) or message.subject
    return replace(message, subject=subject, paragraphs=kept, own=own)
