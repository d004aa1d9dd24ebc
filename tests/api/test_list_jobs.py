"""Lists of jobs: owners, filters and pages."""

from __future__ import annotations

import pytest

from jobs.models import Company
from tests.support import factories
from tests.support.callers import NEW_JOB, Caller, code_of, pointers


def test_the_public_lists_open_jobs_and_a_company_all_of_its_own(
    acme: Caller, nobody: Caller, other: Caller, company: Company
) -> None:
    foreign = factories.job()
    opened = factories.job(company_id=company.id)
    draft = factories.job(company_id=company.id, open_now=False)

    def listed(caller: Caller, **query: str) -> list[str]:
        return [job["id"] for job in caller.get("/jobs", query).json()["data"]]

    assert listed(nobody) == [str(opened), str(foreign)]
    assert listed(acme) == [str(draft), str(opened)]
    assert listed(other) == []
    assert listed(acme, status="DRAFT") == [str(draft)]
    assert listed(nobody, status="DRAFT") == []
    assert listed(nobody, status="OPEN") == [str(opened), str(foreign)]


def test_jobs_are_found_by_their_words(acme: Caller, nobody: Caller) -> None:
    cook = acme.post("/jobs", NEW_JOB | {"location": "Bern"}).json()["id"]
    acme.post("/jobs", NEW_JOB | {"title": "100% Baker_"})

    def found(search: str) -> int:
        return len(nobody.get("/jobs", {"search": search}).json()["data"])

    assert nobody.get("/jobs", {"search": "bERN"}).json()["data"][0]["id"] == cook
    assert (found("cook"), found("100%"), found("%"), found("_"), found("'\\")) == (1, 1, 1, 1, 0)


@pytest.mark.parametrize(
    "query",
    [
        {"status": "open"},
        {"status": ""},
        {"search": "a\0b"},
        {"search": "x" * 201},
        {"limit": "0"},
        {"limit": "201"},
        {"limit": "-1"},
        {"limit": "ten"},
        {"limit": "1e2"},
        {"limit": "9" * 5_000},
        {"cursor": ""},
        {"cursor": "WzFd"},
        {"cursor": "bm8"},
        {"cursor": "\u00e9"},
    ],
)
def test_a_parameter_that_makes_no_sense_is_refused(acme: Caller, query: dict[str, str]) -> None:
    answer = acme.get("/jobs", query)

    assert code_of(answer) == (400, "VALIDATION_ERROR")
    assert pointers(answer) == [f"/{next(iter(query))}"]


def test_jobs_come_in_pages_that_neither_lose_nor_repeat_one(
    acme: Caller, company: Company
) -> None:
    ids = [str(factories.job(company_id=company.id)) for _ in range(5)]
    seen, query = [], {"limit": "2", "status": "OPEN"}

    while True:
        answer = acme.get("/jobs", query)
        seen += [job["id"] for job in answer.json()["data"]]
        factories.job(company_id=company.id)  # what comes meanwhile is newer than what is read
        if (cursor := answer.json()["next_cursor"]) is None:
            break
        link = answer.headers["Link"]
        assert link.startswith("</api/v1/jobs?limit=2&status=OPEN&cursor=")
        assert link.endswith('>; rel="next"')
        query["cursor"] = cursor

    assert seen == ids[::-1]
    assert "Link" not in answer.headers
