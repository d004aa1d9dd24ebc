"""Receipts around a draw by lot: the program draws again from the log without names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pipeline.audit.receipts import issue_receipt
from pipeline.domain import draw as rule
from pipeline.line import settle as drawing
from pipeline.line.locked_job import LockedJob
from pipeline.line.moves import draw_ticket
from tests.support import factories
from tests.support.lottery import draw, draw_in_part, draw_with_a_late_comer, lottery
from tests.support.receipts import Folder, rewrite_log, whole_log
from tests.support.sandboxes import DAY, advance, sandbox

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path)


def test_the_program_draws_again_and_finds_my_place(folder: Folder) -> None:
    job_id = lottery()
    mine, *_ = factories.applications(job_id, 7)
    drawn = draw(job_id)
    factories.application(job_id)

    code, said = folder.verify(issue_receipt(mine.id), log=whole_log(job_id))

    place = [e.application_id for e in factories.events(job_id) if e.event == "PLACED"]
    assert code == 0, said
    number = place.index(mine.id) + 1
    assert f"event {drawn.seq}: the draw by lot put you at number {number} of 7" in said


def test_a_receipt_from_before_the_draw_holds_no_place(folder: Folder) -> None:
    job_id = lottery()
    mine, _ = factories.applications(job_id, 2)

    receipt = issue_receipt(mine.id)
    code, said = folder.verify(receipt, log=whole_log(job_id))

    assert (receipt["position"], receipt["order_key"]) == (None, None)
    assert code == 0, said


def test_another_order_than_the_seeds_is_named(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    job_id = lottery()
    mine, *_ = factories.applications(job_id, 5)
    monkeypatch.setattr(drawing, "drawn_order", lambda *given: rule.drawn_order(*given)[::-1])
    drawn = draw(job_id)

    code, said = folder.verify(issue_receipt(mine.id), log=whole_log(job_id))

    assert code == 1
    assert f"event {drawn.seq + 1} placed a different person from the one drawn" in said


def test_a_place_behind_that_of_the_lot_is_named(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The seed and the order are right, but the first one gets a ticket far behind."""
    job_id = lottery()
    factories.applications(job_id, 6)
    first = True

    def ticket(job: LockedJob, misses: int) -> tuple[int, int]:
        nonlocal first
        was_first, first = first, False
        return (job.next_ticket + 1_000, job.seq + 1) if was_first else draw_ticket(job, misses)

    monkeypatch.setattr(drawing, "draw_ticket", ticket)
    drawn = draw(job_id)
    me = next(each for each in factories.events(job_id) if each.event == "PLACED").application_id
    assert me

    code, said = folder.verify(issue_receipt(me), log=whole_log(job_id))

    assert code == 1
    assert f"event {drawn.seq + 1} gave someone the wrong place in the draw: (1007, " in said


def test_who_comes_after_the_time_of_the_draw_is_named(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    job_id = lottery()
    mine, _ = factories.applications(job_id, 2)
    drawn = draw_with_a_late_comer(job_id, monkeypatch)

    code, said = folder.verify(issue_receipt(mine.id), log=whole_log(job_id))

    assert code == 1
    assert f"event {drawn.seq - 1} let someone into the draw after entries had closed" in said


def test_a_receipt_from_the_middle_of_a_draw_is_named(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    job_id = lottery()
    mine, *_ = factories.applications(job_id, 5)
    draw_in_part(job_id, monkeypatch)

    code, said = folder.verify(issue_receipt(mine.id), log=whole_log(job_id))

    assert code == 1
    assert "before the draw by lot has placed everyone" in said


@pytest.mark.parametrize("change", [{"decay_count": 1}, {"not_before": "2099-01-01"}])
def test_a_lot_that_changes_more_than_the_place_is_named(
    folder: Folder, change: dict[str, Any]
) -> None:
    job_id = lottery()
    mine, *_ = factories.applications(job_id, 3)
    drawn = draw(job_id)
    last = factories.events(job_id)[drawn.seq + 2]
    assert last.event == "PLACED"
    rewrite_log(job_id, last.seq, data=last.data | change)

    code, said = folder.verify(issue_receipt(mine.id), log=whole_log(job_id))

    assert code == 1
    assert f"event {last.seq} changed the misses, a cool-down, or a date" in said


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"seed": "ab" * 32}, "drew by a seed that is not that of the hash before it"),
        ({"draw_at": "2099-01-01T00:00:00.000000Z"}, "changed the time of the draw"),
    ],
)
def test_a_false_draw_is_named(folder: Folder, change: dict[str, Any], says: str) -> None:
    job_id = lottery()
    mine, *_ = factories.applications(job_id, 3)
    drawn = draw(job_id)
    rewrite_log(job_id, drawn.seq, data=drawn.data | change)

    code, said = folder.verify(issue_receipt(mine.id), log=whole_log(job_id))

    assert code == 1
    assert says in said


def test_a_seat_before_the_draw_is_named(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    job_id = lottery()
    mine, _ = factories.applications(job_id, 2)
    monkeypatch.setattr("pipeline.line.locked_job.LockedJob.awaits_draw", False)
    favoured = factories.application(job_id)
    monkeypatch.undo()

    code, said = folder.verify(issue_receipt(mine.id), log=whole_log(job_id))

    assert factories.statuses(favoured) != ["WAITLIST"]
    assert code == 1
    assert "gave a seat before the draw" in said


def test_the_program_follows_the_line_for_weeks_after_the_draw(folder: Folder) -> None:
    company = sandbox()
    job_id = lottery(company_id=company.id, seconds=DAY, cooldown_seconds=60)
    people = factories.applications(job_id, 5, actor=factories.RECRUITER)
    advance(company, 10 * DAY)
    factories.application(job_id, actor=factories.RECRUITER)
    advance(company, 10 * DAY)
    assert "DECAYED" in factories.event_names(job_id)

    for mine in people:
        _, said = folder.verify(issue_receipt(mine.id), log=whole_log(job_id))

        problems = [line for line in said.splitlines() if line.startswith("PROBLEM")]
        assert len(problems) == 3, said  # the receipt is a test, and the clock was moved twice
        assert all("sandbox" in line for line in problems), said
        assert "the draw by lot put you at number" in said
