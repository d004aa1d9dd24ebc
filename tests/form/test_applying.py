"""Applying with answers: kept in the same transaction, named in the log by a salted digest."""

from __future__ import annotations

import hashlib
import hmac
import json
from contextlib import closing
from threading import Thread
from typing import Any
from uuid import UUID

import pytest
from django.db import connection

from applicants.codes import Requester
from applicants.people import find_or_create_person
from jobs.models import Job
from pipeline.attachments import uploads
from pipeline.domain.errors import FileKindRefused, FormChanged, RequirementNotMet
from pipeline.domain.states import ANSWERS
from pipeline.form.answers import Filled, canonical_answers, digest_of, fill, read_latest
from pipeline.form.questions import AnswersRefused, Kind
from pipeline.form.versions import publish, read_requirements
from pipeline.line.event_log import chained_hash
from pipeline.maintenance import name_index
from pipeline.models import (
    Application,
    Attachment,
    Event,
    FormRefusals,
    FormVersion,
    GivenAnswers,
    NameWord,
)
from pipeline.privacy.erase import erase_person
from pipeline.selectors.jobs import read_job, read_job_facts
from pipeline.selectors.people import search_names
from pipeline.services.joining import apply, apply_unverified, verify_applications
from tests.support import factories
from tests.support.documents import TXT
from tests.support.forms import (
    FIVE,
    FIVE_ANSWERS,
    LICENCE,
    filled,
    job_with,
    must_have_licence,
    question,
)
from tests.support.invariants import assert_line_is_sound

pytestmark = pytest.mark.django_db(transaction=True)

HOLDER = uploads.holder_of("browser", "mine")


def test_an_application_names_the_version_that_it_answered() -> None:
    job_id = job_with(capacity=1)

    made = factories.application(job_id, filled=filled(job_id))

    row = GivenAnswers.objects.get(application_id=made.id)
    assert (row.form_number, row.number, row.answers) == (1, 1, FIVE_ANSWERS)
    event = Event.objects.get(job_id=job_id, seq=row.seq)
    assert event.data[ANSWERS] == {
        "form_version": 1,
        "number": 1,
        "digest": bytes(row.digest).hex(),
    }
    assert bytes(row.digest) == digest_of(bytes(row.salt), 1, FIVE_ANSWERS)
    assert row.given_at == event.at
    assert "Kiel" not in json.dumps(event.data)
    assert_line_is_sound(job_id)


def test_answers_never_move_anybody() -> None:
    job_id = job_with(capacity=1)

    people = [
        factories.application(job_id, filled=filled(job_id, years=years, town="A"))
        for years in (1, 60, 30)
    ]

    assert factories.line(job_id) == [people[1].id, people[2].id]


def test_a_missing_or_wrong_answer_refuses_before_anything_is_stored() -> None:
    job_id = job_with((*FIVE, question(Kind.LINK, "portfolio", required=True)))

    with pytest.raises(AnswersRefused) as refused:
        fill(factories.row_of(job_id), FIVE_ANSWERS | {"years": 61})

    assert set(refused.value.wrong) == {"years", "portfolio"}


def test_a_condition_refuses_with_the_jobs_own_sentence_and_is_counted_by_question() -> None:
    job_id = job_with([must_have_licence()])
    job = factories.row_of(job_id)

    for _ in range(2):
        with pytest.raises(RequirementNotMet) as refused:
            fill(job, {"licence": False})

    assert str(refused.value) == LICENCE
    assert fill(job, {"licence": True}) == Filled(1, 1, {"licence": True})
    [requirement] = read_requirements(read_job(job_id))
    assert (requirement.question.key, requirement.refused) == ("licence", 2)


def test_a_company_can_leave_questions_out_but_not_answer_a_condition_wrongly() -> None:
    job_id = job_with([must_have_licence(), *FIVE])
    job = factories.row_of(job_id)

    assert fill(job, {}, by_company=True) is None
    part = fill(job, {"town": "Kiel"}, by_company=True)
    with pytest.raises(RequirementNotMet):
        fill(job, {"licence": False}, by_company=True)

    assert part == Filled(1, 1, {"town": "Kiel"})
    assert not FormRefusals.objects.exists()
    made = factories.application(job_id, actor=factories.RECRUITER, filled=part)
    assert read_latest([made.id])[made.id].answers == {"town": "Kiel"}
    factories.application(job_id, actor=factories.RECRUITER)


def test_who_was_shown_another_version_is_refused_unless_it_asks_the_same() -> None:
    job_id = job_with(FIVE)
    shown = factories.row_of(job_id)
    publish(job_id=job_id, questions=FIVE[:4], actor=factories.RECRUITER)

    with pytest.raises(FormChanged):
        fill(factories.row_of(job_id), FIVE_ANSWERS, number=shown.form_version)

    less = {key: answer for key, answer in FIVE_ANSWERS.items() if key != "why"}
    hidden = [question(Kind.SHORT_TEXT, "town", label="Town"), *FIVE[1:4]]
    publish(job_id=job_id, questions=hidden, actor=factories.RECRUITER)
    assert fill(factories.row_of(job_id), less, number=2) == Filled(2, 3, less)
    with pytest.raises(FormChanged):
        fill(factories.row_of(job_id), less, number=7)


def test_a_form_published_between_check_and_lock_refuses_the_application() -> None:
    job_id = job_with(FIVE)
    checked = filled(job_id)
    publish(job_id=job_id, questions=[must_have_licence()], actor=factories.RECRUITER)
    unasked = factories.job()
    publish(job_id=unasked, questions=FIVE, actor=factories.RECRUITER)

    for job, given in ((job_id, checked), (job_id, None), (unasked, None)):
        with pytest.raises(FormChanged):
            factories.application(job, filled=given)

    assert not Application.objects.exists()
    assert not GivenAnswers.objects.exists()


