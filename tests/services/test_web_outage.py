"""Web servers that were away cost nobody the time to confirm; nor does an offer that is in use."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from django.db import OperationalError
from django.db.models import F

from pipeline.models import Application, Heartbeat
from pipeline.services import outage
from pipeline.services.outage import WEB
from pipeline.services.turns import acknowledge, extend_deadline
from tests.services.test_outage import DAY, HOUR, site_ran_until_now, stand_still, time_left
from tests.support import factories
from tests.support.clock import let_time_pass
from tests.support.offers import job_with_a_seat_on_offer
from tests.support.together import held_lock

pytestmark = pytest.mark.django_db(transaction=True)


def web_ran_until_now() -> None:
    """A web server has just given a sign of life."""
    assert outage.watch(WEB) is None


def web_is_away(seconds: int) -> None:
    Heartbeat.objects.filter(worker=WEB).update(
        completed_at=F("completed_at") - timedelta(seconds=seconds)
    )


def test_the_time_without_web_servers_is_given_back_although_workers_ran() -> None:
    job_id, offered = job_with_a_seat_on_offer(acknowledgment_window_seconds=DAY)
    web_ran_until_now()
    let_time_pass(job_id, HOUR)
    web_is_away(HOUR)
    outage.watch(WEB)  # they are back

    assert outage.extend_offers() == 1

    assert abs(time_left(offered) - DAY) < 10


@pytest.mark.parametrize(
    ("away", "seconds_left", "extended"),
    [(HOUR, 30, 1), (HOUR, 90, 0), (30, 30, 0), (2 * DAY, 30, 0)],
)
def test_while_the_web_servers_are_away_an_offer_near_its_deadline_gets_one_more_window(
    away: int, seconds_left: int, extended: int
) -> None:
    job_id, offered = job_with_a_seat_on_offer(acknowledgment_window_seconds=HOUR)
    web_ran_until_now()
    web_is_away(away)
    let_time_pass(job_id, HOUR - seconds_left)

    assert outage.extend_offers() == extended

    assert abs(time_left(offered) - seconds_left - extended * HOUR) < 10
    assert outage.extend_offers() == 0


def test_an_offer_that_was_answered_just_before_is_left_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    _, offered = job_with_a_seat_on_offer(acknowledgment_window_seconds=DAY)
    site_ran_until_now()
    stand_still(offered, HOUR)

    def answered_before(*, application_id: UUID, **about: Any) -> Application:
        acknowledge(application_id=application_id, actor=factories.owner_of(offered))
        return extend_deadline(application_id=application_id, **about)

    monkeypatch.setattr("pipeline.services.outage.extend_deadline", answered_before)

    assert outage.extend_offers() == 0
    assert factories.status_of(offered) == "ACTIVE"


def test_of_a_locked_job_one_offer_is_waited_for_alone() -> None:
    job_id = factories.job(acknowledgment_window_seconds=DAY)
    factories.applications(job_id, 3)
    factories.alter(job_id, capacity=3)
    site_ran_until_now()
    stand_still(Application.objects.filter(job_id=job_id).latest("promoted_at"), HOUR)

    with held_lock(job_id):
        assert outage.extend_offers() == 0

    assert outage.extend_offers() == 2


def test_a_database_that_fails_is_no_locked_job(monkeypatch: pytest.MonkeyPatch) -> None:
    _, offered = job_with_a_seat_on_offer(acknowledgment_window_seconds=DAY)
    site_ran_until_now()
    stand_still(offered, HOUR)

    def fail(**_: Any) -> Application:
        raise OperationalError("the disk is full")

    monkeypatch.setattr("pipeline.services.outage.extend_deadline", fail)

    with pytest.raises(OperationalError):
        outage.extend_offers()
