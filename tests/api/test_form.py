"""The form over the API: read, published, answered, and answered again."""

from __future__ import annotations

import csv
import io
import json
from typing import Any

import pytest
from django.db import transaction

from jobs.models import Company, Job
from pipeline.files.exports import formatted_lines
from pipeline.files.imports.admitting import admit_rows
from pipeline.files.imports.results import read_progress, refusal_report
from pipeline.files.imports.starting import store_upload
from pipeline.form.answers import read_latest
from pipeline.form.questions import Kind
from pipeline.form.versions import publish, questions_of
from pipeline.models import Application, GivenAnswers, ImportRefusal
from pipeline.privacy.erase import blank_import_rows, erase_person
from pipeline.privacy.my_data import collect
from pipeline.selectors.jobs import read_job
from tests.support import factories
from tests.support.callers import Caller, key_of, person, signed_in
from tests.support.feeds import wait_for_the_feed
from tests.support.forms import (
    FIVE,
    FIVE_ANSWERS,
    LICENCE,
    asked,
    filled,
    job_with,
    must_have_licence,
    question,
    waiting_with_answers,
)

pytestmark = pytest.mark.django_db(transaction=True)

BOB = {"name": "Bob", "email": "bob@example.org"}


def test_questions_are_published_and_read_with_the_job(company: Company) -> None:
    job_id, key = factories.job(company_id=company.id), key_of(company.id)
    must = {"answer": True, "refusal": LICENCE}
    given = [
        {"kind": "YES_NO", "label": "Licence?", "must": must},
        {"kind": "CHOICE", "label": "Shift", "choices": ["Early", "Late"], "in_summary": True},
    ]

    made = key.post(f"/jobs/{job_id}/form", {"questions": given})
    again = key.post(f"/jobs/{job_id}/form", {"questions": made.json()["questions"]})
    public = Caller().get(f"/jobs/{job_id}").json()

    assert (made.status_code, made.json()["version"]) == (200, 1)
    assert again.json()["version"] == 1
    assert [each["key"] for each in public["questions"]] == ["licence", "shift"]
    assert public["questions"][0]["must"]["refusal"] == LICENCE
    assert public["questions"][1]["in_summary"] is None
    assert key.get(f"/jobs/{job_id}").json()["questions"][1]["in_summary"] is True
    listed = key.get("/jobs").json()["data"]
    assert [job["form_version"] for job in listed] == [1]
    assert listed[0]["questions"] == made.json()["questions"]


def test_a_job_is_created_with_its_questions_in_one_call(company: Company) -> None:
    key = key_of(company.id)
    questions = [{"kind": "SHORT_TEXT", "label": "Town"}, {"kind": "FILE", "label": "Your CV"}]

    made = key.post("/jobs", {"title": "Cook", "capacity": 1, "questions": questions}).json()

    assert made["form_version"] == 1
    assert [each["key"] for each in made["questions"]] == ["town", "your_cv"]
    assert key.get(f"/jobs/{made['id']}/form").json()["version"] == 1
    wrong = key.post("/jobs", {"title": "Cook", "capacity": 1, "questions": [{"kind": "CHOICE"}]})
    assert wrong.status_code == 400
    short = [{"kind": "CHOICE", "label": "Shift", "choices": ["x"]}]
    wrong = key.post("/jobs", {"title": "Cook", "capacity": 1, "questions": short})
    assert [each["pointer"] for each in wrong.json()["errors"]] == ["/questions/0/choices"]
    assert Job.objects.count() == 1


def test_a_wrong_question_is_named_by_its_place(company: Company) -> None:
    job_id, key = factories.job(company_id=company.id), key_of(company.id)
    given = [{"kind": "YES_NO", "label": "A"}, {"kind": "CHOICE", "label": "B", "choices": ["x"]}]

    refused = key.post(f"/jobs/{job_id}/form", {"questions": given})

    assert refused.status_code == 400
    assert [each["pointer"] for each in refused.json()["errors"]] == ["/questions/1/choices"]
    assert not read_job(job_id).form_version


