"""Finding one's own applicants, and what lately happened, read in bounded time."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from django.db import connection
from django.test import Client

from applicants.models import Applicant
from jobs.models import Company
from pipeline.maintenance import name_index
from pipeline.models import Application, NameWord
from pipeline.privacy.erase import erase_person
from pipeline.selectors import people
from pipeline.selectors.jobs import NOTHING_YET, recent_misses, recent_waits
from pipeline.services.leaving import withdraw
from pipeline.services.turns import acknowledge
from tests.support import factories
from tests.support.applicants import named
from tests.support.clock import let_time_pass


@pytest.fixture
def job(job: UUID) -> UUID:
    name_index.update()
    return job


def found(company: Company, words: str, **how: Any) -> list[str]:
    page = people.search_names(company.id, words, limit=how.pop("limit", 50), **how)
    return [seen.application.name for seen in page.rows]


@pytest.mark.parametrize(
    ("words", "names"),
    [
        ("ana", ["Ana Li"]),
        ("OKA", ["Cy Okafor"]),
        ("li an", ["Ana Li"]),
        ("e", ["Eli Sato"]),
        ("be b", ["Bo Berg"]),
        ("bo li", []),
        ("na", []),
        ("%", []),
        ("_", []),
        ("'", []),
        ("", []),
    ],
)
def test_people_are_found_by_the_beginnings_of_words(
    job: UUID, company: Company, words: str, names: list[str]
) -> None:
    assert found(company, words) == names


def test_nobody_else_s_people_are_found(job: UUID) -> None:
    assert found(factories.company(), "ana") == []


def test_a_long_list_has_pages(company: Company) -> None:
    job = factories.job(company_id=company.id)
    for n in range(5):
        factories.application(job, factories.applicant(name=f"Kim Number{n}"))
    name_index.update()

    first = people.search_names(company.id, "kim", limit=2)
    assert first.next
    second = people.search_names(company.id, "kim", after=first.next, limit=2)
    assert second.next
    third = people.search_names(company.id, "kim", after=second.next, limit=2)

    pages = [first.rows, second.rows, third.rows]
    assert [len(page) for page in pages] == [2, 2, 1]
    assert third.next is None
    assert len({seen.application.id for page in pages for seen in page}) == 5


@pytest.fixture
def many(company: Company, monkeypatch: Any) -> Company:
    """A company with more people of a name than a search looks at in one go: two."""
    monkeypatch.setattr(people, "CANDIDATES", 2)
    job = factories.job(company_id=company.id)
    for name in ("Maria A", "Maria B", "Maria C", "Carl D", "Carl E"):
        factories.application(job, factories.applicant(name=name))
    name_index.update()
    return company


def test_a_search_goes_on_until_it_has_found_somebody(many: Company) -> None:
    page = people.search_names(many.id, "maria c", limit=5)

    assert [seen.application.name for seen in page.rows] == ["Maria C"]
    assert page.next is None


def test_a_search_looks_at_so_many_names_and_goes_on_with_the_next_page(
    many: Company, monkeypatch: Any
) -> None:
    monkeypatch.setattr(people, "LOOKS", 1)

    first = people.search_names(many.id, "maria c", limit=5)
    assert first.next
    assert (first.rows, first.next.word) == ([], "maria")
    second = people.search_names(many.id, "maria c", after=first.next, limit=5)

    assert [seen.application.name for seen in second.rows] == ["Maria C"]


def test_a_search_begins_with_the_word_that_fewest_people_have(
    many: Company, monkeypatch: Any
) -> None:
    monkeypatch.setattr(people, "LOOKS", 1)

    page = people.search_names(many.id, "maria b", limit=5)

    assert [seen.application.name for seen in page.rows] == ["Maria B"]


def test_a_name_that_is_erased_is_not_found_any_more(job: UUID, company: Company) -> None:
    Application.objects.filter(job_id=job, name="Ana Li").update(name="")
    Application.objects.filter(job_id=job, name="Bo Berg").update(name="Bo Holm")

    assert found(company, "ana") == []
    assert found(company, "berg") == []
    assert found(company, "holm") == ["Bo Holm"]
    assert not NameWord.objects.filter(word__in=["ana", "li", "berg"]).exists()


def test_names_are_learned_once_whoever_looks_again(company: Company) -> None:
    job = factories.job(company_id=company.id)
    factories.application(job, factories.applicant(name="Ana Li"))

    assert found(company, "ana") == []  # nothing of it is done under the job's lock
    for _ in range(3):
        name_index.update()
    assert found(company, "ana") == ["Ana Li"]
    assert NameWord.objects.count() == 2


APPLY_LATE = """
WITH person AS (
    INSERT INTO pipeline_application (id, job_id, applicant_id, name, status, outcome, decay_count,
                                      deadline_extended, applied_at, status_since, ended_at)
    SELECT gen_random_uuid(), job_id, applicant_id, 'Late Comer', 'INACTIVE', 'WITHDRAWN', 0, false,
           now(), now(), now()
    FROM pipeline_application LIMIT 1 RETURNING id
)
INSERT INTO pipeline_event (job_id, seq, application_id, event, actor_kind, policy_version, at,
                            effective_at, data, prev_hash, hash, company_id)
