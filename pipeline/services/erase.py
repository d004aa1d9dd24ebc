"""Erasing a person: what is theirs goes, what happened in the lines stays, and stays provable."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from uuid import UUID

from django.contrib.sessions.models import Session
from django.db import connection, transaction

from applicants import codes
from applicants.http import KEY
from applicants.models import ERASED, ERASED_NAME, Applicant, ApplicantToken
from pipeline import devmail
from pipeline.errors import ApplicantNotFound, IllegalMove
from pipeline.models import Application, DecisionNote
from pipeline.services.withdraw import withdraw
from pipeline.states import Actor, ActorKind, Status

SESSIONS_AT_ONCE = 500


def erase(*, applicant_id: UUID) -> int:
    """Withdraw all that a person has in any line, then remove name and address everywhere.

    Says how many applications were withdrawn; their seats are with the next in line by then. Once
    more is harmless, and goes on where an interrupted one stopped: the person is only gone with
    the last commit of it, and can ask again until then. Raises ApplicantNotFound, and
    django.db.OperationalError when a line was too busy. Must not be called inside a transaction.
    """
    person = Applicant.objects.filter(id=applicant_id).first()
    if person is None:
        raise ApplicantNotFound
    withdrawn = 0
    while live := _live(person):
        withdrawn += sum(_withdraw(application_id, person) for application_id in live)
    devmail.forget(person.email)
    _remove_traces(person)
    devmail.forget(person.email)  # what was on its way while the rest went
    return withdrawn


def _live(person: Applicant) -> list[UUID]:
    theirs = Application.objects.filter(applicant=person).exclude(status=Status.INACTIVE)
    return list(theirs.order_by("id").values_list("id", flat=True))


def _withdraw(application_id: UUID, person: Applicant) -> bool:
    with suppress(IllegalMove):  # it has just ended in another way
        withdraw(application_id=application_id, actor=Actor(ActorKind.APPLICANT, person.id))
        return True
    return False


@transaction.atomic(durable=True)
def _remove_traces(person: Applicant) -> None:
    """All at once, so that nobody is half erased. The row goes first: it keeps others from
    writing to the person's account meanwhile."""
    Applicant.objects.filter(id=person.id).update(email=f"{ERASED}{person.id}", name=ERASED_NAME)
    theirs = Application.objects.filter(applicant=person)
    theirs.exclude(name=ERASED_NAME).update(name=ERASED_NAME)
    DecisionNote.objects.filter(application__applicant=person).delete()
    ApplicantToken.objects.filter(applicant=person).delete()
    codes.forget(person.email)
    _remove_answers(person, list(theirs.values_list("id", flat=True)))
    Session.objects.filter(session_key__in=list(_sessions_about(person))).delete()


_REMOVE_ANSWERS = """
DELETE FROM pipeline_idempotencyrecord WHERE body IS NOT NULL AND EXISTS (
    SELECT FROM unnest(%(traces)s::bytea[]) trace WHERE position(trace IN body) > 0)
"""
"""Answers are kept for a day only, so that looking through them takes no index."""


def _remove_answers(person: Applicant, application_ids: list[UUID]) -> None:
    """Remove the kept answers that speak of the person: each has their address or one of the ids.

    A request that is sent once more under its key is then done once more.
    """
    traces = [person.email, *map(str, [person.id, *application_ids])]
    with connection.cursor() as cursor:
        cursor.execute(_REMOVE_ANSWERS, {"traces": [trace.encode() for trace in traces]})


def _sessions_about(person: Applicant) -> Iterator[str]:
    """Sessions that stand for the person, or in which the address was typed."""
    sessions = Session.objects.iterator(chunk_size=SESSIONS_AT_ONCE)
    for session in sessions:
        kept = session.get_decoded()
        if kept.get(KEY) == str(person.id) or person.email in json.dumps(kept, default=str):
            yield session.session_key
