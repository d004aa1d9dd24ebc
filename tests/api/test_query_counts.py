"""Number of statements per request, pinned so that none creeps in."""

from __future__ import annotations

from typing import Any

import pytest

from jobs.models import Company
from pipeline.models import Application
from pipeline.selectors.applications import read_queue
from pipeline.selectors.pages import encode_cursor
from tasks import stats
from tests.support import background_tasks, factories
from tests.support.callers import Caller, person, signed_in
from tests.support.round_trips import round_trips_of

PEOPLE = 7


@pytest.fixture(autouse=True)
def not_counting_calls(settings: Any) -> None:
    """Leave out the cost of counting calls, which the tests of throttles pin."""
    settings.THROTTLE_RATES = dict.fromkeys(settings.THROTTLE_RATES)


@pytest.fixture
def names(company: Company) -> dict[str, Any]:
    """A job with people, one of them seated, and ids to put into paths."""
    job = factories.job(company_id=company.id)
    first, *_rest = factories.applications(job, PEOPLE)
    behind = encode_cursor(str(job), 1)
    return {
        "job": job,
        "application": first.id,
        "applicant": first.applicant_id,
        "behind": behind,
        "task": background_tasks.sleep(company.id),
    }


BEGIN_AND_COMMIT = 2
SNAPSHOT = BEGIN_AND_COMMIT + 1


@pytest.mark.parametrize(
    ("path", "queries"),
    [
        ("/jobs", 1 + 1),
        ("/jobs/{job}", 1 + 1),
        ("/jobs/{job}/pipeline", 2 + 4),
        ("/jobs/{job}/queue", 2 + 1),
        ("/jobs/{job}/applications", 2 + 1),
        ("/jobs/{job}/applications?min_decay_count=1", 2 + 2),
        ("/jobs/{job}/applications?search=person", 2 + 2),
        ("/jobs/{job}/applications?expand=total,decision", 2 + 4),
        ("/jobs/{job}/events?expand=application", 2 + 2),
        ("/jobs/{job}/reports", 2 + 1),
        ("/applications?external_id=x", 1 + 1),
        ("/jobs/{job}/events", 2 + 1),
        ("/applications/{application}", 1 + 1),
        ("/jobs/{job}/summary", 2 + 1),
        ("/applications/{application}/timeline", 1 + 2),
        ("/applicants?email=nobody@example.org", 1 + 1),
        ("/applicants/{applicant}/timeline", 1 + 2),
        ("/events", 1 + 1),
        ("/events?after={behind}", 1 + 2),
        ("/applicants/{applicant}", 1 + 1),
        ("/applicants/{applicant}/applications", 1 + 2),
        ("/companies/me", 1 + 1),
        ("/tasks", 1 + 1 + 1),  # one waits: is its type paused?
        ("/tasks/dead", 1 + 1),
        ("/tasks/{task}", 1 + 1 + 1),
        ("/tasks/{task}/events", 1 + 2),
        ("/tasks/stats", 1 + 5),
        ("/task-types", 1 + 4),
        ("/schedules", 1 + 2),
    ],
)
def test_a_read_costs_so_many_statements(
    acme: Caller,
    names: dict[str, Any],
    django_assert_num_queries: Any,
    path: str,
    queries: int,
) -> None:
    with django_assert_num_queries(queries):
        answer = acme.get(path.format(**names))

    assert answer.status_code == 200


def test_a_submission_takes_three_round_trips(acme: Caller, company: Company) -> None:
    job, applicant = factories.job(company_id=company.id), factories.applicant()
    body = {"name": "Ann", "email": applicant.email}
    answers: list[Any] = []

    trips = round_trips_of(lambda: answers.append(acme.post(f"/jobs/{job}/applications", body)))

    assert [answer.status_code for answer in answers] == [201]
    assert trips == 3  # key and job; BEGIN, person, lock, history; write, place, COMMIT


def test_applying_takes_four_round_trips(company: Company) -> None:
    job = factories.job(company_id=company.id)
    _applicant, caller = person()
    answers: list[Any] = []

    trips = round_trips_of(lambda: answers.append(caller.post(f"/jobs/{job}/applications", {})))

    assert [answer.status_code for answer in answers] == [201]
    assert trips == 4  # and their name


def test_withdrawing_with_a_promotion_takes_four_round_trips(names: dict[str, Any]) -> None:
    seated = Application.objects.get(id=names["application"])
    caller = signed_in(seated.applicant)
    answers: list[Any] = []

    trips = round_trips_of(
        lambda: answers.append(caller.post(f"/applications/{seated.id}/withdraw"))
    )

    assert [answer.status_code for answer in answers] == [200]
    assert trips == 4  # token and application, (three of the service)


def test_an_unknown_credential_costs_one_statement(
    names: dict[str, Any], django_assert_num_queries: Any
) -> None:
    with django_assert_num_queries(1):
        Caller("nilk_unknown").get("/jobs")
    with django_assert_num_queries(0):
        Caller("x").get("/jobs")
    with django_assert_num_queries(0):
        Caller().get("/jobs/{job}/queue".format(**names))


def test_a_page_of_the_queue_is_one_statement_anywhere_in_the_line(
    names: dict[str, Any], django_assert_num_queries: Any
) -> None:
    with django_assert_num_queries(1):
        first = read_queue(names["job"], limit=4)
    last = first.rows[-1].application
    assert last.ticket is not None
    assert last.tie is not None
    with django_assert_num_queries(1):
        second = read_queue(names["job"], after=(last.ticket, last.tie), limit=4)

    assert [seen.position for seen in first.rows + second.rows] == list(range(1, PEOPLE))
    assert (first.more, second.more) == (True, False)


def test_starting_work_costs_as_many_whether_it_is_one_or_a_hundred(
    acme: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stats, "BACKLOG_CACHE_SECONDS", -1.0)
    work = {"type": "demo.sleep"}
    acme.post("/tasks", work)

    one = round_trips_of(lambda: acme.post("/tasks", work))
    many = round_trips_of(lambda: acme.post("/tasks/batch", {"tasks": [work] * 100}))

    assert one == many
    assert one <= 9
