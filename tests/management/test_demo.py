"""The demo: its past, the clock under which it was written, and the job that moves."""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from django.db import connection

from jobs.models import Company, Job, JobMember
from pipeline.audit.verify import verify_job
from pipeline.database import instants
from pipeline.domain.states import ActorKind
from pipeline.management.demo import clock as clocks
from pipeline.management.demo import moving, seed
from pipeline.management.demo.clock import simulated_time
from pipeline.management.demo.moving import MOST_WAITING, MovingJob
from pipeline.management.demo.plans import MOVING
from pipeline.management.demo.webhooks import PastWebhookReceiver
from pipeline.models import (
    Application,
    Contest,
    Event,
    ImportRun,
    JobFollower,
    JobForecast,
    LineException,
    Score,
    WebhookAttempt,
    WebhookDelivery,
    WebhookEndpoint,
    WeeklyReport,
)
from pipeline.outgoing.client import Outgoing
from pipeline.services.settling import settle
from tasks.models import Schedule, Task
from tests.support import factories
from tests.support.clock import let_time_pass
from tests.support.invariants import assert_line_is_sound
from tests.support.webhooks import queue_all

pytestmark = pytest.mark.django_db(transaction=True)

SEEDING_SECONDS = 20


@pytest.fixture(autouse=True)
def demo_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keys and passwords go into a folder of the test."""
    monkeypatch.setattr(seed, "STATE_DIR", tmp_path)


def functions_named_like_clocks() -> list[str]:
    """The functions of the database that PostgreSQL itself does not bring."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT proname FROM pg_proc WHERE proname = ANY(%s)"
            " AND pronamespace <> 'pg_catalog'::regnamespace",
            [list(clocks._CLOCKS)],
        )
        return [name for (name,) in cursor.fetchall()]


def test_the_demo_has_a_past_of_eight_weeks_that_verifies(settings: Any) -> None:
    settings.NOTIFY = True
    begun, now = time.process_time(), instants.now()

    demo = seed.create_missing()

    assert time.process_time() - begun < SEEDING_SECONDS  # other tests run beside it
    assert functions_named_like_clocks() == []
    jobs = Job.objects.all()
    assert Company.objects.count() == 3
    assert Counter(job.status for job in jobs) == {"OPEN": 9, "PAUSED": 1, "CLOSED": 1, "DRAFT": 1}
    for job in jobs:
        assert_line_is_sound(job.id)
    events = Event.objects.filter(company_id=demo.company_id)
    days = {at.date() for at in events.values_list("at", flat=True)}
    assert len(days) > 50
    assert min(days) <= (now - timedelta(days=55)).date()
    ended = Counter(Application.objects.values_list("outcome", flat=True))
    assert min(ended[each] for each in ("HIRED", "REJECTED", "WITHDRAWN", "LAPSED")) >= 3
    # Imports have no rhythm, and whoever comes on the last day may come at the hour of the test.
    by_themselves = events.filter(event="APPLIED", actor_kind=ActorKind.APPLICANT)
    applied = by_themselves.filter(at__lt=now - timedelta(days=1))
    hours = Counter(at.hour for at in applied.values_list("at", flat=True))
    assert sum(hours[hour] for hour in range(1, 6)) < sum(hours[hour] for hour in range(8, 13)) / 5
    runs = ImportRun.objects.order_by("finished_at")
    assert [(run.accepted, run.refused, run.ending) for run in runs] == [
        (14, 0, "COMPLETE"),
        (10, 3, "COMPLETE"),
    ]
    assert WeeklyReport.objects.count() == 4
    assert Schedule.objects.filter(owner_id=demo.company_id).count() == 1
    past = events.filter(at__lt=now - timedelta(minutes=1)).values_list("application_id", flat=True)
    emails = Task.objects.filter(type__key__startswith="email.")
    mailed = {str(task.payload["application"]) for task in emails}
    assert mailed
    assert not mailed & {str(each) for each in past}


