"""Views of public pages: counted once a day, without cookies, addresses or a wait."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.db import connection
from django.test import Client

from jobs.models import Company
from pipeline.maintenance.expired_rows import remove_batch
from pipeline.models import JobViews, Visitor, VisitorSalt
from pipeline.sources import views
from pipeline.sources.views import MOST_SOURCES, OTHER, View, count, view_log
from tests.support import factories
from tests.support.applicants import applicant_browser

pytestmark = pytest.mark.django_db(transaction=True)

FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"


@pytest.fixture(autouse=True)
def counted(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Views are noted, and counted when the test says so."""
    view_log._waiting.clear()
    monkeypatch.setattr(view_log, "is_on", True)
    monkeypatch.setattr(view_log, "_start", lambda: None)
    yield
    view_log._waiting.clear()


def numbers() -> dict[str, int]:
    view_log.write_notes()
    return dict(JobViews.objects.values_list("source", "views"))


def view(job: UUID, query: str = "", *, client: Client | None = None, **headers: str) -> None:
    headers = {"user-agent": FIREFOX} | headers
    answer = (client or Client()).get(f"/jobs/{job}/{query}", headers=headers)
    assert answer.status_code == 200


def test_a_person_counts_once_a_day_by_their_first_source() -> None:
    job, other = factories.job(), factories.job()

    view(job, "?source=LinkedIn")
    view(job, "?source=indeed")
    assert numbers() == {"linkedin": 1}
    view(job)
    view(job, **{"user-agent": f"{FIREFOX} b"})
    view(other)

    assert numbers() == {"linkedin": 1, "direct": 1}
    assert JobViews.objects.filter(job_id=other).get().views == 1


@pytest.mark.parametrize(
    "headers",
    [
        {"user-agent": "Googlebot/2.1 (+http://www.google.com/bot.html)"},
        {"user-agent": "curl/8.5.0"},
        {"user-agent": ""},
        {"sec-purpose": "prefetch;prerender"},
    ],
)
def test_programs_and_pages_that_nobody_asked_for_do_not_count(headers: dict[str, str]) -> None:
    view(factories.job(), **headers)

    assert numbers() == {}


def test_the_company_those_who_applied_and_updates_of_a_page_do_not_count(
    owner: Client, company: Company
) -> None:
    job, person = factories.job(company_id=company.id), factories.applicant()
    factories.application(job, person)

    view(job, client=owner)
    view(job, client=applicant_browser(person))
    view(job, "?fragment=1")
    Client().head(f"/jobs/{job}/", headers={"user-agent": FIREFOX})

    assert numbers() == {}


def test_a_page_makes_no_query_more_and_sets_no_cookie(django_assert_num_queries: Any) -> None:
    job = factories.job()
    view(job)
    with connection.execute_wrapper(_count := _Counter()):
        answer = Client().get(f"/jobs/{job}/?source=a", headers={"user-agent": FIREFOX})
    with connection.execute_wrapper(_robots := _Counter()):
        Client().get(f"/jobs/{job}/", headers={"user-agent": "curl"})

    assert _count.calls == _robots.calls
    assert set(answer.cookies) <= {"csrftoken", "__Host-csrftoken"}


class _Counter:
    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, execute: Any, *given: Any) -> Any:
        self.calls += 1
        return execute(*given)


def test_no_address_is_kept_and_no_two_jobs_have_the_same_hash() -> None:
    first, second = factories.job(), factories.job()

    count([View(first, "a", f"192.0.2.7 {FIREFOX}"), View(second, "a", f"192.0.2.7 {FIREFOX}")])

    assert Visitor.objects.count() == 2
    with connection.cursor() as cursor:
        for table in ("pipeline_visitor", "pipeline_visitorsalt", "pipeline_jobviews"):
            cursor.execute(f"SELECT string_agg(t::text, ' ') FROM {table} t")
            assert "192.0.2.7" not in cursor.fetchone()[0]


def test_hashes_and_salt_are_gone_the_next_day_and_the_number_stays() -> None:
    job = factories.job()
    count([View(job, "a", "x")])
    yesterday = date(2026, 1, 1)
    Visitor.objects.update(day=yesterday)
    VisitorSalt.objects.update(day=yesterday)

    remove_batch()
    count([View(job, "a", "x")])

    assert (Visitor.objects.count(), VisitorSalt.objects.count()) == (1, 1)
    assert JobViews.objects.get().views == 2


def test_two_processes_share_the_salt_of_a_day() -> None:
    job = factories.job()

    count([View(job, "a", "x"), View(job, "b", "y")])
    count([View(job, "a", "x")])

    assert dict(JobViews.objects.values_list("source", "views")) == {"a": 1, "b": 1}


def test_made_up_sources_are_counted_together_beyond_a_limit() -> None:
    job = factories.job()

    count([View(job, f"s{n}", str(n)) for n in range(MOST_SOURCES + 5)])
    count([View(job, "one more", "z"), View(job, "s1", "zz")])

    found = dict(JobViews.objects.values_list("source", "views"))
    assert len(found) == MOST_SOURCES + 1
    assert (found[OTHER], found["s1"]) == (6, 2)


def test_a_job_that_does_not_exist_any_more_loses_no_other_views() -> None:
    job = factories.job()

    count([View(uuid4(), "a", "x"), View(job, "a", "x")])

    assert JobViews.objects.get().job_id == job


def test_the_log_is_the_one_that_a_page_notes_in() -> None:
    views.note(factories.job(), "a", address="192.0.2.7", headers={"User-Agent": FIREFOX})

    assert len(view_log._waiting) == 1
