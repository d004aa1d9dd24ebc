"""Applying while being erased: no erased person is left in a line."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from threading import Event
from typing import Any
from uuid import UUID

import pytest
from django.db import connection, transaction

from applicants import mail
from applicants.codes import Requester
from applicants.models import ERASED_NAME, Applicant
from pipeline.domain.errors import ApplicantNotFound, LineError
from pipeline.domain.states import ReinstatementReason
from pipeline.line import lock
from pipeline.line.lock import lock_job_of
from pipeline.mail import dev_mailbox
from pipeline.models import Application
from pipeline.notifications import applicants
from pipeline.notifications.applicants import Cause
from pipeline.privacy import erase as erasing
from pipeline.privacy.erase import erase_person
from pipeline.selectors.jobs import read_job_facts
from pipeline.services import joining as applying
from pipeline.services import leaving as reinstating
from pipeline.services.joining import apply_unverified
from tests.support import factories
from tests.support.invariants import assert_line_is_sound
from tests.support.statements import changed
from tests.support.together import (
    PATIENCE_SECONDS,
    started,
    together,
    wait_until_somebody_waits_for_a_lock,
)

pytestmark = pytest.mark.django_db(transaction=True)

NAME, EMAIL = "Zelda Quillfeather", "zelda.quill@example.org"


@pytest.fixture(autouse=True)
def _own_mailbox(settings: Any, tmp_path: Any) -> None:
    settings.DEV_MAIL_FOLDER = tmp_path


def join(job_id: UUID, person: Applicant) -> Any:
    who = factories.as_applicant(person.id)
    return applying.apply(job_id=job_id, applicant_id=person.id, name=NAME, actor=who)


@dataclass
class Order:
    """How far the two sides are: one applies, the other erases."""

    has_read: Event = field(default_factory=Event)
    has_erased: Event = field(default_factory=Event)


@pytest.fixture
def order(monkeypatch: pytest.MonkeyPatch) -> Order:
    """Let the applying side, which has read everything, write when the other is done or waits."""
    write, order = applying.write, Order()

    def write_late(job: Any, *, commit: bool = False) -> None:
        order.has_read.set()
        wait_until_somebody_waits_for_a_lock(unless=order.has_erased)
        write(job, commit=commit)

    monkeypatch.setattr(applying, "write", write_late)
    return order


def left_in_line() -> Iterator[str]:
    for row in Application.objects.all():
        if row.status != "INACTIVE" or row.name != ERASED_NAME:
            yield f"{row.name} {row.status}"


def erase_after(order: Order, person: Applicant) -> int:
    """Erase a person at the moment when an application of theirs has read everything."""
    assert order.has_read.wait(PATIENCE_SECONDS)
    try:
        return erase_person(applicant_id=person.id)
    finally:
        order.has_erased.set()


def test_who_applies_while_being_erased_is_withdrawn(order: Order) -> None:
    job_id, person = factories.job(), factories.applicant(name=NAME)

    answers = together([partial(join, job_id, person), partial(erase_after, order, person)])

    assert answers[1] == 1
    assert list(left_in_line()) == []
    assert_line_is_sound(job_id)


def test_without_the_look_at_the_person_somebody_erased_would_stay_in_line(
    order: Order, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HOLD_PEOPLE", "READ_PEOPLE"):
        monkeypatch.setattr(lock, name, changed(getattr(lock, name), "FOR KEY SHARE", ""))
    job_id, person = factories.job(), factories.applicant(name=NAME)

    answers = together([partial(join, job_id, person), partial(erase_after, order, person)])

    assert answers[1] == 0
    assert list(left_in_line()) == [f"{NAME} ACTIVE"]


def test_who_is_just_being_erased_can_apply_to_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    job_id, person = factories.job(), factories.applicant(name=NAME)
    forget, half_done = erasing.codes.forget, Event()

    def slowly(email: str) -> None:
        half_done.set()
        wait_until_somebody_waits_for_a_lock()
        forget(email)

    monkeypatch.setattr(erasing.codes, "forget", slowly)
    with started(partial(erase_person, applicant_id=person.id)):
        assert half_done.wait(PATIENCE_SECONDS)
        with pytest.raises(ApplicantNotFound):
            join(job_id, person)

    assert Application.objects.count() == 0
    assert_line_is_sound(job_id)


def test_many_applications_and_an_erasure_at_once_leave_nobody(order: Order) -> None:
    jobs, person = [factories.job() for _ in range(5)], factories.applicant(name=NAME)

    together(
        [
            *[partial(join, job, person) for job in jobs],
            partial(erase_after, order, person),
        ]
    )

    assert list(left_in_line()) == []
    for job in jobs:
        assert_line_is_sound(job)


def test_an_address_whose_person_has_just_been_erased_applies_as_somebody_new(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    job_id, person = factories.job(), factories.applicant(email="ann@example.org")
    lock, erased = applying.lock_job_for, []

    def erased_before(*where: Any, **people: Any) -> Any:
        if not erased:
            erased.append(together([partial(erase_person, applicant_id=person.id)]))
        return lock(*where, **people)

    monkeypatch.setattr(applying, "lock_job_for", erased_before)
    by = Requester("a browser", "192.0.2.1")
    apply_unverified(job=read_job_facts(job_id), name="Ann", email="ann@example.org", requester=by)

    application = Application.objects.get()
    assert application.applicant_id != person.id
    assert application.applicant.email == "ann@example.org"


def test_a_mail_that_was_on_its_way_while_its_person_was_erased_is_not_kept(
    settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.EMAIL_BACKEND, settings.DEV_MAIL = "pipeline.mail.dev_mailbox.DevMailboxBackend", True
    zelda = factories.applicant(email=EMAIL)
    application = factories.application(factories.job(acknowledge_first_seat=True), zelda)
    promoted = factories.events(application.job_id)[-1]
    hand_mail_to_server, sent = mail.deliver, []

    def erased_before(email: Any) -> str:
        together([partial(erase_person, applicant_id=zelda.id)])
        taken = hand_mail_to_server(email)
        sent.extend(dev_mailbox.read_newest())
        return taken

    monkeypatch.setattr(mail, "deliver", erased_before)
    applicants.send_email(Cause(application.id, promoted.seq))

    assert [each.to for each in sent] == [EMAIL]
    assert dev_mailbox.read_newest() == []


@pytest.mark.parametrize("held_first", [True, False], ids=["as it is", "control"])
def test_giving_a_place_back_waits_for_an_erasure_before_it_locks_the_job(
    monkeypatch: pytest.MonkeyPatch, held_first: bool
) -> None:
    if not held_first:  # the person is held under the job's lock
        monkeypatch.setattr(reinstating, "lock_job_of", lock_job_then_hold_person)
    job_id, person = factories.job(), factories.applicant(name=NAME)
    row = join(job_id, person)
    forget, waits, joined = erasing.codes.forget, Event(), []

    def slowly(email: str) -> None:
        waits.set()
        wait_until_somebody_waits_for_a_lock()
        joined.extend(together([partial(try_to_lock, job_id)]))
        forget(email)

    monkeypatch.setattr(erasing.codes, "forget", slowly)
    with started(partial(erase_person, applicant_id=person.id)):
        assert waits.wait(PATIENCE_SECONDS)
        with pytest.raises(LineError):
            reinstating.reinstate(
                application_id=row.id,
                reason=ReinstatementReason.OUR_ERROR,
                actor=factories.RECRUITER,
            )

    assert joined == [held_first]


def lock_job_then_hold_person(application_id: UUID, **_: Any) -> Any:
    """Lock in the wrong order: whoever waits for the person holds up the job."""
    job = lock_job_of(application_id)
    lock.HOLD_PERSON_OF.all(application=application_id)
    return job


def try_to_lock(job_id: UUID) -> bool:
    """Tell whether nobody holds the job's lock."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SELECT FROM jobs_job WHERE id = %s FOR NO KEY UPDATE SKIP LOCKED", [job_id])
        return cursor.rowcount == 1
