"""A company's own ids and texts on its jobs and applications."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest
from django.db import connection

from jobs.models import Company
from pipeline.models import Application, ApplicationReference, Event
from pipeline.privacy.erase import erase_person
from tests.support import factories
from tests.support.callers import NEW_JOB, Caller, code_of, key_of, pointers, signed_in

OWN = {"external_id": "crm-7", "metadata": {"team": "kitchen", "cost.center": "42"}}
NONE = {"external_id": None, "metadata": {}}


def shown(answer: Any) -> dict[str, Any]:
    return {name: answer.json()[name] for name in OWN}


def person(number: int = 1) -> dict[str, str]:
    return {"name": f"P{number}", "email": f"p{number}@example.org"}


def test_a_job_keeps_what_its_company_attaches(acme: Caller) -> None:
    made = acme.post("/jobs", NEW_JOB | OWN)
    plain = acme.post("/jobs", NEW_JOB)

    assert shown(made) == OWN
    assert shown(plain) == NONE
    assert shown(acme.get(f"/jobs/{made.json()['id']}")) == OWN
    assert [shown_row["external_id"] for shown_row in acme.get("/jobs").json()["data"]] == [
        None,
        "crm-7",
    ]


def test_what_is_attached_to_a_job_changes_its_tag_and_not_its_log(acme: Caller) -> None:
    made = acme.post("/jobs", NEW_JOB | OWN)
    path = f"/jobs/{made.json()['id']}"

    changed = acme.patch(path, {"metadata": {"team": "bar"}})
    removed = acme.patch(path, {"external_id": None})

    assert shown(changed) == OWN | {"metadata": {"team": "bar"}}
    assert shown(removed) == {"external_id": None, "metadata": {"team": "bar"}}
    tags = {each.headers["ETag"] for each in (made, changed, removed)}
    assert len(tags) == 3
    assert changed.json()["seq"] == made.json()["seq"]
    assert acme.patch(path, {"title": "X"}, if_match=made.headers["ETag"]).status_code == 412


def test_nobody_else_sees_what_is_attached(acme: Caller, other: Caller) -> None:
    path = f"/jobs/{acme.post('/jobs', NEW_JOB | OWN).json()['id']}"
    application = acme.post(f"{path}/applications", person() | OWN).json()["id"]
    owner = signed_in(Application.objects.get(id=application).applicant)

    unseen = {"external_id": None, "metadata": None}
    assert shown(Caller().get(path)) == shown(other.get(path)) == unseen
    assert shown(owner.get(f"/applications/{application}")) == unseen
    assert owner.get("/me/applications").json()["data"][0]["metadata"] is None
    assert shown(owner.post(f"/applications/{application}/withdraw")) == unseen


def test_an_application_keeps_what_its_company_attaches(acme: Caller, job: UUID) -> None:
    made = acme.post(f"/jobs/{job}/applications", person() | OWN)
    path = f"/applications/{made.json()['id']}"

    changed = acme.patch(path, {"metadata": {}})

    assert (made.status_code, shown(made)) == (201, OWN)
    assert shown(changed) == OWN | {"metadata": {}}
    assert shown(acme.get(path)) == shown(changed)
    assert shown(acme.post(f"{path}/remove", {"outcome": "REJECTED"})) == shown(changed)


def test_it_is_found_by_its_own_id(acme: Caller, other: Caller, job: UUID) -> None:
    made = acme.post(f"/jobs/{job}/applications", person() | OWN).json()["id"]
    acme.post("/jobs", NEW_JOB | OWN)

    def found(caller: Caller, path: str, **query: str) -> list[str]:
        return [row["id"] for row in caller.get(path, query).json()["data"]]

    assert found(acme, "/applications", external_id="crm-7") == [made]
    assert found(acme, "/applications", external_id="crm-8") == []
    assert found(other, "/applications", external_id="crm-7") == []
    assert found(acme, f"/jobs/{job}/applications", external_id="crm-7") == [made]
    assert len(found(acme, "/jobs", external_id="crm-7")) == 1
    assert found(acme, "/jobs", external_id="crm-8") == []
    assert len(found(acme, "/jobs", **{"metadata[team]": "kitchen"})) == 1
    assert found(acme, "/jobs", **{"metadata[team]": "bar"}) == []
    assert pointers(acme.get("/applications")) == ["/external_id"]


def test_an_id_belongs_to_one_object_of_a_kind(acme: Caller, other: Caller, job: UUID) -> None:
    first = acme.post(f"/jobs/{job}/applications", person() | OWN).json()["id"]
    seq = factories.row_of(job).seq

    second = acme.post(f"/jobs/{job}/applications", person(2) | OWN)
    another = acme.post(f"/jobs/{job}/applications", person(3)).json()["id"]
    taken = acme.patch(f"/applications/{another}", {"external_id": "crm-7"})

    for refused in (second, taken):
        assert code_of(refused) == (409, "EXTERNAL_ID_TAKEN")
        assert refused.json()["existing_id"] == first
    assert factories.row_of(job).seq == seq + 1
    assert other.post("/jobs", NEW_JOB | OWN).status_code == 201
    made = acme.post("/jobs", NEW_JOB | OWN).json()["id"]
    again = acme.post("/jobs", NEW_JOB | OWN)
    assert (code_of(again)[1], again.json()["existing_id"]) == ("EXTERNAL_ID_TAKEN", made)
    free = acme.post("/jobs", NEW_JOB).json()["id"]
    assert code_of(acme.patch(f"/jobs/{free}", OWN))[1] == "EXTERNAL_ID_TAKEN"


def test_a_refused_application_leaves_nothing_attached(acme: Caller, job: UUID) -> None:
    acme.post(f"/jobs/{job}/applications", person())

    refused = acme.post(f"/jobs/{job}/applications", person() | OWN)

    assert code_of(refused) == (409, "DUPLICATE_SUBMISSION")
    assert not ApplicationReference.objects.exists()


def test_the_409_names_the_application_that_is_there(acme: Caller, job: UUID) -> None:
    first = acme.post(f"/jobs/{job}/applications", person()).json()["id"]
    again = acme.post(f"/jobs/{job}/applications", person())
    owner = signed_in(Application.objects.get(id=first).applicant)
    twice = owner.post(f"/jobs/{job}/applications", {})
    acme.post(f"/applications/{first}/remove", {"outcome": "REJECTED"})
    decided = owner.post(f"/jobs/{job}/applications", {})

    assert [code_of(each)[1] for each in (again, twice, decided)] == [
        *["DUPLICATE_SUBMISSION"] * 2,
        "ALREADY_DECIDED",
    ]
    assert {each.json()["existing_id"] for each in (again, twice, decided)} == {first}


def test_nothing_is_attached_to_who_was_erased(acme: Caller, job: UUID) -> None:
    made = acme.post(f"/jobs/{job}/applications", person() | OWN).json()["id"]
    erase_person(applicant_id=Application.objects.get(id=made).applicant_id)

    refused = [acme.patch(f"/applications/{made}", {name: OWN[name]}) for name in OWN]

    assert [code_of(each) for each in refused] == [(409, "PERSON_ERASED")] * 2
    assert acme.patch(f"/applications/{made}", {}).status_code == 200
    assert not ApplicationReference.objects.exists()


def test_an_unverified_application_that_is_taken_over_gets_the_id(acme: Caller, job: UUID) -> None:
    Caller().post(f"/jobs/{job}/applications", person())

    taken_over = acme.post(f"/jobs/{job}/applications", person() | OWN)

    assert taken_over.status_code == 201
    assert shown(acme.get(f"/applications/{taken_over.json()['id']}")) == OWN


@pytest.mark.parametrize(
    ("body", "pointer", "code"),
    [
        ({"external_id": ""}, "/external_id", "BLANK"),
        ({"external_id": "x" * 201}, "/external_id", "MAX_LENGTH"),
        ({"external_id": "a\nb"}, "/external_id", "INVALID"),
        ({"external_id": 7}, "/external_id", "INVALID"),
        ({"metadata": None}, "/metadata", "NULL"),
        ({"metadata": []}, "/metadata", "INVALID"),
        ({"metadata": {"a": 1}}, "/metadata/a", "INVALID"),
        ({"metadata": {"a": "x" * 501}}, "/metadata/a", "MAX_LENGTH"),
        ({"metadata": {"a b": "x"}}, "/metadata/a b", "INVALID"),
        ({"metadata": {"": "x"}}, "/metadata/", "INVALID"),
        ({"metadata": {"x" * 41: "x"}}, "/metadata/" + "x" * 41, "INVALID"),
        ({"metadata": {f"k{n}": "x" for n in range(21)}}, "/metadata", "MAX_LENGTH"),
    ],
)
def test_what_is_attached_is_bounded(
    acme: Caller, body: dict[str, Any], pointer: str, code: str
) -> None:
    refused = acme.post("/jobs", NEW_JOB | body)

    assert refused.status_code == 400
    assert [(each["pointer"], each["code"]) for each in refused.json()["errors"]] == [
        (pointer, code)
    ]


def test_the_log_holds_nothing_of_it(acme: Caller) -> None:
    job = acme.post("/jobs", NEW_JOB | {"external_id": "quaint", "metadata": {"a": "quaint"}})
    path = f"/jobs/{job.json()['id']}"
    acme.post(f"{path}/applications", person() | {"metadata": {"a": "quaint"}})
    acme.patch(path, {"metadata": {"b": "quaint"}})

    assert Event.objects.count() > 2
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pipeline_event e WHERE e::text LIKE '%quaint%'")
        assert cursor.fetchone() == (0,)


def test_a_change_shows_in_the_tag_of_the_line(acme: Caller, job: UUID) -> None:
    waiting = factories.line(job)[0]
    before = {path: acme.get(f"/jobs/{job}{path}").headers["ETag"] for path in ("/queue",)}

    acme.patch(f"/applications/{waiting}", OWN)

    for path, tag in before.items():
        answer = acme.get(f"/jobs/{job}{path}", if_none_match=tag)
        assert answer.status_code == 200
        assert answer.json()["data"][0]["external_id"] == "crm-7"


@pytest.mark.django_db(transaction=True)
def test_it_is_erased_with_the_person(company: Company) -> None:
    acme = key_of(company.id)
    job = factories.job(company_id=company.id)
    made = acme.post(f"/jobs/{job}/applications", person() | OWN).json()

    erase_person(applicant_id=UUID(made["applicant"]["id"]))

    assert not ApplicationReference.objects.exists()


def test_spaces_around_an_external_id_do_not_matter(acme: Caller) -> None:
    job = acme.post("/jobs", NEW_JOB | {"external_id": " a "}).json()
    path = f"/jobs/{job['id']}/applications"
    made = acme.post(path, person() | {"external_id": " b "}).json()

    assert (job["external_id"], made["external_id"]) == ("a", "b")
    for address, wanted, found in (
        ("/jobs", " a ", job),
        ("/applications", " b ", made),
        (path, "b ", made),
    ):
        rows = acme.get(address, {"external_id": wanted}).json()["data"]
        assert [row["id"] for row in rows] == [found["id"]], address
        assert acme.get(address, {"external_id": wanted.upper()}).json()["data"] == []
    assert acme.get("/applications", {"external_id": " "}).json()["data"] == []


def test_the_first_of_several_refusals_is_the_taken_id(acme: Caller) -> None:
    job = acme.post("/jobs", NEW_JOB).json()["id"]
    first = acme.post(f"/jobs/{job}/applications", person() | {"external_id": "b"}).json()["id"]
    acme.post(f"/jobs/{job}/pause")

    taken = acme.post(f"/jobs/{job}/applications", person() | {"external_id": "b"})
    paused = acme.post(f"/jobs/{job}/applications", person() | {"external_id": "c"})

    assert code_of(taken) == (409, "EXTERNAL_ID_TAKEN")
    assert taken.json()["existing_id"] == first
    assert code_of(paused) == (409, "JOB_NOT_OPEN")
    assert paused.json()["existing_id"] is None
