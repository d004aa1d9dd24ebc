"""Equal-opportunity answers: apart from the application, only totals, erased with the person."""

from __future__ import annotations

import json
from typing import Any
from uuid import UUID

import pytest
from django.db import connection
from django.test import Client
from hypothesis import given
from hypothesis import strategies as st

from jobs.models import Company
from pipeline.equality import totals
from pipeline.equality.answers import EqualityGiven, mix, read_choices
from pipeline.equality.questions import QUESTIONS, choose
from pipeline.equality.totals import FEWEST, hide_small
from pipeline.models import Application, EqualityAnswers, EqualityTotals
from pipeline.privacy.erase import erase_person
from pipeline.privacy.retention import _separate_people
from pipeline.services.leaving import withdraw
from tests.support import factories
from tests.support.applicants import applicant_browser
from tests.support.callers import Caller, code_of, pointers, signed_in
from tests.support.clock import let_time_pass
from tests.support.pages import page_of, text_of

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def job(company: Company) -> UUID:
    choose(company_id=company.id, codes=["gender", "age"], by=None)
    return factories.job(company_id=company.id, capacity=3)


def answered(job: UUID, **choices: str) -> Application:
    return factories.application(job, companions=[EqualityGiven(choices)])


def test_a_company_asks_on_the_form_and_nobody_has_to_answer(job: UUID) -> None:
    page = page_of(Client(), f"/jobs/{job}/")
    person, silent = factories.applicant(), factories.applicant()

    applicant_browser(person).post(f"/jobs/{job}/apply/", {"name": "A", "e_gender": "woman"})
    applicant_browser(silent).post(f"/jobs/{job}/apply/", {"name": "B"})

    assert 'name="e_gender"' in page
    assert 'name="e_age"' in page
    assert 'name="e_minority"' not in page
    assert Application.objects.count() == 2
    assert [row.choices for row in EqualityAnswers.objects.all()] == [{"gender": "woman"}]


def test_a_choice_that_there_is_not_is_refused(job: UUID) -> None:
    browser = applicant_browser(factories.applicant())

    refused = browser.post(f"/jobs/{job}/apply/", {"name": "A", "e_gender": "<b>"})

    assert refused.status_code == 422
    assert not EqualityAnswers.objects.exists()


def test_no_row_names_a_person_an_application_a_job_or_a_time(job: UUID, company: Company) -> None:
    made = answered(job, gender="man")

    with connection.cursor() as cursor:
        cursor.execute("SELECT t::text FROM pipeline_equalityanswers t")
        [(row,)] = cursor.fetchall()
        cursor.execute(
            "SELECT count(*) FROM information_schema.table_constraints WHERE constraint_type ="
            " 'FOREIGN KEY' AND table_name = 'pipeline_equalityanswers'"
        )
        assert cursor.fetchone() == (0,)
    for told in (made.id, made.applicant_id, job, company.id):
        assert str(told) not in row
        assert told.hex not in row
    assert {each.name for each in EqualityAnswers._meta.fields} == {"key", "choices", "is_mixed"}


def test_another_secret_finds_nothing_and_a_former_one_does(job: UUID, settings: Any) -> None:
    made = answered(job, gender="man")
    former, settings.SECRET_KEY = settings.SECRET_KEY, "x" * 50
    assert read_choices([made.id]) == []

    settings.SECRET_KEY_FALLBACKS = [former]

    assert read_choices([made.id]) == [(made.id, {"gender": "man"})]


def test_the_rows_of_a_day_lose_their_order_and_their_transaction(job: UUID) -> None:
    for _ in range(20):
        factories.application(
            factories.job(capacity=1), companions=[EqualityGiven({"gender": "woman"})]
        )

    def transactions() -> set[int]:
        with connection.cursor() as cursor:
            cursor.execute("SELECT xmin::text::bigint FROM pipeline_equalityanswers")
            return {row[0] for row in cursor.fetchall()}

    assert len(transactions()) == 20
    assert mix() == 20
    assert len(transactions()) == 1
    assert mix() == 0
    assert EqualityAnswers.objects.filter(is_mixed=True).count() == 20


def test_a_person_has_it_in_their_data_and_it_goes_with_them(job: UUID) -> None:
    made = answered(job, gender="man", age="25_34")
    person = made.applicant

    kept = json.loads(applicant_browser(person).get("/me/data/download/").content)
    erase_person(applicant_id=person.id)

    assert kept["applications"][0]["equal_opportunity"] == {"gender": "man", "age": "25_34"}
    assert not EqualityAnswers.objects.exists()


def test_it_ends_with_the_retention_of_the_job(job: UUID) -> None:
    made, other = answered(job, gender="man"), answered(job, gender="woman")
    withdraw(application_id=made.id, actor=factories.owner_of(made))
    let_time_pass(job, 731 * 86_400)

    _separate_people(job, [made.id])

    assert [id for id, _ in read_choices([made.id, other.id])] == [other.id]


