"""Expired rows are removed, all of them and nothing else, every few minutes."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid4

import pytest
from django.contrib.sessions.models import Session
from django.utils import timezone

from applicants.models import ApplicantToken, SignInCode
from jobs.models import ApiKey
from pipeline.apps import PipelineConfig
from pipeline.maintenance import expired_rows
from pipeline.models import (
    ImportRefusal,
    ImportRun,
    PortalToken,
    RequestRecord,
    StoredFile,
    StoredPart,
)
from tasks.errors import Fatal
from tasks.models import Schedule
from tests.support import factories
from tests.support.handlers import Run

pytestmark = pytest.mark.django_db(transaction=True)

PAST = timedelta(seconds=-1)
FUTURE = timedelta(days=1)


def run() -> dict[str, int]:
    result: dict[str, int] = Run("retention.site", {}, None).result
    return result


def a_file(until: timedelta, *, parts: int = 2, refusals: int = 3) -> UUID:
    file = StoredFile.objects.create(
        company_id=uuid4(),
        job_id=uuid4(),
        purpose="IMPORT",
        name="people.csv",
        content_type="text/csv",
        expires_at=timezone.now() + until,
    )
    StoredPart.objects.bulk_create(
        StoredPart(file=file, number=number, data=b"x\n") for number in range(parts)
    )
    told = ImportRun.objects.create(file=file, total_rows=refusals, started_by=uuid4())
    ImportRefusal.objects.bulk_create(
        ImportRefusal(run=told, row=row, reason="NO", name="Ana", email="a@example.org")
        for row in range(refusals)
    )
    return file.id


def test_a_file_goes_with_all_that_hangs_on_it() -> None:
    a_file(PAST)
    kept = a_file(FUTURE)

    removed = run()

    assert removed == {"refusals": 3, "imports": 1, "parts": 2, "files": 1}
    assert [file.id for file in StoredFile.objects.all()] == [kept]
    assert (StoredPart.objects.count(), ImportRefusal.objects.count()) == (2, 3)


def test_more_than_a_batch_goes_in_several(monkeypatch: pytest.MonkeyPatch) -> None:
    small = {kind: (statement, 2) for kind, (statement, _) in expired_rows.STATEMENTS.items()}
    monkeypatch.setattr(expired_rows, "STATEMENTS", small)
    for _ in range(3):
        a_file(PAST, parts=3, refusals=5)

    assert max(expired_rows.remove_batch().values()) == 2
    run()

    assert not StoredFile.objects.exists()
    assert not ImportRefusal.objects.exists()


def test_sessions_tokens_and_codes_go_when_their_time_is_over() -> None:
    person = factories.applicant()
    for number, until in enumerate((PAST, FUTURE)):
        then = timezone.now() + until
        Session.objects.create(session_key=str(number), session_data="", expire_date=then)
        ApplicantToken.objects.create(applicant=person, digest=b"%d" % number, expires_at=then)
        SignInCode.objects.create(
            request=b"%d" % number,
            address=b"%d" % number,
            digest=b"",
            tries_left=1,
            sent=1,
            expires_at=then,
            counted_until=then,
        )

    assert run() == {"sessions": 1, "tokens": 1, "codes": 1}
    assert run() == {}


def test_portal_tokens_go_when_their_minutes_are_over() -> None:
    application = factories.application(factories.job())
    key = ApiKey.objects.create(
        company_id=factories.row_of(application.job_id).company_id, name="k", digest=b"k", scopes=[]
    )
    whose = {"key_id": key.id, "applicant_id": application.applicant_id}
    for number, until in enumerate((PAST, FUTURE)):
        PortalToken.objects.create(
            digest=b"%d" % number, expires_at=timezone.now() + until, **whose
        )

    assert run() == {"portal_tokens": 1}
    assert bytes(PortalToken.objects.get().digest) == b"1"


def test_requests_of_keys_go_after_a_week() -> None:
    for days in (6, 8):
        RequestRecord.objects.create(
            key_id=uuid4(),
            is_portal=False,
            at=timezone.now() - timedelta(days=days),
            method="GET",
            path="/",
            status=200,
            status_class=2,
            request_id=str(days),
            duration_ms=1,
        )

    assert run() == {"requests": 1}
    assert RequestRecord.objects.get().request_id == "6"


def test_it_is_done_for_the_site_only() -> None:
    with pytest.raises(Fatal):
        Run("retention.site", {}, factories.company().id)


def test_it_stops_when_it_is_told_to() -> None:
    a_file(PAST)

    assert Run("retention.site", {}, None, cancelled_after=0).result == {}


def test_every_migrated_database_has_its_schedule_once() -> None:
    for _ in range(2):
        PipelineConfig.schedule_upkeep()

    schedule = Schedule.objects.get(type_key="retention.site")
    assert (schedule.cron, schedule.owner_id, schedule.enabled) == ("*/5 * * * *", None, True)
    assert schedule.next_at - datetime.now(UTC) <= timedelta(minutes=5)