def test_everyone_who_applies_while_a_form_is_published_answers_the_version_that_counts() -> None:
    job_id = job_with(FIVE, capacity=1)
    refused: list[Exception] = []
    people = [factories.applicant() for _ in range(8)]

    def apply_often(number: int) -> None:
        with closing(connection):
            for person in people[number::4]:
                try:
                    factories.application(job_id, person, filled=filled(job_id))
                except (FormChanged, AnswersRefused) as error:
                    refused.append(error)

    def publish_often() -> None:
        with closing(connection):
            for number in range(6):
                again = [*FIVE[1:], question(Kind.SHORT_TEXT, "town", label=f"Town {number}")]
                publish(job_id=job_id, questions=again, actor=factories.RECRUITER)

    threads = [Thread(target=apply_often, args=(number,)) for number in range(4)]
    threads.append(Thread(target=publish_often))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert Application.objects.count() + len(refused) == len(people)
    assert GivenAnswers.objects.count() == Application.objects.count()
    published = dict(FormVersion.objects.values_list("number", "published_at"))
    rows = list(GivenAnswers.objects.all())
    assert all(published[row.form_number] <= row.given_at for row in rows)
    assert_line_is_sound(job_id)


def test_answers_before_the_address_is_proved_stay_with_the_application() -> None:
    job_id = job_with(FIVE)
    facts = read_job_facts(job_id)
    apply_unverified(
        job=facts,
        name="Ana",
        email="ana@example.org",
        requester=Requester("browser", "site"),
        filled=filled(job_id),
    )
    person = find_or_create_person("ana@example.org")
    own = Application.objects.get(applicant=person)
    again = {**FIVE_ANSWERS, "town": "Rostock"}
    apply(
        job_id=job_id,
        applicant_id=person.id,
        name="Ana",
        actor=factories.as_applicant(person.id),
        filled=filled(job_id, **again),
    )

    assert [row.number for row in GivenAnswers.objects.order_by("number")] == [1, 2]
    assert read_latest([own.id])[own.id].answers["town"] == "Rostock"
    assert verify_applications(person.id) == 0
    assert_line_is_sound(job_id)


def test_the_event_proves_what_was_handed_in_and_nothing_else() -> None:
    job_id = job_with(FIVE)
    made = factories.application(job_id, filled=filled(job_id))
    row = GivenAnswers.objects.get(application_id=made.id)
    event = Event.objects.get(job_id=job_id, seq=row.seq)

    told = canonical_answers(row.form_number, row.answers)
    forged = canonical_answers(row.form_number, {**row.answers, "years": 5})

    salt = bytes(row.salt)
    assert hmac.new(salt, told, hashlib.sha256).hexdigest() == event.data[ANSWERS]["digest"]
    assert hmac.new(salt, forged, hashlib.sha256).hexdigest() != event.data[ANSWERS]["digest"]
    assert chained_hash(bytes(event.prev_hash), event) == bytes(event.hash)


def test_a_published_version_is_never_changed() -> None:
    job_id = job_with(FIVE)

    with pytest.raises(Exception, match="Cannot update"):
        FormVersion.objects.filter(job_id=job_id).update(number=2)

    assert Job.objects.get(id=job_id).form_version == 1


def test_a_search_finds_answers_to_searchable_questions_alone_until_they_are_erased() -> None:
    job_id = job_with(FIVE)
    person = factories.applicant(name="Ann Berg")
    factories.application(job_id, person, filled=filled(job_id, town="Greifswald", why="Wismar"))
    company_id = read_job(job_id).company_id
    name_index.update()

    def found(words: str) -> list[str]:
        rows = search_names(company_id, words, limit=10).rows
        return [row.application.name for row in rows]

    assert found("greifs") == found("Ann greifswald") == ["Ann Berg"]
    assert found("Wismar") == []
    erase_person(applicant_id=person.id)
    assert found("greifs") == []
    assert not NameWord.objects.filter(word__startswith="greif").exists()


def cv_form(**about: Any) -> tuple[UUID, UUID]:
    """A job that wants a CV, and an upload of a text for it."""
    job_id = job_with([question(Kind.FILE, "cv", label="CV", required=True, **about)])
    row = uploads.add(
        company_id=factories.row_of(job_id).company_id,
        job_id=job_id,
        holder=HOLDER,
        name="cv.txt",
        size_bytes=len(TXT),
        content=[TXT],
    )
    return job_id, row.id


@pytest.mark.usefixtures("attachment_folder")
def test_a_file_of_a_kind_that_the_question_does_not_take_is_refused() -> None:
    job_id, upload_id = cv_form(file_kinds=["PDF", "ODT"])
    given = fill(read_job(job_id), {"cv": [str(upload_id)]}, holder=HOLDER)

    with pytest.raises(FileKindRefused, match=r"“CV” takes files of these kinds: PDF, ODT\."):
        factories.application(job_id, filled=given)

    assert not Application.objects.filter(job_id=job_id).exists()
    assert Attachment.objects.get(id=upload_id).application_id is None


@pytest.mark.usefixtures("attachment_folder")
def test_the_id_of_a_file_is_stored_in_one_form() -> None:
    job_id, upload_id = cv_form(file_kinds=["TXT"], file_count=2)
    spelled = [f"urn:uuid:{upload_id}", upload_id.hex.upper() + "-" * 1_000]

    given = fill(read_job(job_id), {"cv": spelled}, holder=HOLDER)

    made = factories.application(job_id, filled=given)
    row = GivenAnswers.objects.get(application_id=made.id)
    assert row.answers == {"cv": [str(upload_id)]}
    assert Attachment.objects.get(id=upload_id).application_id == made.id
