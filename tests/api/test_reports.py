"""Weekly reports by the API, in its own words."""

from __future__ import annotations

from uuid import UUID

import pytest

from jobs.models import Company
from pipeline.figures import reports
from pipeline.models import WeeklyReport
from tests.support.callers import Caller, code_of, pointers
from tests.support.weeks import last_week, two_weeks

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def reported(company: Company) -> UUID:
    """A job with a history in two weeks, and the report of the last one."""
    job = two_weeks(company)
    reports.make(job_id=job, company_id=company.id)
    return job


def test_a_report_is_read_as_it_was_made(acme: Caller, reported: UUID) -> None:
    week = last_week().monday.isoformat()
    listed = acme.get(f"/jobs/{reported}/reports").json()
    one = acme.get(f"/jobs/{reported}/reports/{week}")
    stored = WeeklyReport.objects.get().figures["week"]

    assert listed == {"data": [one.json()], "next_cursor": None}
    report = one.json()
    assert (report["week"], report["zone"], report["job_id"]) == (week, "UTC", str(reported))
    figures = report["figures"]
    assert figures["acknowledged"] == stored["confirmed"]
    assert figures["seats_held_at_end"] == stored["held_at_end"]
    assert len(figures["days"]) == 7
    assert figures["days"][0].keys() == {"applied", "offered", "acknowledged", "missed"}
    assert (
        acme.get(f"/jobs/{reported}/reports/{week}", if_none_match=one.headers["ETag"]).status_code
        == 304
    )


def test_a_week_without_a_report_is_not_found(acme: Caller, reported: UUID) -> None:
    assert code_of(acme.get(f"/jobs/{reported}/reports/2026-01-05")) == (404, "NOT_FOUND")


@pytest.mark.parametrize("week", ["2026-01-06", "2026-02-30", "x", "last"])
def test_there_is_no_report_of_another_day_than_a_monday(
    acme: Caller, reported: UUID, week: str
) -> None:
    answer = acme.get(f"/jobs/{reported}/reports/{week}")

    assert code_of(answer) == (404, "NOT_FOUND")


def test_reports_are_the_companys_own(acme: Caller, other: Caller, reported: UUID) -> None:
    week = last_week().monday.isoformat()

    for path in (f"/jobs/{reported}/reports", f"/jobs/{reported}/reports/{week}"):
        assert code_of(other.get(path)) == (404, "NOT_FOUND")
        assert code_of(Caller().get(path)) == (401, "NOT_AUTHENTICATED")


def test_a_foreign_cursor_is_refused(acme: Caller, reported: UUID) -> None:
    for cursor in ("x", "WyJ4Il0", "WzFd"):
        answer = acme.get(f"/jobs/{reported}/reports", {"cursor": cursor})
        assert pointers(answer) == ["/cursor"]


@pytest.mark.parametrize(
    "wrong",
    [{"zone": "/etc/passwd"}, {"zone": "Mars/Olympus"}, {"week": "2026-01-06"}, {"week": "soon"}],
    ids=str,
)
def test_a_report_that_cannot_be_made_is_refused_at_once(
    acme: Caller, job: UUID, wrong: dict[str, str]
) -> None:
    payload = {"job_id": str(job)} | wrong
    answer = acme.post("/tasks", {"type": "report.weekly", "payload": payload})

    assert code_of(answer) == (400, "INVALID_PAYLOAD")
    assert pointers(answer) == [f"/payload/{next(iter(wrong))}"]