def test_its_first_visitor_finds_forecasts_and_its_operator_no_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO, "security")

    seed.create_missing()

    assert any(row.positions for row in JobForecast.objects.all())
    assert [each for each in caplog.records if each.name == "security"] == []


def test_it_has_reserved_seats_an_exception_and_a_colleague_of_one_job() -> None:
    demo = seed.create_missing()

    ours = Job.objects.filter(company_id=demo.company_id)
    reserving = ours.get(posting__title="Marina receptionist")
    assert (reserving.reserved_seats, reserving.reserved_for) == (2, "INTERNAL")
    [ahead] = LineException.objects.all()
    assert (ahead.job.posting.title, ahead.reason) == ("Sailmaker", "OUR_ERROR")
    assert ahead.people_passed >= 1
    [role] = JobMember.objects.filter(membership__company_id=demo.company_id)
    assert (role.role, role.job.posting.title) == ("HIRING_MANAGER", "Rigger")
    assert role.membership.role == ""
    for job_id in (reserving.id, ahead.job_id):
        assert verify_job(job_id).is_sound
    seed.create_missing()
    assert LineException.objects.count() == 1


def test_the_past_has_a_contest_that_was_answered_and_one_that_waits() -> None:
    demo = seed.create_missing()

    answered, waiting = Contest.objects.filter(company_id=demo.company_id).order_by("seq")
    log = Event.objects.filter(application_id=answered.application_id, seq__gt=answered.seq)
    assert list(log.order_by("seq").values_list("event", flat=True))[:2] == [
        "CONTEST_ANSWERED",
        "REINSTATED",
    ]
    decided = Event.objects.get(job_id=answered.job_id, seq=answered.contested_seq)
    assert decided.actor_id != answered.answered_by
    assert waiting.is_open
    assert waiting.answer_by > instants.now() + timedelta(days=7)
    assert verify_job(answered.job_id).is_sound
    seed.create_missing()
    assert Contest.objects.count() == 2


def test_the_past_has_webhooks_that_arrived_were_repeated_and_failed(settings: Any) -> None:
    now = instants.now()

    demo = seed.create_missing()

    endpoint = WebhookEndpoint.objects.get(company_id=demo.company_id)
    deliveries = WebhookDelivery.objects.filter(endpoint_id=endpoint.id)
    found = {(row.type, row.state, row.attempts) for row in deliveries}
    assert found >= {
        ("job.capacity_changed", "DELIVERED", 3),
        ("job.closed", "FAILED", 10),
        ("application.closed_out", "DELIVERED", 1),
        ("job.paused", "DELIVERED", 1),
    }
    assert {row.state for row in deliveries} == {"DELIVERED", "FAILED"}
    assert (endpoint.is_active, endpoint.failures, endpoint.next_due_at) == (True, 0, None)
    assert endpoint.created_at < now - timedelta(days=25)
    failed = deliveries.get(type="job.closed")
    tried = WebhookAttempt.objects.filter(delivery_id=failed.id).order_by("number")
    times = [attempt.at for attempt in tried]
    assert times == sorted(times)
    assert timedelta(days=3) < times[-1] - times[0] < timedelta(days=4)
    assert failed.created_at <= times[0] <= failed.finished_at < now - timedelta(days=5)
    assert {attempt.status for attempt in tried} == {422}
    assert int(tried[0].request_headers["webhook-timestamp"]) == int(times[0].timestamp())


def test_a_demo_that_runs_by_itself_sends_no_webhook() -> None:
    demo = seed.create_missing()
    before = WebhookDelivery.objects.count()

    queue_all()
    for job in Job.objects.filter(company_id=demo.company_id):
        let_time_pass(job.id, 3 * 86_400)
    factories.settle_all()
    people = MovingJob(demo.job_id)
    for _ in range(20):
        let_time_pass(demo.job_id, 100)
        people.step()
    queue_all()

    assert WebhookDelivery.objects.count() == before