def test_the_company_sees_totals_and_no_small_number(
    job: UUID, company: Company, owner: Client
) -> None:
    for _ in range(FEWEST):
        answered(job, gender="woman")
    answered(job, gender="man", age="55_up")
    factories.application(job, companions=[EqualityGiven({"gender": "man"})], verified=False)

    totals.make_all()
    found = totals.read(company.id)

    assert found is not None
    assert found.people == FEWEST + 1
    # 10 women, 1 man and nobody else: the women could be subtracted.
    assert set(found.by_question["gender"].values()) == {None}
    assert set(found.by_question["age"].values()) == {None}
    page = text_of(owner.get("/company/privacy/"))
    assert "11 people answered" in page
    assert "not shown" in page


def test_totals_do_not_move_with_one_person(job: UUID) -> None:
    for _ in range(FEWEST):
        answered(job, gender="woman")
    assert totals.make_all() == 1
    for _ in range(FEWEST - 1):
        answered(job, gender="man")

    assert totals.make_all() == 0
    assert EqualityTotals.objects.get().people == FEWEST
    answered(job, gender="man")

    assert totals.make_all() == 1
    assert EqualityTotals.objects.get().people == 2 * FEWEST


def test_fewer_than_ten_people_are_not_told(job: UUID, company: Company, owner: Client) -> None:
    for _ in range(FEWEST - 1):
        answered(job, gender="woman")

    totals.make_all()

    assert totals.read(company.id) is None
    assert not EqualityTotals.objects.exists()
    assert "once 10 people have answered" in text_of(owner.get("/company/privacy/"))


def test_no_page_or_export_of_the_company_shows_an_answer(
    job: UUID, company: Company, owner: Client
) -> None:
    made = answered(job, age="35_44")

    for url in (
        f"/company/applications/{made.id}/",
        f"/company/jobs/{job}/applications/",
        f"/company/jobs/{job}/export/applications.csv",
        f"/company/jobs/{job}/export/applications.jsonl",
    ):
        answer = owner.get(url)
        shown = b"".join(answer) if answer.streaming else answer.content
        assert answer.status_code == 200
        assert b"35_44" not in shown
        assert b"35 to 44" not in shown


@given(st.dictionaries(st.sampled_from("abcdef"), st.integers(0, 40), min_size=1))
def test_nobody_can_subtract_a_small_number(cells: dict[str, int]) -> None:
    shown = hide_small(cells)

    hidden = [name for name in cells if shown[name] is None]
    assert all(cells[name] >= FEWEST for name in cells if name not in hidden)
    if hidden:
        together = sum(cells[name] for name in hidden)
        assert len(hidden) == len(cells) or (len(hidden) > 1 and together >= FEWEST)


def test_the_codes_of_questions_and_choices_fit_their_columns() -> None:
    assert all(len(code) <= 20 for code in QUESTIONS)


def test_programs_learn_what_is_asked_and_send_what_people_choose(job: UUID) -> None:
    asked = Caller().get(f"/jobs/{job}/privacy").json()["equal_opportunity"]
    path = f"/jobs/{job}/applications"
    stranger = {"name": "A", "email": "a@example.org", "equal_opportunity": {"age": "under_25"}}

    own = signed_in(factories.applicant()).post(path, {"equal_opportunity": {"gender": "woman"}})
    unproved = Caller().post(path, stranger)
    silent = signed_in(factories.applicant()).post(path, {})

    assert [each["code"] for each in asked] == ["gender", "age"]
    assert asked[0]["choices"][0] == {"code": "woman", "label": "Woman"}
    assert [each.status_code for each in (own, unproved, silent)] == [201, 202, 201]
    assert "woman" not in own.content.decode()
    kept = sorted(list(row.choices.items()) for row in EqualityAnswers.objects.all())
    assert kept == [[("age", "under_25")], [("gender", "woman")]]


@pytest.mark.parametrize(
    ("choices", "pointer"),
    [
        ({"minority": "yes"}, "/equal_opportunity/minority"),  # the company does not ask it
        ({"gender": "x"}, "/equal_opportunity/gender"),
        ({"height": "tall"}, "/equal_opportunity/height"),
        ([], "/equal_opportunity"),
    ],
)
def test_a_program_is_refused_what_is_not_asked(job: UUID, choices: Any, pointer: str) -> None:
    ann = signed_in(factories.applicant())

    refused = ann.post(f"/jobs/{job}/applications", {"equal_opportunity": choices})

    assert code_of(refused) == (400, "VALIDATION_ERROR")
    assert pointers(refused) == [pointer]
    assert not Application.objects.exists()


def test_a_company_says_nothing_of_people_that_it_submits(acme: Caller, job: UUID) -> None:
    body = {"name": "A", "email": "a@example.org", "equal_opportunity": {"gender": "man"}}

    assert acme.post(f"/jobs/{job}/applications", body).status_code == 400
