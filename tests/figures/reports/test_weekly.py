"""Weekly reports: the week, the owner of the job, and only one report if made twice."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest

from jobs.models import Company
from pipeline.domain.states import Outcome
from pipeline.figures import reports
from pipeline.figures.reports import KEY
from pipeline.models import WeeklyReport
from pipeline.services.jobs import close_job
from pipeline.services.leaving import remove
from pipeline.work import schedules
from pipeline.work.schedules import Plan
from tasks.errors import Discard, Fatal, InvalidPayload
from tasks.models import Schedule
from tasks.payloads import check_payload
from tasks.registry import find_registered_type
from tests.support import factories
from tests.support.applicants import named
from tests.support.clock import let_time_pass
from tests.support.handlers import Run
from tests.support.weeks import DAY, last_week

pytestmark = pytest.mark.django_db(transaction=True)


def make_report(job: UUID, company: Company, **more: Any) -> dict[str, Any]:
    result: dict[str, Any] = Run(KEY, {"job_id": str(job)} | more, company.id).result
    return result


def test_without_a_week_it_is_the_last_whole_one_compared_with_the_one_before(
    job: UUID, company: Company
) -> None:
    result = make_report(job, company)

    report = WeeklyReport.objects.get()
    assert result == {"week": last_week().monday.isoformat(), "events": 6}
    assert (report.week, report.zone) == (last_week().monday, "UTC")
    assert (report.figures["week"]["offered"], report.figures["before"]["applied"]) == (2, 3)


def test_it_says_what_seat_time_was_lost_to_people_who_did_not_answer(
    job: UUID, company: Company
) -> None:
    make_report(job, company)

    figures = WeeklyReport.objects.get().figures
    assert figures["week"]["idle_seats"]["missed"] == pytest.approx(DAY, abs=5)
    assert figures["before"]["idle_seats"]["missed"] == 0


def test_the_first_week_of_a_job_has_nothing_to_be_compared_with(
    job: UUID, company: Company
) -> None:
    make_report(job, company, week=last_week().before.monday.isoformat())

    report = WeeklyReport.objects.get()
    assert report.figures["week"]["applied"] == 3
    assert report.figures["before"] is None


def test_making_it_again_replaces_it(job: UUID, company: Company) -> None:
    make_report(job, company)
    first = WeeklyReport.objects.get()
    # Its week is named: on a Sunday evening in UTC, another one has just ended in India.
    make_report(job, company, zone="Asia/Kolkata", week=first.week.isoformat())

    second = WeeklyReport.objects.get()
    assert second.id == first.id
    assert second.made_at > first.made_at
    assert second.zone == "Asia/Kolkata"


def test_another_companys_job_and_one_that_is_none_are_refused(job: UUID, company: Company) -> None:
    with pytest.raises(Fatal, match="no such job"):
        make_report(job, factories.company())
    with pytest.raises(Fatal, match="no such job"):
        make_report(uuid4(), company)
    with pytest.raises(Fatal, match="for a company"):
        Run(KEY, {"job_id": str(job)}, None)


@pytest.mark.parametrize(
    ("days", "zone", "why"),
    [
        (1, "UTC", "begins on a Monday"),
        (7, "UTC", "not over yet"),
        (7_000, "UTC", "not over yet"),
        (0, "Mars/Olympus", "no time zone"),
        (0, "../etc/passwd", "no time zone"),
    ],
)
def test_what_is_no_week_that_is_over_is_refused(
    job: UUID, company: Company, days: int, zone: str, why: str
) -> None:
    week = last_week().monday + timedelta(days=days)

    with pytest.raises(Discard, match=why):  # no failure, by which the type would stop for all
        make_report(job, company, week=week.isoformat(), zone=zone)


@pytest.mark.parametrize("week", [date(1, 1, 1), date(2020, 1, 6)])
def test_of_weeks_before_the_job_there_is_nothing_to_report(
    job: UUID, company: Company, week: date
) -> None:
    with pytest.raises(Discard, match="created after that week"):
        make_report(job, company, week=week.isoformat())
    assert not WeeklyReport.objects.exists()


def test_when_a_job_is_over_its_reports_end(job: UUID, company: Company) -> None:
    close_job(job_id=job, actor=factories.RECRUITER)
    let_time_pass(job, 21 * DAY)
    plan = Plan(name="weekly", cron="0 8 * * 1", type_key=KEY, payload={"job_id": str(job)})
    schedules.create(company_id=company.id, plan=plan, schedule_id=reports.schedule_id(job))

    assert make_report(job, company)["events"] == 0  # Cy is still in review
    remove(
        application_id=named(job, "Cy Okafor").id, outcome=Outcome.HIRED, actor=factories.RECRUITER
    )
    let_time_pass(job, 14 * DAY)
    with pytest.raises(Discard, match="over before that week"):
        make_report(job, company)

    assert not Schedule.objects.exists()


@pytest.mark.parametrize(
    "payload",
    [{}, {"job_id": "x"}, {"job_id": str(uuid4()), "week": "last"}, {"week": "2026-11-09"}],
)
def test_a_payload_that_says_something_else_is_refused(payload: dict[str, Any]) -> None:
    with pytest.raises(InvalidPayload):
        check_payload(find_registered_type(KEY), payload)
