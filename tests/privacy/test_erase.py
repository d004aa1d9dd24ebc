"""Erasing a person leaves none of their data, and every log still verifies."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from uuid import UUID

import pytest
from django.conf import settings as site
from django.contrib.sessions.backends.db import SessionStore
from django.contrib.sessions.models import Session
from django.db import connection
from django.test import Client

from applicants import codes, tokens
from applicants.models import Applicant, ApplicantToken
from applicants.people import find_or_create_person
from pipeline.domain.errors import ApplicantNotFound
from pipeline.domain.states import ExceptionReason, Outcome
from pipeline.mail import dev_mailbox
from pipeline.models import DecisionNote, IdempotencyRecord, LineException
from pipeline.privacy import erase as module
from pipeline.privacy.erase import erase_person
from pipeline.selectors.people import read_person
from pipeline.services.exceptions import move_ahead
from pipeline.services.joining import apply
from pipeline.services.leaving import remove
from tests.support import factories
from tests.support.applicants import find_token
from tests.support.clock import let_time_pass
from tests.support.invariants import assert_line_is_sound
from tests.support.outbox import HERE

pytestmark = pytest.mark.django_db(transaction=True)

EMAIL, NAME = "zelda.quill@example.org", "Zelda Quillfeather"
OTHER_NAME = "Z. Quillfeather-Osei"


@pytest.fixture
def zelda(settings: Any, tmp_path: Any) -> Applicant:
    """Someone of whom there are traces everywhere."""
    settings.DEV_MAIL_FOLDER = tmp_path / "mail"
    person = factories.applicant(email=EMAIL, name=NAME)
    tokens.issue(person)
    codes.send(EMAIL, by=HERE)
    dev_mailbox.keep(EMAIL, "Your turn", f"Dear {NAME}")
    session = SessionStore()
    session["applicant_id"] = str(person.id)
    session.save()
    return person


@pytest.fixture
def lines(zelda: Applicant) -> list[UUID]:
    """She has a seat, waits, must confirm, and was rejected; in each line others wait."""
    seated, waiting, pending, decided = (factories.job() for _ in range(4))
    held = [factories.application(job) for job in (waiting, pending)]
    factories.application(seated, zelda)
    factories.application(waiting, zelda)
    ended = factories.application(decided, zelda)
    apply(job_id=pending, applicant_id=zelda.id, name=OTHER_NAME, actor=factories.owner_of(held[0]))
    for job in (seated, waiting, pending, decided):
        factories.applications(job, 2)
    remove(application_id=held[1].id, outcome=Outcome.REMOVED, actor=factories.RECRUITER)
    remove(
        application_id=ended.id,
        outcome=Outcome.REJECTED,
        actor=factories.RECRUITER,
        note=f"{NAME} was late",
    )
    _keep_answer(f'{{"email": "{EMAIL}", "name": "{NAME}"}}', 1)
    _keep_answer(f'{{"id": "{ended.id}"}}', 2)
    _keep_answer('{"id": "of someone else"}', 3)
    return [seated, waiting, pending, decided]


def _keep_answer(body: str, number: int) -> None:
    now = "2026-01-01T00:00:00Z"
    IdempotencyRecord.objects.create(
        id=bytes([number] * 32),
        fingerprint=bytes(32),
        run=UUID(int=number),
        created_at=now,
        leased_until=now,
        expires_at=now,
        status=201,
        headers={},
        body=body.encode(),
    )


def traces(*words: str) -> Iterator[str]:
    """Each text column of each table, and each session, that holds one of the words."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT table_name, column_name, data_type FROM information_schema.columns"
            " WHERE table_schema = 'public' AND data_type IN ('text', 'character varying',"
            " 'jsonb', 'json', 'bytea', 'ARRAY', 'character', 'uuid', 'inet', 'xml')"
        )
        columns = cursor.fetchall()
        assert len(columns) > 60
        for table, column, kind in columns:
            text = f"encode(\"{column}\", 'escape')" if kind == "bytea" else f'"{column}"::text'
            for word in words:
                found = f"position(lower(%s) IN lower({text})) > 0"
                cursor.execute(f'SELECT count(*) FROM "{table}" WHERE {found}', [word])
                if cursor.fetchone()[0]:
                    yield f"{table}.{column}: {word}"
    for session in Session.objects.all():
        if any(word in str(session.get_decoded()) for word in words):
            yield f"session: {session.session_key}"
    for mail in dev_mailbox.read_newest():
        if any(word in str(mail) for word in words):
            yield f"mail: {mail.name}"


def test_the_search_finds_what_there_is(lines: list[UUID]) -> None:
    places = {trace.partition(":")[0] for trace in traces(EMAIL, NAME)}

    assert places >= {
        "applicants_applicant.email",
        "applicants_applicant.name",
        "pipeline_application.name",
        "pipeline_decisionnote.text",
        "pipeline_idempotencyrecord.body",
        "mail",
    }


