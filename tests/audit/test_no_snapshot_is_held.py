"""A long verification or download holds no snapshot that slows down the changes of a busy job."""

from __future__ import annotations

import time
from collections.abc import Iterator
from uuid import UUID

import pytest

from pipeline.audit import verify
from pipeline.audit.log_fold import LogFold
from pipeline.audit.verify import Verdict, verify_job
from pipeline.database.instants import snapshot
from pipeline.files import exports
from pipeline.models import Application, Event
from pipeline.services.leaving import withdraw
from tests.support import factories
from tests.support.crowd import crowd
from tests.support.snapshots import busy_job, longest_snapshot_seconds

pytestmark = pytest.mark.django_db(transaction=True)

LONGEST_SECONDS = 1.0
EVENTS = 100


@pytest.fixture
def slow_log(monkeypatch: pytest.MonkeyPatch) -> UUID:
    """A job whose log takes long to fold, in many slices."""
    job_id = factories.job()
    factories.applications(job_id, EVENTS)
    fold_event = LogFold.fold_event

    def fold_slowly(fold: LogFold, event: Event) -> None:
        time.sleep(0.015)
        fold_event(fold, event)

    monkeypatch.setattr(LogFold, "fold_event", fold_slowly)
    monkeypatch.setattr(verify, "SLICE", 10)
    return job_id


@pytest.mark.parametrize("in_turn", [False, True])
def test_a_long_verification_holds_no_snapshot_while_people_apply_and_leave(
    slow_log: UUID, in_turn: bool
) -> None:
    with busy_job(slow_log) as changes:
        began = time.monotonic()
        longest, verdict = longest_snapshot_seconds(lambda: verify_job(slow_log, in_turn=in_turn))
        seconds = time.monotonic() - began

    assert isinstance(verdict, Verdict), verdict
    assert verdict.is_sound, verdict.differences
    assert len(changes) > 5
    assert seconds > 1.5 * LONGEST_SECONDS
    assert longest < LONGEST_SECONDS


def test_control_a_verification_in_one_transaction_would_hold_its_snapshot(slow_log: UUID) -> None:
    def fold_at_one_instant() -> None:
        fold = LogFold(slow_log)
        with snapshot():
            for event in Event.objects.filter(job_id=slow_log).order_by("seq"):
                fold.fold_event(event)

    with busy_job(slow_log):
        longest, _ = longest_snapshot_seconds(fold_at_one_instant)

    assert longest > LONGEST_SECONDS


def test_what_changed_after_an_application_was_read_is_read_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    job_id = factories.job()
    leaves, _stays = factories.applications(job_id, 2)
    read_ahead = verify._read_ahead

    def read_then_change(fold: LogFold) -> dict[UUID, Application]:
        rows = read_ahead(fold)
        withdraw(application_id=leaves.id, actor=factories.owner_of(leaves))  # the next moves up
        factories.application(job_id)
        return rows

    monkeypatch.setattr(verify, "_read_ahead", read_then_change)

    verdict = verify_job(job_id)

    assert verdict.is_sound, verdict.differences
    assert verdict.head_seq == factories.row_of(job_id).seq


PEOPLE = 20_000


@pytest.fixture
def crowded_job() -> UUID:
    """A job whose applications no client and no socket keeps in its buffers."""
    job_id = factories.job()
    crowd(job_id, PEOPLE)
    return job_id


def read_slowly(lines: Iterator[str]) -> int:
    """Read as a slow client does; the number of lines."""
    number = 0
    for number, _ in enumerate(lines, start=1):
        if number % 1_000 == 0:
            time.sleep(0.1)
    return number


@pytest.mark.parametrize("what", ["applications", "log"])
def test_a_slow_client_of_a_download_holds_no_snapshot(crowded_job: UUID, what: str) -> None:
    job = factories.row_of(crowded_job)

    with busy_job(crowded_job):
        longest, lines = longest_snapshot_seconds(
            lambda: read_slowly(exports.formatted_lines(job, what, "jsonl"))
        )

    assert isinstance(lines, int), lines
    assert lines >= PEOPLE
    assert longest < LONGEST_SECONDS


def test_control_a_cursor_in_a_transaction_would_hold_its_snapshot(crowded_job: UUID) -> None:
    rows = Application.objects.filter(job_id=crowded_job).values_list("id", flat=True)

    def read_in_one_transaction() -> int:
        with snapshot():
            return read_slowly(map(str, rows.iterator(chunk_size=exports.SLICE)))

    with busy_job(crowded_job):
        longest, _ = longest_snapshot_seconds(read_in_one_transaction)

    assert longest > LONGEST_SECONDS
