"""A company's figures of a period, against a history added up by hand."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID

import pytest

from jobs.models import Company
from pipeline.figures import period
from pipeline.figures.period import PeriodFigures, read_period
from pipeline.figures.series import Week
from tests.support import factories
from tests.support.weeks import DAY, HOUR, last_week, two_weeks

pytestmark = pytest.mark.django_db(transaction=True)

CLOSE = 3
"""Seconds that a test itself may take."""


@pytest.fixture
def job(company: Company) -> UUID:
    """Return a job with a history in the last two weeks."""
    return two_weeks(company)


def read(company: Company, week: Week) -> PeriodFigures:
    return read_period(company.id, week.start, week.end).total


def test_a_period_counts_what_happened_in_it_and_waits_that_began_before(
    company: Company, job: UUID
) -> None:
    factories.application(factories.job())  # another company's

    figures = read(company, last_week())

    assert (figures.hired, figures.promoted, figures.decided) == (1, 2, 1)
    assert (figures.applied, figures.missed) == (0, 1)
    assert figures.wait == pytest.approx((8 * DAY + 9 * DAY) / 2, abs=CLOSE)
    assert figures.review == pytest.approx(8 * DAY, abs=CLOSE)
    assert read_period(company.id, last_week().start, last_week().end).by_job == {job: figures}


def test_the_period_before_has_the_applications_alone(company: Company, job: UUID) -> None:
    assert read(company, last_week().before) == PeriodFigures(applied=3)


def test_an_end_is_not_part_of_a_period(company: Company, job: UUID) -> None:
    [first, *_rest] = [each for each in factories.events(job) if each.event == "APPLIED"]

    before = read_period(company.id, first.at - timedelta(days=1), first.at)
    after = read_period(company.id, first.at, first.at + timedelta(seconds=HOUR))

    assert (before.total.applied, after.total.applied) == (0, 3)


def test_a_company_without_jobs_has_no_figures(company: Company) -> None:
    report = read_period(company.id, last_week().start, last_week().end)

    assert (report.total, dict(report.by_job), report.is_cut) == (PeriodFigures(), {}, False)


def test_what_is_left_out_is_said(
    company: Company, job: UUID, monkeypatch: pytest.MonkeyPatch
) -> None:
    start, end = last_week().start, last_week().end
    assert not read_period(company.id, start, end).is_cut

    monkeypatch.setattr(period, "MOST_EVENTS", 2)  # more happened in that week

    assert read_period(company.id, start, end).is_cut