def test_nothing_of_the_person_is_left_and_every_log_is_sound(
    zelda: Applicant, lines: list[UUID]
) -> None:
    assert erase_person(applicant_id=zelda.id) == 3

    assert list(traces(EMAIL, NAME, OTHER_NAME, "Quillfeather", "zelda")) == []
    for job in lines:
        assert_line_is_sound(job)
    assert not ApplicantToken.objects.filter(applicant=zelda).exists()
    assert codes.find_latest(EMAIL) is None
    assert DecisionNote.objects.count() == 0
    assert IdempotencyRecord.objects.count() == 1
    kept = [session.get_decoded() for session in Session.objects.all()]
    assert kept == [{"applicant_id": str(zelda.id)}]  # an id that stands for nobody


def test_seats_go_to_the_next_in_line_at_once(zelda: Applicant, lines: list[UUID]) -> None:
    erase_person(applicant_id=zelda.id)

    for job in lines:
        row = factories.row_of(job)
        assert row.active_count + row.pending_count == 1


def test_others_keep_what_is_theirs(zelda: Applicant, lines: list[UUID]) -> None:
    others = Applicant.objects.exclude(id=zelda.id).order_by("id")
    before = list(others.values())
    dev_mailbox.keep("somebody@example.org", "Hello", "You")

    erase_person(applicant_id=zelda.id)

    assert list(others.values()) == before
    assert [mail.to for mail in dev_mailbox.read_newest()] == ["somebody@example.org"]


def test_who_was_erased_is_nobody_and_cannot_come_back(zelda: Applicant, lines: list[UUID]) -> None:
    token = tokens.issue(zelda)
    browser = Client()
    browser.cookies[site.SESSION_COOKIE_NAME] = Session.objects.get().session_key
    assert browser.get("/me/").status_code == 200
    assert browser.get("/api/v1/me").status_code == 200
    placeholder = f"erased:{zelda.id}"

    erase_person(applicant_id=zelda.id)

    assert Applicant.objects.get(id=zelda.id).email == placeholder
    assert find_token(token) is None
    with pytest.raises(ApplicantNotFound):
        read_person(zelda.id)
    with pytest.raises(Exception, match="valid email"):
        find_or_create_person(placeholder)
    assert browser.get("/me/").status_code == 302
    assert browser.get("/api/v1/me").status_code == 401


def test_the_same_address_later_is_a_new_person_without_misses(zelda: Applicant) -> None:
    job = factories.job(acknowledge_first_seat=True)
    missed = factories.application(job, zelda)
    let_time_pass(job, factories.WINDOW)
    factories.settle_all()
    assert factories.fresh(missed).decay_count == 1

    erase_person(applicant_id=zelda.id)
    again = find_or_create_person(EMAIL)
    later = factories.application(job, again)

    assert again.id != zelda.id
    assert factories.fresh(later).decay_count == 0
    assert factories.status_of(later) == "PENDING_ACKNOWLEDGMENT"


def test_once_more_is_harmless(zelda: Applicant, lines: list[UUID]) -> None:
    erase_person(applicant_id=zelda.id)
    after = [factories.row_of(job).seq for job in lines]

    assert erase_person(applicant_id=zelda.id) == 0
    assert [factories.row_of(job).seq for job in lines] == after
    with pytest.raises(ApplicantNotFound):
        erase_person(applicant_id=factories.company().id)


class Killed(BaseException):
    """The process ends here."""


@pytest.mark.parametrize("after", [0, 1, 2, 3])
def test_one_that_was_killed_in_the_middle_can_be_finished(
    zelda: Applicant, lines: list[UUID], monkeypatch: pytest.MonkeyPatch, after: int
) -> None:
    done = 0
    whole = module.withdraw

    def stumbling(**what: Any) -> Any:
        nonlocal done
        if done == after:
            raise Killed
        done += 1
        return whole(**what)

    monkeypatch.setattr(module, "withdraw", stumbling)
    monkeypatch.setattr(module.codes, "forget", _killed)
    with pytest.raises(Killed):
        erase_person(applicant_id=zelda.id)
    monkeypatch.undo()

    assert read_person(zelda.id).email == EMAIL
    erase_person(applicant_id=zelda.id)
    assert list(traces(EMAIL, NAME, OTHER_NAME)) == []
    for job in lines:
        assert_line_is_sound(job)


def _killed(_: str) -> None:
    raise Killed


def test_the_text_of_an_exception_goes_and_the_exception_stays(zelda: Applicant) -> None:
    people = factories.applications(factories.job(), 2)
    moved = factories.application(people[0].job_id, zelda)
    reason, text = ExceptionReason.HARDSHIP, f"{NAME} cannot wait."
    move_ahead(application_id=moved.id, reason=reason, text=text, actor=factories.RECRUITER)

    erase_person(applicant_id=zelda.id)

    kept = LineException.objects.get()
    assert (kept.text, kept.reason, kept.people_passed) == ("", "HARDSHIP", 1)
    assert_line_is_sound(moved.job_id)