def test_the_receiver_of_the_past_leaves_other_endpoints_alone() -> None:
    other = Outgoing(uuid4(), uuid4(), uuid4(), "https://example.org/", {}, b"{}")
    receiver = PastWebhookReceiver(uuid4())

    receiver.send([other])

    assert [(answer.is_unsent, answer.status) for answer in receiver.answers(0)] == [(True, None)]


def test_another_connection_sees_nothing_of_the_clock() -> None:
    other = connection.copy()
    moment = instants.now() - timedelta(days=30)

    with simulated_time() as clock:
        clock.set(moment)
        simulated = instants.now()
        with other.cursor() as cursor:
            cursor.execute(
                "SELECT clock_timestamp(), (SELECT count(*) FROM pg_proc WHERE proname ="
                " 'clock_timestamp')"
            )
            real, functions = cursor.fetchone()
    other.close()

    assert simulated == moment
    assert real - moment > timedelta(days=29)
    assert functions == 1
    assert functions_named_like_clocks() == []
    assert instants.now() >= real


def test_what_is_written_under_the_clock_is_whole_or_not_there() -> None:
    company = factories.company()

    def write_and_fail() -> None:
        with simulated_time() as clock:
            clock.set(clock.end - timedelta(days=9))
            factories.job(company_id=company.id)
            raise RuntimeError("cut off")

    with pytest.raises(RuntimeError, match="cut off"):
        write_and_fail()

    assert not Job.objects.exists()
    assert functions_named_like_clocks() == []
    assert connection.get_autocommit()


def test_the_clock_shows_only_the_past_and_goes_only_forward() -> None:
    with simulated_time() as clock:
        clock.set(clock.end - timedelta(days=2))
        for moment in (clock.end + timedelta(seconds=1), clock.end - timedelta(days=3)):
            with pytest.raises(ValueError, match="not between"):
                clock.set(moment)


def test_only_the_demo_knows_the_clock() -> None:
    root = Path(clocks.__file__).parents[3]
    rooms = (root / name for name in ("applicants", "jobs", "pipeline", "tasks"))
    found = [path for room in rooms for path in room.rglob("*.py")]

    knowing = {path.name for path in found if "simulated_time" in path.read_text()}

    assert knowing == {"clock.py", "seed.py"}


def test_the_moving_job_moves_and_stays_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(seed, "COMPANIES", [replace(seed.COMPANIES[0], jobs=())])
    job_id = seed.create_missing().job_id
    people = MovingJob(job_id)

    for _ in range(80):
        people.step()
        let_time_pass(job_id, 11)
        settle(job_id=job_id)

    assert_line_is_sound(job_id)
    job = Job.objects.get(id=job_id)
    events = Counter(Event.objects.filter(job_id=job_id).values_list("event", flat=True))
    assert events["APPLIED"] > len(MOVING.people)
    assert events["ACKNOWLEDGED"] > MOVING.confirmed
    assert events["DECAYED"] + events["LAPSED"] > 0
    assert events["REMOVED"] + events["WITHDRAWN"] > 0
    assert job.waitlist_count <= MOST_WAITING + job.capacity


def test_the_thread_ends_with_its_block(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(moving, "STEP_SECONDS", 0.05)
    stepped = threading.Event()
    monkeypatch.setattr(MovingJob, "step", lambda _self: stepped.set())

    with MovingJob(uuid4()) as thread:
        assert stepped.wait(60)

    assert not thread._thread.is_alive()
    assert logging.getLogger("security").level == logging.NOTSET


def test_a_job_of_the_demo_has_a_target_criteria_and_scores() -> None:
    demo = seed.create_missing()

    [job] = Job.objects.filter(company_id=demo.company_id, criteria__isnull=False).distinct()
    given = Score.objects.filter(application__job=job)
    assert job.posting.review_target_seconds == 3 * 86_400
    assert given.values("reviewer").distinct().count() == 2
    assert set(given.values_list("application__status", flat=True)) == {"ACTIVE"}
    quiet = JobFollower.objects.filter(telling="NEVER").values_list("job_id", flat=True)
    assert set(quiet) == {demo.job_id}, "which fills a seat each minute"
