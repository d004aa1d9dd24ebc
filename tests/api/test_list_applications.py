"""`GET /jobs/{id}/applications`: filters, order, search, pages and totals."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest

from jobs.models import Company
from pipeline.domain.states import Outcome, Reason
from pipeline.maintenance import name_index
from pipeline.models import Application, ApplicationTag
from pipeline.privacy.erase import erase_person
from pipeline.selectors import job_applications
from pipeline.services.leaving import remove
from pipeline.sources.origin import Origin
from tests.support import factories
from tests.support.callers import Caller, code_of, pointers, signed_in

DAY = timedelta(days=1)
START = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture
def job(company: Company) -> UUID:
    """A job with one person seated, one hired, one rejected, one who left, and two who wait.

    They applied a day apart, and who has ended did so twenty days after applying.
    """
    job = factories.job(company_id=company.id, capacity=1)
    people = [
        factories.application(job, factories.applicant(name=name))
        for name in ("Ann Aalto", "Ben Berg", "Cem Can", "Dee Dahl", "Eva Ek", "Fay Berg")
    ]
    for person, outcome in ((people[0], Outcome.HIRED), (people[2], Outcome.REJECTED)):
        actor = factories.RECRUITER
        remove(
            application_id=person.id,
            outcome=outcome,
            actor=actor,
            reason=Reason.OTHER,
            note="a note",
        )
        if outcome is Outcome.HIRED:
            signed_in(people[1].applicant).post(f"/applications/{people[1].id}/acknowledge")
    signed_in(people[3].applicant).post(f"/applications/{people[3].id}/withdraw")
    for number, person in enumerate(people):
        row = Application.objects.filter(id=person.id)
        row.update(applied_at=START + number * DAY)
        row.exclude(ended_at=None).update(ended_at=START + (number + 20) * DAY)
    Application.objects.filter(id=people[4].id).update(decay_count=2)
    return job


def names(caller: Caller, job: UUID, query: dict[str, Any]) -> list[str]:
    """First names, in the order of the list, over all its pages."""
    found: list[str] = []
    cursor: str | None = ""
    while cursor is not None:
        page = caller.get(
            f"/jobs/{job}/applications", query | ({"cursor": cursor} if cursor else {})
        )
        assert page.status_code == 200, page.content
        found += [row["applicant"]["name"].split()[0] for row in page.json()["data"]]
        cursor = page.json()["next_cursor"]
    return found


def day(number: int) -> str:
    return (START + number * DAY).isoformat().replace("+00:00", "Z")


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ({}, "Fay Eva Dee Cem Ben Ann"),
        ({"sort": "applied_at"}, "Ann Ben Cem Dee Eva Fay"),
        ({"sort": "ended_at"}, "Ann Cem Dee"),
        ({"sort": "-ended_at"}, "Dee Cem Ann"),
        ({"status": "ACTIVE"}, "Ben"),
        ({"status": "WAITLIST"}, "Fay Eva"),
        ({"status": "INACTIVE"}, "Dee Cem Ann"),
        ({"outcome": "HIRED"}, "Ann"),
        ({"outcome": "HIRED", "status": "INACTIVE"}, "Ann"),
        ({"outcome": "HIRED", "status": "ACTIVE"}, ""),
        ({"applied_after": day(2)}, "Fay Eva Dee Cem"),
        ({"applied_after": day(2), "applied_before": day(4)}, "Dee Cem"),
        ({"ended_after": day(22)}, "Dee Cem"),
        ({"ended_before": day(22), "sort": "applied_at"}, "Ann"),
        ({"applied_before": day(3), "sort": "-ended_at"}, "Cem Ann"),
        ({"min_decay_count": 1}, "Eva"),
        ({"min_decay_count": 3}, ""),
        ({"verified": "true"}, "Fay Eva Dee Cem Ben Ann"),
        ({"verified": "false"}, ""),
        ({"search": "berg"}, "Ben Fay"),
        ({"search": "ber f"}, "Fay"),
        ({"search": "berg", "status": "WAITLIST"}, "Fay"),
        ({"search": "nobody"}, ""),
    ],
    ids=str,
)
def test_it_lists_who_fits_in_order(
    acme: Caller, job: UUID, query: dict[str, Any], expected: str
) -> None:
    name_index.update()

    found = {limit: names(acme, job, query | {"limit": limit}) for limit in (1, 2, 50)}

    assert found == dict.fromkeys((1, 2, 50), expected.split())


@pytest.mark.parametrize("candidates", [1, 2, 3])
def test_a_page_ends_early_rather_than_search_for_long(
    acme: Caller, job: UUID, candidates: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(job_applications, "CANDIDATES", candidates)
    job_applications.list_statements.cache_clear()
    query: dict[str, Any] = {"min_decay_count": 1, "limit": 5}

    first = acme.get(f"/jobs/{job}/applications", query).json()
    found = names(acme, job, query)
    job_applications.list_statements.cache_clear()

    assert len(first["data"]) <= candidates
    assert first["next_cursor"]
    assert found == ["Eva"]


def test_on_request_it_says_how_many_there_are(acme: Caller, job: UUID) -> None:
    path = f"/jobs/{job}/applications"

    assert acme.get(path).json()["total"] is None
    counts: list[tuple[dict[str, str], int]] = [({}, 6), ({"min_decay_count": "1"}, 1)]
    ended = {"status": "INACTIVE"}, {"sort": "-ended_at"}, {"sort": "ended_at"}
    counts.extend((each, 3) for each in ended)
    for query, count in counts:
        page = acme.get(path, {"expand": "total", "limit": "1"} | query).json()
        assert page["total"] == {"count": count, "exact": True}


def test_a_total_is_counted_up_to_a_bound(
    acme: Caller, job: UUID, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(job_applications, "MOST_COUNTED", 4)

    page = acme.get(f"/jobs/{job}/applications", {"expand": "total"}).json()

    assert page["total"] == {"count": 4, "exact": False}


def test_decisions_come_on_request(acme: Caller, job: UUID) -> None:
    path = f"/jobs/{job}/applications"
    query = {"outcome": "HIRED", "expand": "decision"}

    [hired] = acme.get(path, query).json()["data"]
    [plain] = acme.get(path, {"outcome": "HIRED"}).json()["data"]
    one = acme.get(f"/applications/{hired['id']}", {"expand": "decision"}).json()
    [live] = acme.get(path, {"status": "ACTIVE", "expand": "decision"}).json()["data"]
    mine = signed_in(Application.objects.get(id=hired["id"]).applicant)
    own = mine.get(f"/applications/{hired['id']}", {"expand": "decision"}).json()

    assert plain["decision"] is live["decision"] is None
    assert hired["decision"] == one["decision"]
    assert hired["decision"]["note"] == "a note"
    assert (hired["decision"]["outcome"], hired["decision"]["reason"]) == ("HIRED", "OTHER")
    assert hired["decision"]["actor"]["id"] == str(factories.RECRUITER.id)
    assert (own["decision"]["note"], own["decision"]["actor"]["id"]) == (None, None)


@pytest.mark.parametrize(
    ("query", "pointer"),
    [
        ({"status": "HIRED"}, "/status"),
        ({"outcome": "ACTIVE"}, "/outcome"),
        ({"applied_after": "yesterday"}, "/applied_after"),
        ({"ended_before": "2026-01-01"}, "/ended_before"),
        ({"min_decay_count": "-1"}, "/min_decay_count"),
        ({"verified": "1"}, "/verified"),
        ({"external_id": "x" * 201}, "/external_id"),
        ({"metadata[a]": "x" * 501}, "/metadata"),
        ({f"metadata[{n}]": "x" for n in range(21)}, "/metadata"),
        ({"search": "x" * 201}, "/search"),
        ({"search": "ann", "sort": "applied_at"}, "/search"),
        ({"search": "ann", "expand": "total"}, "/search"),
        ({"sort": "name"}, "/sort"),
        ({"expand": "everything"}, "/expand"),
        ({"fields": "id,salary"}, "/fields"),
        ({"cursor": "x"}, "/cursor"),
    ],
    ids=str,
)
def test_what_it_does_not_know_is_refused(
    acme: Caller, job: UUID, query: dict[str, str], pointer: str
) -> None:
    answer = acme.get(f"/jobs/{job}/applications", query)

    assert code_of(answer) == (400, "VALIDATION_ERROR")
    assert pointers(answer) == [pointer]


def test_applications_are_found_by_their_tags(acme: Caller, job: UUID) -> None:
    for number, id_ in enumerate(factories.line(job)):
        for word in ("fair", f"booth {number}"):
            ApplicationTag.objects.create(application_id=id_, job_id=job, word=word)

    assert names(acme, job, {"tag": "Fair", "limit": 1}) == ["Fay", "Eva"]
    assert names(acme, job, {"tag": " Booth  1 "}) == ["Fay"]
    name_index.update()
    assert names(acme, job, {"tag": "fair", "search": "ek"}) == ["Eva"]
    assert names(acme, job, {"tag": "fair", "search": "dahl"}) == []
    assert names(acme, job, {"tag": "web"}) == []
    assert acme.get(f"/jobs/{job}/applications", {"tag": "x" * 201}).status_code == 400


def test_applications_are_found_by_their_texts(acme: Caller, job: UUID) -> None:
    for number, id_ in enumerate(factories.line(job)):
        metadata = {"source": "fair", "booth": str(number)}
        acme.patch(f"/applications/{id_}", {"metadata": metadata})

    assert names(acme, job, {"metadata[source]": "fair"}) == ["Fay", "Eva"]
    assert names(acme, job, {"metadata[source]": "fair", "metadata[booth]": "1"}) == ["Fay"]
    assert names(acme, job, {"metadata[source]": "web"}) == []


def test_a_list_is_filtered_by_the_source_of_the_link(acme: Caller, company: Company) -> None:
    job = factories.job(company_id=company.id)
    for name, source in (("Ann A", "fair"), ("Ben B", "board"), ("Cem C", ""), ("Dee D", "fair")):
        origin = Origin.read({"source": source})
        factories.application(job, factories.applicant(name=name), companions=[origin])

    assert names(acme, job, {"source": "Fair"}) == ["Dee", "Ann"]
    assert names(acme, job, {"source": "direct"}) == ["Cem"]
    assert names(acme, job, {"source": "nowhere"}) == []
    erase_person(applicant_id=Application.objects.get(job_id=job, name="Dee D").applicant_id)
    assert names(acme, job, {"source": "fair"}) == ["Ann"]
    assert names(acme, job, {"source": "direct"}) == ["Cem"]
