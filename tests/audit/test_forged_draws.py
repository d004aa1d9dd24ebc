"""Forged logs whose hashes fit but whose draw by lot is another than the seed's."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from django.db import connection, transaction

from pipeline.audit.archive import BadArchive, archive_log
from pipeline.audit.verify import Verdict, verify_job
from pipeline.domain import draw as rule
from pipeline.line import settle as drawing
from pipeline.line.event_log import logged_time
from pipeline.models import Event
from tests.audit.test_forged_logs import first_bad_seq, forge, set_data
from tests.support import factories
from tests.support.lottery import draw, draw_in_part, draw_with_a_late_comer, lottery

pytestmark = pytest.mark.django_db(transaction=True)


def _drawn_job() -> UUID:
    job_id = lottery()
    factories.applications(job_id, 5)
    draw(job_id)
    assert verify_job(job_id).is_sound
    return job_id


def _moved(seconds: int) -> Callable[[Event], None]:
    def move(row: Event) -> None:
        row.effective_at += timedelta(seconds=seconds)

    return move


@pytest.mark.parametrize(
    ("event", "change"),
    [
        ("DRAWN", set_data(seed="00" * 32)),
        ("DRAWN", set_data(drawn=4)),
        ("DRAWN", set_data(drawn=6)),
        ("DRAWN", set_data(algorithm="as we like")),
        ("DRAWN", set_data(algorithm="the way we like")),
        ("DRAWN", _moved(1)),
        ("DRAWN", _moved(-1)),
        ("DRAWN", lambda row: row.data.pop("draw_at")),
        ("DRAWN", lambda row: setattr(row, "actor_kind", "COMPANY")),
        ("PLACED", set_data(ticket=99)),
        ("PLACED", set_data(ticket=0)),
        ("PLACED", _moved(1)),
        ("PLACED", _moved(-1)),
        ("PLACED", set_data(decay_count=1)),
        ("PLACED", set_data(eligible_at="2099-01-01T00:00:00.000000Z")),
        ("PLACED", set_data(not_before="2099-01-01T00:00:00.000000Z")),
        ("PLACED", lambda row: setattr(row, "cause_seq", 1)),
        ("PLACED", lambda row: setattr(row, "cause_seq", row.seq - 1)),
    ],
)
def test_a_draw_that_was_changed_afterwards_is_named(
    event: str, change: Callable[[Event], Any]
) -> None:
    job_id = _drawn_job()

    seq = forge(job_id, event, change)

    assert first_bad_seq(job_id) == seq


def test_a_rewritten_past_gives_another_seed_so_the_draw_is_named() -> None:
    """The seed comes from the hash before it, so nothing before the draw changes unnoticed."""
    job_id = _drawn_job()
    drawn = Event.objects.get(job_id=job_id, event="DRAWN").seq

    forge(job_id, "APPLIED", lambda row: setattr(row, "actor_id", None))

    assert first_bad_seq(job_id) == drawn


def test_an_order_that_is_not_the_seeds_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    job_id = lottery()
    factories.applications(job_id, 5)
    with monkeypatch.context() as cheat:
        cheat.setattr(drawing, "drawn_order", lambda *given: rule.drawn_order(*given)[::-1])
        drawn = draw(job_id)

    assert first_bad_seq(job_id) == drawn.seq + 1


def test_a_time_that_changed_after_people_came_is_named() -> None:
    job_id = lottery()
    factories.applications(job_id, 2)
    factories.alter(job_id, capacity=3)

    other = logged_time(factories.row_of(job_id).created_at + timedelta(days=1))
    seq = forge(job_id, "CAPACITY_CHANGED", set_data(draw_at=other))

    assert first_bad_seq(job_id) == seq


@pytest.mark.parametrize("column", ["draw_at", "drawn_at"])
def test_a_job_row_with_another_draw_than_the_log_is_noticed(column: str) -> None:
    job_id = _drawn_job()

    with transaction.atomic(), connection.cursor() as cursor:
        change = f"UPDATE jobs_job SET {column} = {column} - interval '1 second' WHERE id = %s"
        cursor.execute(change, [job_id])

    verdict = verify_job(job_id)
    assert (verdict.chain, verdict.replay_matches) == ("ok", False)
    assert [each for each in verdict.differences if column in each]


def test_who_comes_after_the_time_of_the_draw_takes_no_part(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    job_id = lottery()
    factories.applications(job_id, 2)
    drawn = draw_with_a_late_comer(job_id, monkeypatch)

    assert first_bad_seq(job_id) == drawn.seq - 1


def test_a_log_that_ends_in_the_middle_of_a_draw_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    job_id = lottery()
    factories.applications(job_id, 5)
    end = draw_in_part(job_id, monkeypatch)

    assert first_bad_seq(job_id) == end + 1


def test_a_file_that_ends_in_the_middle_of_a_draw_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    job_id = lottery()
    factories.applications(job_id, 5)
    end, head = draw_in_part(job_id, monkeypatch), bytes(factories.row_of(job_id).chain_head)
    said_sound = Verdict("ok", None, end, head.hex())
    monkeypatch.setattr("pipeline.audit.archive.verify_job", lambda _job_id: said_sound)

    with pytest.raises(BadArchive, match="ends before everyone has been placed"):
        archive_log(tmp_path, job_id)
