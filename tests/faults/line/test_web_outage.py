"""Web servers that are down alone: nobody can confirm, so nobody is penalized for it."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest
from django.db.models import F
from django.db.models.functions import Now

from pipeline.domain.states import EventType
from pipeline.management.commands.run_decay import DecayWorker
from pipeline.models import Application, Heartbeat
from pipeline.services import outage
from pipeline.services.outage import WEB
from tests.support import factories
from tests.support.clock import let_time_pass
from tests.support.invariants import assert_line_is_sound
from tests.support.offers import job_with_a_seat_on_offer
from tests.support.server import serving
from tests.support.waiting import eventually

pytestmark = pytest.mark.django_db(transaction=True)

HOUR, DAY = 3_600, 86_400


def pass_without_web(application: Application, seconds: int) -> None:
    """Let time pass in which the workers run and the web servers do not."""
    let_time_pass(application.job_id, seconds)
    web = Heartbeat.objects.filter(worker=WEB)
    web.update(completed_at=F("completed_at") - timedelta(seconds=seconds))
    Heartbeat.objects.filter(worker="site").update(completed_at=Now())


def work() -> None:
    """One step of a decay worker."""
    worker = DecayWorker()
    worker.step()
    worker.close()


def left_seconds(application: Application) -> float:
    rows = Application.objects.filter(id=application.id)
    row = rows.annotate(left=F("acknowledge_by") - Now()).get()
    return row.left.total_seconds()  # type: ignore[attr-defined]


def extensions(application: Application) -> int:
    return factories.event_names(application.job_id).count(EventType.DEADLINE_EXTENDED)


def web_is_silent() -> bool:
    return Heartbeat.objects.filter(worker=WEB, silent_since__isnull=False).exists()


def test_a_web_server_that_was_down_for_half_a_window_gives_the_time_back(
    environment: dict[str, str], tmp_path: Path
) -> None:
    _, offered = job_with_a_seat_on_offer(acknowledgment_window_seconds=DAY)
    outage.watch()
    with serving(environment, tmp_path / "first.log", workers=1):
        eventually(lambda: Heartbeat.objects.filter(worker=WEB).exists())
    pass_without_web(offered, DAY // 2)
    work()
    assert extensions(offered) == 0  # it may come back in time

    with serving(environment, tmp_path / "second.log", workers=1):
        eventually(web_is_silent)
    work()

    assert extensions(offered) == 1
    assert abs(left_seconds(offered) - DAY) < 120
    assert not web_is_silent()
    assert_line_is_sound(offered.job_id)


def test_while_it_is_down_no_deadline_passes_that_was_not_extended() -> None:
    _, offered = job_with_a_seat_on_offer(acknowledgment_window_seconds=HOUR)
    outage.watch(WEB)
    pass_without_web(offered, HOUR - 30)

    work()
    let_time_pass(offered.job_id, 60)
    factories.settle_all()

    assert extensions(offered) == 1
    assert factories.status_of(offered) == "PENDING_ACKNOWLEDGMENT"
    assert abs(left_seconds(offered) - (HOUR - 30)) < 60


def test_an_offer_is_extended_once_however_long_it_is_down() -> None:
    _, offered = job_with_a_seat_on_offer(acknowledgment_window_seconds=HOUR)
    outage.watch(WEB)
    for _ in range(2):
        pass_without_web(offered, HOUR - 20)
        work()
    pass_without_web(offered, 60)
    work()

    assert extensions(offered) == 1
    assert factories.fresh(offered).decay_count == 1


def test_a_web_server_that_answers_extends_nothing() -> None:
    _, offered = job_with_a_seat_on_offer(acknowledgment_window_seconds=HOUR)
    pass_without_web(offered, HOUR - 30)
    outage.watch(WEB)

    work()

    assert extensions(offered) == 0


@pytest.mark.parametrize("away", [None, timedelta(seconds=50), timedelta(days=1, minutes=1)])
def test_a_site_without_web_servers_and_a_short_break_are_no_outage(away: timedelta | None) -> None:
    _, offered = job_with_a_seat_on_offer(acknowledgment_window_seconds=HOUR)
    pass_without_web(offered, HOUR - 30)
    if away:
        outage.watch(WEB)
        Heartbeat.objects.filter(worker=WEB).update(completed_at=Now() - away)

    work()

    assert extensions(offered) == 0