SELECT job_id, 1000, person.id, 'APPLIED', 'SYSTEM', 1, at, at, data, '', '', company_id
FROM pipeline_event, person WHERE seq = 3
"""


def test_a_name_is_learned_although_its_event_is_committed_after_later_ones(
    company: Company,
) -> None:
    job = factories.job(company_id=company.id)
    factories.application(job, factories.applicant(name="Early Bird"))
    other = connection.copy()
    other.set_autocommit(False)
    try:
        with other.cursor() as cursor:
            cursor.execute(APPLY_LATE)
            factories.application(job, factories.applicant(name="Ana Li"))
            for _ in range(3):
                name_index.update()
        other.commit()
    finally:
        other.close()

    assert (found(company, "ana"), found(company, "late")) == (["Ana Li"], [])
    name_index.update()
    assert found(company, "late") == ["Late Comer"]


def test_a_name_that_is_being_erased_is_not_learned_any_more(company: Company) -> None:
    job = factories.job(company_id=company.id)
    ana = factories.application(job, factories.applicant(name="Ana Li"))
    other = connection.copy()
    other.set_autocommit(False)
    try:
        with other.cursor() as cursor:
            cursor.execute("UPDATE pipeline_application SET name = 'x' WHERE id = %s", [ana.id])
            name_index.update()
            assert not NameWord.objects.exists()
        other.commit()
    finally:
        other.close()
    name_index.update()

    assert [each.word for each in NameWord.objects.all()] == ["x"]


def test_an_erased_person_is_shown_without_an_address(viewer: Client, company: Company) -> None:
    """Nobody of the demo, whose names the bar of a development machine always shows."""
    job = factories.job(company_id=company.id, capacity=2)
    for name in ("Ana Li", "Per Lund", "Cy Okafor"):
        factories.application(job, factories.applicant(name=name))
    name_index.update()
    per = named(job, "Per Lund")
    assert b"Per Lund" in viewer.get(f"/company/jobs/{job}/").content
    erase_person(applicant_id=per.applicant_id)

    for path in (
        f"jobs/{job}/",
        f"jobs/{job}/timeline/",
        f"jobs/{job}/timeline/?name=erased",
        f"jobs/{job}/replay/?seq=4",
        f"jobs/{job}/export/applications.csv",
        f"jobs/{job}/export/applications.jsonl",
        f"applications/{per.id}/",
        f"people/{per.applicant_id}/",
        "people/?q=erased",
    ):
        answer = viewer.get(f"/company/{path}", follow=True)
        text = b"".join(answer) if answer.streaming else answer.content
        assert answer.status_code == 200
        assert b"erased:" not in text, path
        assert b"Lund" not in text, path
        if path != f"jobs/{job}/":
            assert b"Erased person" in text, path


def test_a_company_reads_only_what_it_was_told_itself(viewer: Client, job: UUID) -> None:
    ana = named(job, "Ana Li")
    elsewhere = factories.job()
    factories.alter(elsewhere, posting={"title": "Secret job"})
    person = Applicant.objects.get(id=ana.applicant_id)
    person.name = "Other Name"
    factories.application(elsewhere, person)

    page = re.sub(r"\s+", " ", viewer.get(f"/company/people/{person.id}/").content.decode())

    assert "Ana Li" in page
    assert "Applied · Engineer" in page
    assert "Secret job" not in page
    assert "Other Name" not in page


def test_a_person_who_only_applied_elsewhere_does_not_exist(viewer: Client) -> None:
    stranger = factories.application(factories.job())

    assert viewer.get(f"/company/people/{stranger.applicant_id}/").status_code == 404


def test_waits_are_medians_of_what_lately_happened(
    company: Company, django_assert_num_queries: Any
) -> None:
    job, quiet = factories.job(company_id=company.id), factories.job(company_id=company.id)
    first, *rest = factories.applications(job, 6)
    leaving = first
    for waited in [100] * 5:
        let_time_pass(job, waited)
        withdraw(application_id=leaving.id, actor=factories.owner_of(leaving))
        leaving = rest.pop(0)
        let_time_pass(job, 10)
        acknowledge(application_id=leaving.id, actor=factories.owner_of(leaving))

    with django_assert_num_queries(1):
        facts = recent_waits([job, quiet])

    assert facts[quiet] == NOTHING_YET
    assert facts[job].median_wait_seconds == pytest.approx(320, abs=3)
    assert facts[job].median_answer_seconds == pytest.approx(10, abs=2)
    assert recent_waits([]) == {}


def test_the_last_misses_are_missed_turns_of_the_span_only(company: Company) -> None:
    job, day = factories.job(company_id=company.id, max_decays=0), timedelta(days=1)
    reviewed, missed = factories.applications(job, 2)
    withdraw(application_id=reviewed.id, actor=factories.owner_of(reviewed))
    let_time_pass(job, factories.WINDOW + 1)
    factories.settle_all()
    unverified = factories.application(job, verified=False)
    let_time_pass(job, day.total_seconds())
    factories.settle_all()

    assert factories.statuses(missed, unverified) == ["LAPSED", "LAPSED"]
    assert [miss.application_id for miss in recent_misses(job, 2 * day, limit=1)] == [missed.id]
    assert recent_misses(job, day, limit=1) == []
