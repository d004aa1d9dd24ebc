"""Forecasts as the scheduler stores them, what came of them, and where people read them."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from unittest.mock import patch
from uuid import UUID

import pytest
from django.test import Client

from pipeline.database import instants
from pipeline.figures import forecast as statements
from pipeline.figures.forecast import (
    FEWEST_COUNTED,
    OLDEST_SHOWN,
    STATEMENTS_A_DAY,
    read_outlook,
    read_prospects,
)
from pipeline.models import Application, ForecastStatement, JobForecast
from pipeline.notifications.applicants import email_facts
from pipeline.services.jobs import pause_job
from pipeline.services.turns import defer, pass_next
from tests.support import factories
from tests.support.applicants import applicant_browser, confirm, leave, mine
from tests.support.callers import Caller
from tests.support.clock import let_time_pass
from tests.support.pages import text_of

pytestmark = pytest.mark.django_db(transaction=True)

HOUR = 3_600


def line_with_history(hours: int) -> UUID:
    """A job with one seat, which changed hands every hour, and three people who always wait."""
    job = factories.job(capacity=1)
    factories.applications(job, 4)
    for _ in range(hours):
        let_time_pass(job, HOUR)
        leave(Application.objects.get(job_id=job, status="ACTIVE"))
        confirm(Application.objects.get(job_id=job, status="PENDING_ACKNOWLEDGMENT"))
        factories.application(job)
    return job


def known(job: UUID, **columns: Any) -> JobForecast:
    """Store a forecast, as the scheduler would."""
    positions = {str(n): [n * HOUR, 2 * n * HOUR, 40] for n in range(1, 6)}
    values = {"seq": 1, "made_at": instants.now(), "positions": positions} | columns
    return JobForecast.objects.update_or_create(job_id=job, defaults=values)[0]


def test_a_forecast_is_made_from_the_history_and_stated_once_a_day() -> None:
    job = line_with_history(26)

    first = statements.update_statements()
    second = statements.update_statements()

    forecast = read_prospects({job: 2})[job].forecast
    assert HOUR <= forecast.half <= forecast.most <= 2 * HOUR + 60
    assert forecast.offers >= 20
    assert (first["stated"], second["stated"]) == (3, 0)
    assert ForecastStatement.objects.filter(job_id=job, came_true=None).count() == 3


def test_an_old_forecast_is_not_shown() -> None:
    job = factories.job()
    known(job, positions={"1": [HOUR, HOUR, 40]})
    assert read_prospects({job: 1})

    JobForecast.objects.update(made_at=instants.now() - OLDEST_SHOWN)

    assert read_prospects({job: 1}) == {}


def test_behind_the_last_known_place_the_wait_is_longer_than_there() -> None:
    job = factories.job()
    known(job)

    assert read_outlook(job, 2) == (read_prospects({job: 2})[job], None)
    assert read_outlook(job, 22) == (None, 5 * HOUR)
    known(job, positions={"25": [HOUR, HOUR, 40]})
    assert read_outlook(job, 22) == (None, None)


def test_a_line_without_history_has_none() -> None:
    job = factories.job()
    factories.applications(job, 3)

    assert statements.update_statements() == {"settled": 0, "stated": 0}
    assert read_prospects({job: 1}) == {}
    assert JobForecast.objects.get(job_id=job).positions == {}


def test_a_long_line_does_not_fill_the_table() -> None:
    job = factories.job()
    factories.applications(job, STATEMENTS_A_DAY + 5)
    positions = {str(n): [HOUR, HOUR, 40] for n in range(1, 50)}
    known(job, positions=positions)
    row = JobForecast.objects.get(job_id=job)
    stated = statements._store_shown(factories.row_of(job), row, instants.now())

    assert stated == STATEMENTS_A_DAY


def stated(application: Application, *, hours_ago: float, lasts_hours: float) -> ForecastStatement:
    made_at = instants.now() - timedelta(hours=hours_ago)
    return ForecastStatement.objects.create(
        job_id=application.job_id,
        application_id=application.id,
        position=1,
        half_seconds=1,
        most_seconds=int(lasts_hours * HOUR),
        made_at=made_at,
        due_at=made_at + timedelta(hours=lasts_hours),
    )


def put_off(application: Application) -> None:
    until, actor = instants.now() + timedelta(days=3), factories.owner_of(application)
    defer(application_id=application.id, not_before=until, actor=actor)


def ask_to_pass(application: Application) -> None:
    pass_next(application_id=application.id, wanted=True, actor=factories.owner_of(application))


# Whoever does this has made the wait longer themselves.
PUT_OFF = {"deferred": put_off, "asked to pass": ask_to_pass}


@pytest.mark.parametrize(
    ("ending", "lasts_hours", "came_true"),
    [
        ("offered", 5, True),
        ("offered", 1, False),
        ("left", 5, "nothing"),
        ("left", 1, False),
        ("deferred", 5, "nothing"),
        ("deferred", 1, False),
        ("asked to pass", 5, "nothing"),
        ("asked to pass", 1, False),
        ("waits", 1, False),
        ("waits", 5, None),
    ],
)
def test_a_statement_ends_as_it_came_out(ending: str, lasts_hours: float, came_true: Any) -> None:
    job = factories.job()
    seated, waiting = factories.applications(job, 2)
    statement = stated(waiting, hours_ago=3, lasts_hours=lasts_hours)
    if ending in PUT_OFF:
        PUT_OFF[ending](waiting)
    elif ending != "waits":
        leave(seated if ending == "offered" else waiting)

    statements.settle_statements()
    statements.settle_statements()

    found = ForecastStatement.objects.filter(id=statement.id).first()
    assert (found.came_true if found else "nothing") is came_true


@pytest.mark.parametrize("wish", PUT_OFF)
def test_nothing_is_forecast_to_somebody_who_puts_the_turn_off(wish: str) -> None:
    job = factories.job()
    _seated, waiting, other = factories.applications(job, 3)
    known(job, settled=120, came_true=95)
    PUT_OFF[wish](waiting)
    with patch.object(statements, "_make_and_store", lambda job, now: known(job.id)):
        statements.update_statements()

    told = text_of(applicant_browser(waiting.applicant).get(mine(waiting)))

    assert "are offered a seat" not in told
    assert email_facts(factories.fresh(waiting), None).prospect == ""
    assert [row.application_id for row in ForecastStatement.objects.all()] == [other.id]


@pytest.mark.parametrize("settled", [FEWEST_COUNTED - 1, FEWEST_COUNTED])
def test_how_often_they_came_true_is_said_from_enough_of_them(settled: int) -> None:
    job = factories.job()
    waiting = factories.applications(job, 2)[1]
    for number in range(settled):
        row = stated(waiting, hours_ago=9, lasts_hours=1)
        ForecastStatement.objects.filter(id=row.id).update(came_true=number % 4 != 0)
    statements.update_statements()
    known(job)

    prospect = read_prospects({job: 1})[job]

    assert prospect.counted == settled
    assert prospect.share == (None if settled < FEWEST_COUNTED else 75)


def test_people_read_it_before_applying_and_while_they_wait() -> None:
    job = factories.job()
    factories.application(job)
    person = factories.applicant()
    application = factories.application(job, person)
    browser = applicant_browser(person)
    pages = [f"/jobs/{job}/", mine(application), "/me/"]
    before = [text_of((Client() if n == 0 else browser).get(page)) for n, page in enumerate(pages)]

    known(job, settled=120, came_true=95)
    after = [text_of((Client() if n == 0 else browser).get(page)) for n, page in enumerate(pages)]

    assert ["not known yet" in text for text in before[:2]] == [True, True]
    assert not any("in 60 minutes to 2 hours" in text for text in before)
    assert "you should get a seat in 2 to 4 hours." in after[0]
    assert all("in 60 minutes to 2 hours" in text for text in after[1:])
    assert "in 60 minutes to 2 hours" in email_facts(application, None).prospect
    facts = text_of(Client().get(f"/jobs/{job}/facts/"))
    assert "You should get a seat in 2 to 4 hours." in facts
    assert "79% of the last 120 forecasts here were right" in facts


def test_programs_read_it_too() -> None:
    job = factories.job()
    factories.applications(job, 2)
    nothing = Caller().get(f"/jobs/{job}/forecast").json()
    known(job)

    there = Caller().get(f"/jobs/{job}/forecast?position=3").json()

    assert nothing["half_wait_seconds"] is None
    assert nothing["position"] == 2
    assert (there["half_wait_seconds"], there["most_wait_seconds"]) == (3 * HOUR, 6 * HOUR)
    assert Caller().get(f"/jobs/{job}/forecast?position=0").status_code == 400


def test_a_paused_job_has_no_forecast() -> None:
    job = factories.job()
    factories.applications(job, 2)
    known(job)
    pause_job(job_id=job, actor=factories.RECRUITER)

    assert Caller().get(f"/jobs/{job}/forecast").json()["half_wait_seconds"] is None


def test_the_order_is_the_same_whatever_is_forecast() -> None:
    orders = []
    for absurd in (False, True):
        job = factories.job()
        people = factories.applications(job, 5)
        if absurd:
            known(job, positions={"1": [10**9, 10**9, 99], "4": [0, 0, 99]})
        leave(people[0])
        orders.append([people.index(factories.fresh(each)) for each in _promoted_first(people)])

    assert orders[0] == orders[1] == [1]


def _promoted_first(people: list[Application]) -> list[Application]:
    return [each for each in people if factories.status_of(each) == "PENDING_ACKNOWLEDGMENT"]
