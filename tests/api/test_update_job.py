"""Changing, opening, pausing and closing jobs over the API, and the ETags that guard it."""

from __future__ import annotations

from typing import Any

import pytest

from jobs.models import Company
from tests.support import factories
from tests.support.callers import NEW_JOB, Caller, code_of, pointers


def test_a_job_goes_from_draft_to_open_to_paused_to_open_to_closed(acme: Caller) -> None:
    job = acme.post("/jobs", NEW_JOB | {"status": "DRAFT"}).json()["id"]

    statuses = []
    for verb in ("open", "pause", "open", "close", "close"):
        answer = acme.post(f"/jobs/{job}/{verb}")
        statuses.append(answer.json()["status"])
        assert answer.status_code == 200
        assert answer.headers["ETag"] == acme.get(f"/jobs/{job}").headers["ETag"]

    assert statuses == ["OPEN", "PAUSED", "OPEN", "CLOSED", "CLOSED"]
    assert code_of(acme.post(f"/jobs/{job}/open")) == (409, "INVALID_TRANSITION")


@pytest.mark.parametrize("verb", ["pause", "close"])
def test_a_draft_cannot_be_paused_or_closed(acme: Caller, verb: str) -> None:
    job = acme.post("/jobs", NEW_JOB | {"status": "DRAFT"}).json()["id"]

    assert code_of(acme.post(f"/jobs/{job}/{verb}")) == (409, "INVALID_TRANSITION")


def test_a_verb_takes_no_fields(acme: Caller, company: Company) -> None:
    answer = acme.post(f"/jobs/{factories.job(company_id=company.id)}/pause", {"reason": "x"})

    assert code_of(answer) == (400, "VALIDATION_ERROR")
    assert pointers(answer) == ["/reason"]


def test_texts_are_changed_without_having_seen_them(acme: Caller, company: Company) -> None:
    job = factories.job(company_id=company.id)

    answer = acme.patch(f"/jobs/{job}", {"title": "Baker", "location": ""})

    assert answer.status_code == 200
    assert answer.json()["title"] == "Baker"
    assert answer.json()["updated_at"] > answer.json()["created_at"]


def test_nothing_to_change_changes_nothing(acme: Caller, company: Company) -> None:
    job = factories.job(company_id=company.id)
    before = acme.get(f"/jobs/{job}")

    answer = acme.patch(f"/jobs/{job}", {})

    assert answer.json() == before.json()
    assert answer.headers["ETag"] == before.headers["ETag"]


@pytest.mark.parametrize("change", [{"capacity": 3}, {"policy": {"penalty_places": 4}}])
def test_capacity_and_policy_are_changed_only_by_who_has_seen_them(
    acme: Caller, company: Company, change: dict[str, Any]
) -> None:
    path = f"/jobs/{factories.job(company_id=company.id)}"
    tag = acme.get(path).headers["ETag"]

    assert code_of(acme.patch(path, change)) == (428, "PRECONDITION_REQUIRED")
    assert code_of(acme.patch(path, change, if_match='"0-0"')) == (412, "PRECONDITION_FAILED")
    answer = acme.patch(path, change, if_match=f'"0-0", {tag}')

    assert answer.status_code == 200
    assert answer.headers["ETag"] != tag
    assert answer.headers["ETag"] == acme.get(path).headers["ETag"]
    assert code_of(acme.patch(path, change, if_match=tag)) == (412, "PRECONDITION_FAILED")


def test_a_policy_changes_only_in_the_fields_that_are_named(acme: Caller, company: Company) -> None:
    path = f"/jobs/{factories.job(company_id=company.id)}"
    before = acme.get(path)

    answer = acme.patch(path, {"policy": {"max_decays": None}}, if_match=before.headers["ETag"])

    policy = before.json()["policy"]
    assert answer.json()["policy"] == policy | {"max_decays": None, "version": 2}


def test_any_version_will_do_for_who_says_so(acme: Caller, company: Company) -> None:
    path = f"/jobs/{factories.job(company_id=company.id)}"

    assert acme.patch(path, {"capacity": 3}, if_match="*").json()["capacity"] == 3


def test_an_application_in_between_makes_the_version_stale(acme: Caller, company: Company) -> None:
    job = factories.job(company_id=company.id)
    tag = acme.get(f"/jobs/{job}").headers["ETag"]
    factories.application(job)

    answer = acme.patch(f"/jobs/{job}", {"capacity": 3}, if_match=tag)

    assert code_of(answer) == (412, "PRECONDITION_FAILED")
    assert factories.row_of(job).capacity == 1


def test_more_seats_go_to_the_next_in_line_before_the_answer(
    acme: Caller, company: Company
) -> None:
    job = factories.job(company_id=company.id)
    factories.applications(job, 3)
    tag = acme.get(f"/jobs/{job}").headers["ETag"]

    body = acme.patch(f"/jobs/{job}", {"capacity": 2}, if_match=tag).json()

    assert (body["active_count"], body["pending_count"], body["waitlist_count"]) == (1, 1, 1)


def test_a_closed_job_keeps_its_capacity_but_not_its_words(acme: Caller, company: Company) -> None:
    path = f"/jobs/{factories.job(company_id=company.id)}"
    acme.post(f"{path}/close")

    assert code_of(acme.patch(path, {"capacity": 2}, if_match="*")) == (409, "INVALID_TRANSITION")
    assert acme.patch(path, {"title": "Filled"}).json()["title"] == "Filled"


def test_who_has_the_job_as_it_is_gets_no_body(acme: Caller, company: Company) -> None:
    path = f"/jobs/{factories.job(company_id=company.id)}"
    tag = acme.get(path).headers["ETag"]

    for seen in (tag, f"W/{tag}", f'"x", {tag}', "*"):
        answer = acme.get(path, if_none_match=seen)
        assert (answer.status_code, answer.content) == (304, b"")
        assert answer.headers["ETag"] == tag
        assert answer.headers["Vary"] == "Authorization, Cookie, Accept-Language"
    assert acme.get(path, if_none_match='"1-9"').status_code == 200


def test_the_tag_changes_with_the_line_and_with_the_words(acme: Caller, company: Company) -> None:
    job = factories.job(company_id=company.id)
    tags = [acme.get(f"/jobs/{job}").headers["ETag"]]

    factories.application(job)
    tags.append(acme.get(f"/jobs/{job}").headers["ETag"])
    acme.patch(f"/jobs/{job}", {"title": "New"})
    tags.append(acme.get(f"/jobs/{job}").headers["ETag"])

    assert len(set(tags)) == 3
    assert not any(tag.startswith("W/") for tag in tags)
