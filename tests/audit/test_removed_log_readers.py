"""Everything that reads events, and what it does if a job's log was removed from the database."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client

from pipeline.audit import removal
from pipeline.audit.archive import archive_logs
from pipeline.audit.removal import remove_archived_logs
from pipeline.figures.reports import KEY
from pipeline.figures.whatif import run
from pipeline.models import Application, RemovedLog, WeeklyReport
from pipeline.privacy import my_data
from pipeline.selectors.pages import encode_cursor
from tasks.errors import Discard
from tests.strangers.addresses import PARAMETER, addresses
from tests.support import factories
from tests.support.accounts import browser_of, member_of
from tests.support.applicants import owner_signed_in
from tests.support.archives import closed_job
from tests.support.callers import code_of, key_of
from tests.support.environment import ROOT
from tests.support.handlers import Run
from tests.support.history import page

PRODUCT = ("applicants", "jobs", "pipeline", "tasks")
READS = re.compile(r"\bEvent\.objects\b|\bpipeline_event\b")

# REFUSES: raises LogArchived where it finds no event. LESS: shows less, and says so. ARCHIVE: knows
# removed logs. LIVE: reads only what no removed log has: events of open jobs, of people in a line,
# or of the last half year. TABLE: names the table, and reads no event of a job.
READERS = {
    "pipeline/audit/anchor_comparison.py": "ARCHIVE",
    "pipeline/audit/anchors.py": "LIVE",
    "pipeline/audit/archive.py": "ARCHIVE",
    "pipeline/audit/receipts.py": "REFUSES",
    "pipeline/audit/removal.py": "ARCHIVE",
    "pipeline/audit/verify.py": "REFUSES",
    "pipeline/database/replica.py": "LIVE",
    "pipeline/database/roles.py": "TABLE",
    "pipeline/figures/forecast.py": "LIVE",
    "pipeline/figures/idle_seats.py": "REFUSES",
    "pipeline/figures/job.py": "REFUSES",
    "pipeline/figures/period.py": "LESS",
    "pipeline/figures/review_pace.py": "LIVE",
    "pipeline/figures/series.py": "REFUSES, LIVE",
    "pipeline/figures/whatif/run.py": "REFUSES",
    "pipeline/files/exports.py": "REFUSES",
    "pipeline/files/imports/tasks.py": "LIVE",
    "pipeline/line/misses.py": "LIVE",
    "pipeline/line/sources.py": "LIVE",
    "pipeline/line/write.py": "TABLE",
    "pipeline/maintenance/name_index.py": "LIVE",
    "pipeline/management/commands/restart_feed.py": "TABLE",
    "pipeline/management/demo/past.py": "LIVE",
    "pipeline/models/line.py": "TABLE",
    "pipeline/notifications/applicants.py": "LIVE",
    "pipeline/notifications/companies.py": "REFUSES",
    "pipeline/notifications/offers.py": "LIVE",
    "pipeline/notifications/outbox.py": "LIVE",
    "pipeline/notifications/overtaken.py": "LIVE",
    "pipeline/notifications/push.py": "LIVE",
    "pipeline/notifications/reviewers.py": "LIVE",
    "pipeline/privacy/my_data.py": "LESS",
    "pipeline/selectors/applications.py": "LESS",
    "pipeline/selectors/board.py": "LIVE",
    "pipeline/selectors/exceptions.py": "LIVE",
    "pipeline/selectors/job_applications.py": "LESS",
    "pipeline/selectors/jobs.py": "LIVE",
    "pipeline/selectors/past.py": "REFUSES",
    "pipeline/selectors/people.py": "LIVE",
    "pipeline/selectors/review.py": "LIVE",
    "pipeline/selectors/sandboxes.py": "LIVE",
    "pipeline/selectors/system.py": "REFUSES",
    "pipeline/selectors/timelines.py": "REFUSES, LIVE, LESS",
    "pipeline/services/exceptions.py": "LIVE",
    "pipeline/services/joining.py": "LIVE",
    "pipeline/services/leaving.py": "LIVE",
    "pipeline/services/outage.py": "LIVE",
    "pipeline/services/turns.py": "LIVE",
    "pipeline/sources/funnel.py": "REFUSES, LESS",
    "pipeline/webhooks/queue.py": "LIVE",
}
# What is answered with 409; everything else about such a job is shown.
REFUSED = set(
    """
    /api/v1/applications/ID/log /api/v1/applications/ID/receipt /api/v1/applications/ID/timeline
    /api/v1/jobs/ID/events /api/v1/jobs/ID/facts /api/v1/jobs/ID/idle-seats /api/v1/jobs/ID/replay
    /api/v1/jobs/ID/sources /api/v1/jobs/ID/summary /api/v1/jobs/ID/verify /company/jobs/ID/sources/
    /company/jobs/ID/sources/file.csv /company/jobs/ID/export/log.jsonl
    /company/jobs/ID/figures/ /company/jobs/ID/replay/ /company/jobs/ID/timeline/ /jobs/ID/facts/
    /me/applications/ID/log.jsonl /me/applications/ID/places/ /me/applications/ID/receipt.json
    /me/applications/ID/signed-receipt/
    """.split()
)
ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def test_every_reader_of_events_is_listed() -> None:
    files = (path for folder in PRODUCT for path in (ROOT / folder).rglob("*.py"))
    readers = {
        path.relative_to(ROOT).as_posix()
        for path in files
        if "migrations" not in path.parts and READS.search(path.read_text())
    }

    assert readers == READERS.keys()


@pytest.fixture(scope="module")
def removed(kept_database: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Someone's application to a job whose log was removed."""
    folder = tmp_path_factory.mktemp("archive")
    job_id = closed_job(ago_seconds=500 * 86_400)
    archive_logs(folder, after_days=30)
    assert remove_archived_logs(folder, after_days=removal.USUAL_DAYS).logs == 1
    return Application.objects.filter(job_id=job_id).order_by("-applied_at").first()