def test_a_person_applies_with_answers_and_errors_point_at_them() -> None:
    job_id = job_with(FIVE)
    someone, caller = person()
    path = f"/jobs/{job_id}/applications"

    wrong = caller.post(path, {"answers": FIVE_ANSWERS | {"years": 61, "no": 1}})
    stale = caller.post(path, {"answers": FIVE_ANSWERS, "form_version": 7})
    made = caller.post(path, {"answers": FIVE_ANSWERS, "form_version": 1})

    assert wrong.status_code == 400
    assert {each["pointer"] for each in wrong.json()["errors"]} == {"/answers/years", "/answers/no"}
    assert (stale.status_code, stale.json()["code"]) == (409, "FORM_CHANGED")
    assert made.status_code == 201
    assert read_latest([Application.objects.get(applicant=someone).id])


def test_a_condition_refuses_everyone_the_same_way() -> None:
    company = factories.company()
    job_id = job_with([must_have_licence()], company_id=company.id)
    path, no = f"/jobs/{job_id}/applications", {"answers": {"licence": False}}

    answers = [
        Caller().post(path, BOB | no),
        person()[1].post(path, no),
        key_of(company.id).post(path, BOB | no),
    ]

    for refused in answers:
        assert (refused.status_code, refused.json()["code"]) == (409, "REQUIREMENT_NOT_MET")
        assert refused.json()["detail"] == LICENCE
        assert refused.json()["errors"] == [
            {"pointer": "/answers/licence", "code": "INVALID", "detail": LICENCE}
        ]
    assert not Application.objects.exists()
    assert key_of(company.id).post(path, BOB).status_code == 201
    assert Caller().post(path, BOB | {"answers": {"licence": True}}).status_code == 202


def test_the_company_reads_answers_on_request_and_nobody_else(company: Company) -> None:
    job_id = job_with(FIVE, company_id=company.id)
    made = factories.application(job_id, filled=filled(job_id))
    key = key_of(company.id)

    plain = key.get(f"/applications/{made.id}").json()
    whole = key.get(f"/applications/{made.id}", {"expand": "answers"}).json()
    listed = key.get(f"/jobs/{job_id}/applications", {"expand": "answers"}).json()["data"]
    wait_for_the_feed()
    feed = json.dumps(key.get("/events").json())

    assert plain["answers"] is None
    assert whole["answers"]["answers"] == FIVE_ANSWERS
    assert (whole["answers"]["form_version"], whole["answers"]["number"]) == (1, 1)
    assert listed[0]["answers"] == whole["answers"]
    assert "Kiel" not in feed
    assert "digest" in feed
    other = key_of(factories.company().id)
    assert other.get(f"/applications/{made.id}/answers").status_code == 404


def test_answers_are_changed_while_waiting_and_a_further_one_is_given() -> None:
    waiting = waiting_with_answers()
    caller = signed_in(waiting.applicant)
    path = f"/applications/{waiting.id}/answers"

    changed = caller.post(path, {"answers": FIVE_ANSWERS | {"town": "Rostock"}})
    seated = factories.application(factories.job())
    row = asked(seated)
    further = f"/applications/{seated.id}/further-questions/{row.id}/answer"
    empty = signed_in(seated.applicant).post(further, {"answer": ""})
    answered = signed_in(seated.applicant).post(further, {"answer": "In May"})

    assert changed.status_code == 200
    assert [each["number"] for each in caller.get(path).json()["answers"]] == [2, 1]
    assert empty.status_code == 400
    assert (answered.status_code, answered.json()["answer"]) == (200, "In May")


