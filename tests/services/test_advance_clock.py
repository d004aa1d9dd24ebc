"""The clock of a sandbox: it moves, and everything that fell due happens at its own instant."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection

from jobs.models import Company, Job
from pipeline.audit.verify import verify_job
from pipeline.domain.errors import (
    ClockAtItsEnd,
    ClockMoving,
    IllegalMove,
    NotASandbox,
    SandboxFull,
)
from pipeline.line import settle as line_settle
from pipeline.line.clock import read_company_clock
from pipeline.models import ClockAdvance, Event
from pipeline.selectors import job_applications
from pipeline.selectors.job_applications import ORDERS, USUAL_ORDER, WantedJobApplications
from pipeline.services.jobs import close_job
from pipeline.services.leaving import withdraw
from pipeline.services.sandboxes import MOST_DAYS_AHEAD, MOST_SECONDS, jobs_behind_clock
from pipeline.services.settling import seconds_until_settlement, settle, settle_next_due
from pipeline.services.turns import acknowledge
from tests.support import factories
from tests.support.clock import database_now, let_time_pass
from tests.support.invariants import assert_line_is_sound
from tests.support.sandboxes import DAY, HOUR, advance, line_with_offers, sandbox

pytestmark = pytest.mark.django_db(transaction=True)


def test_an_advance_is_logged_and_moves_the_clock_of_every_job() -> None:
    company = sandbox()
    first, second = (factories.job(company_id=company.id) for _ in range(2))

    made = advance(company, DAY)

    assert (made.seconds, made.clock_offset_seconds) == (DAY, DAY)
    ahead = read_company_clock(company.id).now - database_now()
    assert timedelta(days=1) - timedelta(minutes=1) < ahead <= timedelta(days=1)
    for job_id in (first, second):
        event = factories.events(job_id)[-1]
        assert (event.event, event.data["seconds"]) == ("CLOCK_ADVANCED", DAY)
        assert event.data["clock_offset_seconds"] == DAY
        assert factories.row_of(job_id).clock_offset_seconds == DAY
        assert_line_is_sound(job_id)


def test_a_job_created_later_goes_by_the_clock_of_its_sandbox() -> None:
    company = sandbox()
    advance(company, 10 * DAY)

    job_id = factories.job(company_id=company.id)

    row, created = factories.row_of(job_id), factories.events(job_id)[0]
    assert (row.is_test, row.clock_offset_seconds) == (True, 10 * DAY)
    assert created.data["clock_offset_seconds"] == 10 * DAY
    assert created.at > database_now() + timedelta(days=9)
    assert row.created_at <= created.at
    assert_line_is_sound(job_id)


def test_each_miss_is_recorded_at_its_own_deadline_and_passes_the_seat_on_then() -> None:
    company = sandbox()
    policy = {"acknowledgment_window_seconds": DAY, "cooldown_seconds": HOUR, "max_decays": 0}
    job_id, people = line_with_offers(company, people=4, **policy)
    offered_at = factories.fresh(people[0]).promoted_at
    assert offered_at

    advance(company, int(2.5 * DAY))

    assert factories.statuses(*people) == [
        "LAPSED",
        "LAPSED",
        "PENDING_ACKNOWLEDGMENT",
        "WAITLIST",
    ]
    third = factories.fresh(people[2])
    assert third.promoted_at == offered_at + timedelta(days=2)
    assert third.acknowledge_by == offered_at + timedelta(days=3)
    misses = [event for event in factories.events(job_id) if event.event == "LAPSED"]
    assert [event.at for event in misses] == [event.effective_at for event in misses]
    assert [event.at - offered_at for event in misses] == [timedelta(days=1), timedelta(days=2)]
    assert_line_is_sound(job_id)
    assert not jobs_behind_clock(company.id)


def test_who_confirms_in_time_by_the_sandboxes_clock_keeps_the_seat() -> None:
    company = sandbox()
    job_id, people = line_with_offers(company, people=2, acknowledgment_window_seconds=DAY)
    advance(company, DAY - HOUR)

    acknowledge(application_id=people[0].id, actor=factories.owner_of(people[0]))
    advance(company, 30 * DAY)

    assert factories.statuses(*people) == ["ACTIVE", "WAITLIST"]
    at = factories.fresh(people[0]).acknowledged_at
    assert at
    assert at > database_now() + timedelta(hours=22)
    assert_line_is_sound(job_id)


def test_a_repeated_advance_moves_the_clock_once() -> None:
    company = sandbox()
    job_id = factories.job(company_id=company.id)
    made = advance(company, DAY)

    again = advance(company, DAY, advance_id=made.id)

    assert again == made == ClockAdvance.objects.get(company_id=company.id)
    assert factories.row_of(job_id).clock_offset_seconds == DAY
    assert factories.event_names(job_id).count("CLOCK_ADVANCED") == 1


def test_what_is_too_much_for_the_call_is_settled_by_the_decay_worker(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(line_settle, "MOST_INSTANTS", 2)
    monkeypatch.setattr("pipeline.services.sandboxes.MOST_SLICES", 3)
    company = sandbox()
    policy = {"acknowledgment_window_seconds": HOUR, "max_decays": 0}
    job_id, people = line_with_offers(company, people=20, **policy)
    due_before = factories.row_of(factories.job(acknowledge_first_seat=True)).next_due_at
    assert due_before is None

    advance(company, 30 * HOUR)

    assert list(jobs_behind_clock(company.id)) == [job_id]
    assert factories.statuses(*people).count("LAPSED") == 6
    with pytest.raises(ClockMoving):
        advance(company, HOUR)
    with pytest.raises(ClockMoving):
        acknowledge(application_id=people[-1].id, actor=factories.owner_of(people[-1]))
    assert verify_job(job_id).is_sound
    assert seconds_until_settlement() == 0
    steps = factories.settle_all()
    assert steps > 1
    assert factories.statuses(*people) == ["LAPSED"] * 20
    assert not jobs_behind_clock(company.id)
    assert_line_is_sound(job_id)


def test_a_sandbox_that_catches_up_does_not_go_before_jobs_that_are_due(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(line_settle, "MOST_INSTANTS", 1)
    monkeypatch.setattr("pipeline.services.sandboxes.MOST_SLICES", 1)
    company = sandbox()
    behind, _ = line_with_offers(
        company, people=9, acknowledgment_window_seconds=HOUR, max_decays=0
    )
    advance(company, 9 * HOUR)
    live = factories.job(acknowledge_first_seat=True)
    factories.application(live)
    Job.objects.filter(id=live).update(next_due_at=database_now())

    turns = [step.job_id for step in (settle_next_due() for _ in range(3)) if step]

    assert turns == [behind, live, behind]


def test_a_live_company_has_no_clock_to_move() -> None:
    company = factories.company()

    with pytest.raises(NotASandbox):
        advance(company, DAY)


@pytest.mark.parametrize("seconds", [0, -1, MOST_SECONDS + 1])
def test_an_advance_has_limits(seconds: int) -> None:
    with pytest.raises(ValueError, match="a clock is moved by 1 to 34,560,000 seconds"):
        advance(sandbox(), seconds)


def test_a_clock_has_an_end() -> None:
    company = sandbox()
    Company.objects.filter(id=company.id).update(clock_offset_seconds=MOST_DAYS_AHEAD * DAY - 5)

    with pytest.raises(ClockAtItsEnd):
        advance(company, 6)

    assert advance(company, 5).clock_offset_seconds == MOST_DAYS_AHEAD * DAY


def test_a_log_of_a_sandbox_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(line_settle, "MOST_SANDBOX_EVENTS", 30)
    monkeypatch.setattr("pipeline.audit.verify.MOST_SANDBOX_EVENTS", 30)
    company = sandbox()
    policy = {"acknowledgment_window_seconds": 60, "cooldown_seconds": 1, "max_decays": None}
    job_id, _ = line_with_offers(company, people=2, **policy)

    advance(company, 300 * DAY)

    assert 30 <= factories.row_of(job_id).seq < 35
    assert factories.settle_all() == 0
    with pytest.raises(SandboxFull):
        factories.application(job_id, actor=factories.RECRUITER)
    advance(company, DAY)  # the others go on
    assert verify_job(job_id).is_sound


def test_the_filter_of_cool_downs_goes_by_the_clock_of_the_sandbox() -> None:
    company = sandbox()
    policy = {"acknowledgment_window_seconds": HOUR, "cooldown_seconds": 5 * HOUR}
    job_id, [person] = line_with_offers(company, people=1, **policy)
    factories.alter(job_id, capacity=1)  # nobody is promoted after the cool-down
    order = ORDERS[USUAL_ORDER]

    found = []
    for hours in (2, 3, 4):
        advance(company, hours * HOUR)
        cooling = WantedJobApplications(cooling=True)
        page = job_applications.list_page(job_id, cooling, order=order, after=None, limit=9)
        found.append([row.application.id for row in page.rows])

    assert found == [[person.id], [person.id], []]
    assert_line_is_sound(job_id)


def test_a_closed_job_is_closed_out_before_the_clock_moves() -> None:
    company = sandbox()
    job_id, people = line_with_offers(company, people=3)
    close_job(job_id=job_id, actor=factories.RECRUITER)

    advance(company, DAY)

    assert factories.statuses(*people) == ["JOB_CLOSED"] * 3
    with pytest.raises(IllegalMove):
        withdraw(application_id=people[0].id, actor=factories.owner_of(people[0]))
    closed, out = (
        next(e for e in factories.events(job_id) if e.event == name)
        for name in ("JOB_CLOSED", "CLOSED_OUT")
    )
    assert out.at - closed.at < timedelta(hours=1)
    assert_line_is_sound(job_id)


def test_an_advance_touches_no_row_of_live_data() -> None:
    live = factories.company()
    job_id = factories.job(company_id=live.id, acknowledge_first_seat=True)
    factories.applications(job_id, 5)
    company = sandbox(live)
    line_with_offers(company, people=5)
    before = _live_rows(live)

    advance(company, 30 * DAY)

    assert _live_rows(live) == before
    assert Event.objects.filter(company_id=company.id, event="DECAYED").exists()


def _live_rows(live: Company) -> list[Any]:
    """Every row of every table that is not a sandbox's, with its place, which a write changes."""
    found = []
    with connection.cursor() as cursor:
        for table, mine in (
            ("jobs_company", "id = %s"),
            ("jobs_job", "company_id = %s"),
            ("jobs_jobposting", "job_id IN (SELECT id FROM jobs_job WHERE company_id = %s)"),
            ("pipeline_application", "job_id IN (SELECT id FROM jobs_job WHERE company_id = %s)"),
            ("pipeline_event", "company_id = %s"),
        ):
            cursor.execute(
                f"SELECT ctid::text, xmin::text, t::text FROM {table} t WHERE {mine} ORDER BY 1",
                [live.id],
            )
            found += cursor.fetchall()
    return found


def test_settling_later_makes_no_difference_in_a_sandbox() -> None:
    """A late worker is not an outage there: the log says what would have happened."""
    company = sandbox()
    job_id, people = line_with_offers(
        company, people=3, acknowledgment_window_seconds=60, max_decays=0
    )
    offered_at = factories.fresh(people[0]).promoted_at
    assert offered_at
    let_time_pass(job_id, 90)  # without a worker

    settle(job_id=job_id)

    second = factories.fresh(people[1])
    assert second.promoted_at == offered_at + timedelta(seconds=60 - 90)