def _answers(client: Client, application: Application) -> dict[str, int]:
    ids = {
        "job_id": application.job_id,
        "application_id": application.id,
        "applicant_id": application.applicant_id,
        "what": ["log", "applications"],
        "format": ["jsonl", "csv"],
    }
    client.raise_request_exception = False
    found = {}
    for address in addresses():
        names = {plain or named for plain, named in PARAMETER.findall(address.route)}
        if "GET" in address.methods and names and names <= ids.keys():
            for path in address.paths(ids):
                found[path] = client.get(path).status_code
    return found


@pytest.mark.slow
def test_nothing_about_such_a_job_fails(removed: Application) -> None:
    company = factories.row_of(removed.job_id).company
    key = Client(headers={"Authorization": f"Bearer {key_of(company.id).token}"})
    clients = [browser_of(member_of(company)), owner_signed_in(removed), key, Client()]

    found = [(path, status) for each in clients for path, status in _answers(each, removed).items()]

    assert [path for path, status in found if status >= 500] == []
    assert {ID.sub("ID", path) for path, status in found if status == 409} == REFUSED


def test_pages_and_programs_are_told_why(removed: Application) -> None:
    company = factories.row_of(removed.job_id).company
    owner, program = browser_of(member_of(company)), key_of(company.id)
    removed_at = RemovedLog.objects.get().removed_at

    answer = owner.get(page(removed.job_id, "timeline/"))

    assert answer.status_code == 409
    assert f"moved to the archive on {removed_at:%-d %B %Y}" in answer.content.decode()
    for path in (page(removed.job_id, ""), f"/company/applications/{removed.id}/"):
        assert "was moved to the archive on" in owner.get(path).content.decode()
    assert owner.post(page(removed.job_id, "verify/")).status_code == 409
    theirs = owner_signed_in(removed).get(f"/me/applications/{removed.id}/").content.decode()
    assert "Its log was moved to the archive on" in theirs
    person = owner.get(f"/company/people/{removed.applicant_id}/").content.decode()
    assert "Events of jobs whose logs were moved to the archive are not listed" in person
    assert code_of(program.get(f"/jobs/{removed.job_id}/replay")) == (409, "LOG_ARCHIVED")
    place = {"cursor": encode_cursor(str(removed.job_id), 1)}
    assert code_of(program.get("/events", place)) == (409, "LOG_ARCHIVED")


def test_nobody_is_missing_from_a_list_of_applications(removed: Application) -> None:
    owner = browser_of(member_of(factories.row_of(removed.job_id).company))
    path = page(removed.job_id, "export/applications.csv")

    lines = b"".join(owner.get(path).streaming_content).decode().splitlines()

    assert len(lines) == 1 + Application.objects.filter(job_id=removed.job_id).count()
    mine = my_data.collect(removed.applicant)["applications"]
    assert [each["timeline_moved_to_archive_at"] for each in mine] == [
        RemovedLog.objects.get().removed_at
    ]


def test_lists_say_what_they_cannot_know(removed: Application) -> None:
    owner = browser_of(member_of(factories.row_of(removed.job_id).company))

    by_source = owner.get(page(removed.job_id, "applications/?source=COMPANY"))
    assert by_source.status_code == 409
    mine = owner_signed_in(removed).get("/me/").content.decode()
    assert "Events of jobs whose logs were moved to the archive are not listed" in mine


def test_a_report_is_not_made_and_not_tried_again(removed: Application) -> None:
    job = factories.row_of(removed.job_id)
    assert job.closed_at
    monday = job.closed_at.date() - timedelta(days=job.closed_at.weekday())

    with pytest.raises(Discard, match="moved to the archive"):
        Run(KEY, {"job_id": str(job.id), "week": monday.isoformat()}, job.company_id)
    assert not WeeklyReport.objects.exists()


def test_a_what_if_says_so(removed: Application) -> None:
    assert "in the archive" in run._what_if_task_refusal(factories.row_of(removed.job_id))