def test_a_table_fills_in_questions_by_label_or_key_and_names_a_wrong_cell() -> None:
    job_id = job_with([must_have_licence(), *FIVE], capacity=1)
    content = (
        b"name,email,Town,years,DAYS,Licence\n"
        b"Ann,ann@example.org,Kiel,4,Mon; Wed,yes\n"
        b"Bob,bob@example.org,Bonn,many,Mon,\n"
        b"Cy,cy@example.org,Ulm,,,no\n"
        b"Di,di@example.org,,,,\n"
    )
    run = store_upload(
        company_id=read_job(job_id).company_id,
        job_id=job_id,
        name="people.csv",
        content=[content],
        actor=factories.RECRUITER,
    )

    done = admit_rows(run)

    assert (done.accepted, done.refused) == (2, 2)
    ann = Application.objects.get(name="Ann")
    assert read_latest([ann.id])[ann.id].answers == {
        "licence": True,
        "town": "Kiel",
        "years": 4,
        "days": ["Mon", "Wed"],
    }
    refused = dict(ImportRefusal.objects.values_list("name", "detail"))
    assert refused == {
        "Bob": "“Experience”: Enter a number, in digits.",
        "Cy": f"“Have you a forklift licence?”: {LICENCE}",
    }
    assert "many" not in json.dumps(refused)
    assert not GivenAnswers.objects.filter(application__name="Di").exists()
    report = b"".join(refusal_report(read_progress(read_job(job_id).company_id, run)))
    rows = list(csv.DictReader(io.StringIO(report.decode("utf-8-sig"))))
    told = [(row["name"], row["answer_town"], row["answer_years"]) for row in rows]
    assert told == [("Bob", "Bonn", "many"), ("Cy", "Ulm", "")]
    with transaction.atomic():
        blank_import_rows("bob@example.org")
    kept = dict(ImportRefusal.objects.values_list("name", "answers"))
    assert kept == {"": None, "Cy": kept["Cy"]}


def test_an_export_has_a_column_for_each_question_of_all_versions() -> None:
    job_id = job_with(FIVE)
    factories.application(job_id, filled=filled(job_id))
    publish(
        job_id=job_id,
        questions=[FIVE[0], question(Kind.LINK, "folio")],
        actor=factories.RECRUITER,
    )
    factories.application(job_id, filled=filled(job_id, town="Ulm", folio="https://a.example"))

    rows = list(
        csv.DictReader(
            io.StringIO("".join(formatted_lines(read_job(job_id), "applications", "csv")))
        )
    )
    lines = [
        json.loads(each) for each in formatted_lines(read_job(job_id), "applications", "jsonl")
    ]

    assert [row["form_version"] for row in rows] == ["1", "2"]
    assert [row["answer_town"] for row in rows] == ["Kiel", "Ulm"]
    assert rows[0]["answer_days"] == "Mon; Wed"
    assert rows[1]["answer_days"] == ""
    assert lines[1]["answer_folio"] == "https://a.example"
    without = factories.job()
    assert "answer_" not in "".join(formatted_lines(read_job(without), "applications", "csv"))


def test_a_person_takes_their_answers_along_and_erases_them_with_the_salts() -> None:
    waiting = waiting_with_answers()
    seated = factories.application(factories.job(), waiting.applicant)
    asked(seated)

    told = {each["id"]: each for each in collect(waiting.applicant)["applications"]}
    erase_person(applicant_id=waiting.applicant_id)

    (given,) = told[waiting.id]["answers"]
    assert given["questions"][0] == {"key": "town", "question": "Town", "answer": "Kiel"}
    assert set(given) >= {"salt", "digest", "signed_content", "seq"}
    assert told[seated.id]["further_questions"][0]["question"] == "When can you start?"
    left = GivenAnswers.objects.filter(application=waiting)
    assert not left.exists()
    assert questions_of(waiting.job_id, 1) == FIVE


def test_the_lists_of_answers_have_bounds() -> None:
    job_id = job_with(FIVE)
    caller = person()[1]
    path = f"/jobs/{job_id}/applications"
    too_many: dict[str, Any] = {f"q{number}": 1 for number in range(31)}

    for wrong in ({"town": {"a": 1}}, {"town": [1]}, too_many, [], "x"):
        assert caller.post(path, {"answers": wrong}).status_code == 400
