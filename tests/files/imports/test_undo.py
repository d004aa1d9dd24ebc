"""Undoing an import: whom it removes, whom it leaves, and until when."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID

import pytest
from django.db.models import F
from django.db.models.functions import Now

from pipeline.domain.errors import ImportUndoTooLate, StoredFileNotFound
from pipeline.domain.states import Outcome
from pipeline.files.imports import tasks
from pipeline.files.imports.admitting import admit_rows
from pipeline.files.imports.results import read_progress
from pipeline.files.imports.starting import IMPORT
from pipeline.files.imports.tasks import UNDO, start_undo
from pipeline.models import Application, Event, ImportRun, StoredFile
from pipeline.services.leaving import remove, withdraw
from pipeline.services.settling import settle
from pipeline.services.turns import acknowledge
from tasks.enqueue import enqueue
from tasks.models import Task
from tests.files.imports.files import as_csv, imported, people, stored
from tests.support import factories
from tests.support.clock import let_time_pass
from tests.support.invariants import assert_line_is_sound
from tests.support.task_runs import run_due_tasks
from tests.support.together import together

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def small_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pipeline.files.imports.reading.ROWS_IN_PART", 3)
    monkeypatch.setattr(tasks, "SLICE", 2)


def start(run: ImportRun, company_id: UUID | None = None) -> object:
    return start_undo(
        company_id=company_id or run.file.company_id,
        import_id=run.file_id,
        actor=factories.RECRUITER,
        producer="member:x",
    )


def named(job_id: UUID, name: str) -> Application:
    return Application.objects.get(job_id=job_id, name=name)


def live_names(job_id: UUID) -> list[str]:
    live = Application.objects.filter(job_id=job_id, outcome=None)
    return list(live.order_by("ticket", "id").values_list("name", flat=True))


def test_everybody_whom_the_import_added_leaves_and_nobody_else() -> None:
    job_id = factories.job(capacity=2)
    first = factories.application(job_id)
    other = imported(job_id, as_csv(people(2, "other")))
    run = imported(job_id, as_csv(people(7)))
    last = factories.application(job_id)
    head = factories.row_of(job_id).seq

    start(run)
    assert run_due_tasks(UNDO) == ["SUCCEEDED"]

    live = set(Application.objects.filter(job_id=job_id, outcome=None).values_list("id", flat=True))
    theirs = Application.objects.filter(applicant__email__regex="^p[0-9]+@import", job_id=job_id)
    assert live == {first.id, last.id} | {
        *Application.objects.filter(applicant__email__startswith="other").values_list(
            "id", flat=True
        )
    }
    assert other.accepted == 2
    assert set(theirs.values_list("outcome", flat=True)) == {Outcome.REMOVED}
    run.refresh_from_db()
    assert (run.undone, run.undo_total) == (7, 7)
    assert run.undo_ended_at
    said = Event.objects.filter(job_id=job_id, seq__gt=head)
    assert {each.data["import"] for each in said} == {str(run.file_id)}
    assert {each.data["reason"] for each in said} == {"IMPORT_UNDONE"}
    assert {each.actor_id for each in said} == {factories.RECRUITER.id}
    assert_line_is_sound(job_id)


def test_who_has_acted_or_was_decided_on_stays() -> None:
    job_id = factories.job(capacity=2, acknowledge_first_seat=True)
    run = imported(job_id, as_csv(people(6)))
    seated = named(job_id, "Person 0")
    acknowledge(application_id=seated.id, actor=factories.owner_of(seated))
    gone = named(job_id, "Person 4")
    withdraw(application_id=gone.id, actor=factories.owner_of(gone))
    hired_next = named(job_id, "Person 1")
    acknowledge(application_id=hired_next.id, actor=factories.owner_of(hired_next))
    remove(
        application_id=hired_next.id, outcome=Outcome.HIRED, actor=factories.RECRUITER
    )  # Person 2 is promoted, and has not acted

    start(run)
    run_due_tasks(UNDO)

    assert live_names(job_id) == ["Person 0"]
    run.refresh_from_db()
    assert (run.accepted, run.undone) == (6, 3)
    assert named(job_id, "Person 1").outcome == Outcome.HIRED
    assert_line_is_sound(job_id)


def test_nobody_of_the_import_is_offered_a_seat_on_the_way() -> None:
    job_id = factories.job(capacity=2)
    run = imported(job_id, as_csv(people(7)))
    behind = factories.application(job_id)
    head = factories.row_of(job_id).seq

    start(run)
    assert run_due_tasks(UNDO) == ["SUCCEEDED"]

    promoted = Event.objects.filter(job_id=job_id, seq__gt=head, event="PROMOTED")
    assert [each.application_id for each in promoted] == [behind.id]


def test_the_line_wakes_when_the_cool_down_of_those_left_ends() -> None:
    """Ben of the import goes, and only Ana waits, who missed a turn: she is next in an hour."""
    job_id = factories.job(capacity=1, acknowledge_first_seat=True, cooldown_seconds=3_600)
    ana = factories.application(job_id)
    run = imported(job_id, as_csv(people(1)))
    let_time_pass(job_id, 86_400 + 60)
    settle(job_id=job_id)
    assert factories.fresh(ana).eligible_at

    start(run)
    assert run_due_tasks(UNDO) == ["SUCCEEDED"]

    assert live_names(job_id) == [ana.name]
    due = factories.row_of(job_id).next_due_at
    assert due
    assert due <= factories.fresh(ana).eligible_at
    assert_line_is_sound(job_id)


def test_an_import_whose_task_runs_cannot_be_undone() -> None:
    run = imported(factories.job(capacity=1), as_csv(people(2)))
    Task.objects.all().delete()
    ImportRun.objects.filter(file_id=run.file_id).update(finished_at=None)
    task = enqueue(IMPORT, {"import_id": str(run.file_id)}, owner_id=run.file.company_id)
    StoredFile.objects.filter(id=run.file_id).update(task_id=task.id)
    Task.objects.filter(id=task.id).update(status="RUNNING", lease_until=Now())

    with pytest.raises(ImportUndoTooLate):
        start(run)


def test_a_cancelled_import_can_be_undone_for_a_day_from_then() -> None:
    run = imported(factories.job(capacity=1), as_csv(people(2)))
    task = enqueue(IMPORT, {"import_id": str(run.file_id)}, owner_id=run.file.company_id)
    long_ago = Now() - timedelta(days=3)
    StoredFile.objects.filter(id=run.file_id).update(task_id=task.id, created_at=long_ago)
    ImportRun.objects.filter(file_id=run.file_id).update(finished_at=None)
    ended = Now() - timedelta(hours=23)
    Task.objects.filter(id=task.id).update(status="CANCELLED", finished_at=ended)

    assert start(run)


def test_a_person_who_had_applied_before_is_not_removed() -> None:
    job_id = factories.job(capacity=1)
    ana = factories.applicant(email="p1@import.example")
    mine = factories.application(job_id, ana, verified=False)

    run = imported(job_id, as_csv(people(3)))  # takes the unverified application over
    start(run)
    run_due_tasks(UNDO)

    assert factories.fresh(mine).outcome is None
    run.refresh_from_db()
    assert (run.accepted, run.undone) == (3, 2)


def test_a_running_import_cannot_be_undone_and_an_undone_one_does_not_go_on() -> None:
    job_id = factories.job(capacity=1)
    import_id = stored(job_id, as_csv(people(9)))
    run = admit_rows(import_id, is_cancelled=lambda: True)
    assert run.next_row == 6

    start(run)  # its task is gone
    again = admit_rows(import_id)
    run_due_tasks(UNDO)

    assert again.accepted == 6
    assert live_names(job_id) == []


def test_it_is_possible_for_a_day() -> None:
    job_id = factories.job(capacity=1)
    run = imported(job_id, as_csv(people(2)))
    runs = ImportRun.objects.filter(file_id=run.file_id)
    runs.update(finished_at=F("finished_at") - timedelta(hours=24))

    with pytest.raises(ImportUndoTooLate):
        start(run)

    runs.update(finished_at=F("finished_at") + timedelta(minutes=1))
    assert start(run)


def test_starting_it_twice_starts_it_once() -> None:
    run = imported(factories.job(), as_csv(people(2)))

    assert start(run)
    assert start(run) is None


def test_what_was_cancelled_can_be_started_again() -> None:
    job_id = factories.job(capacity=1)
    run = imported(job_id, as_csv(people(5)))
    start(run)
    looks = iter([False, True])
    tasks.undo(run.file_id, is_cancelled=lambda: next(looks))
    assert len(live_names(job_id)) == 3
    run.refresh_from_db()
    ImportRun.objects.filter(file_id=run.file_id).update(undo_task_id=None)  # its task has ended
    assert read_progress(run.file.company_id, run.file_id).can_undo

    start(run)
    tasks.undo(run.file_id)

    assert live_names(job_id) == []
    run.refresh_from_db()
    assert (run.undone, run.undo_total) == (5, 5)


def test_the_import_of_another_company_is_not_there() -> None:
    run = imported(factories.job(), as_csv(people(1)))

    with pytest.raises(StoredFileNotFound):
        start(run, factories.company().id)


@pytest.mark.parametrize("how_often", [1, 3])
def test_several_undoes_and_people_who_act_at_once_leave_a_sound_line(how_often: int) -> None:
    """Two workers undo, while people confirm and leave: each is counted and logged once."""
    job_id = factories.job(capacity=3, acknowledge_first_seat=True)
    run = imported(job_id, as_csv(people(12)))
    start(run)
    offered = list(Application.objects.filter(job_id=job_id, status="PENDING_ACKNOWLEDGMENT"))
    waiting = list(Application.objects.filter(job_id=job_id, status="WAITLIST")[:how_often])
    acts = [
        *(lambda: tasks.undo(run.file_id) for _ in range(2)),
        *(
            lambda one=one: acknowledge(application_id=one.id, actor=factories.owner_of(one))
            for one in offered
        ),
        *(
            lambda one=one: withdraw(application_id=one.id, actor=factories.owner_of(one))
            for one in waiting
        ),
    ]

    together(acts)

    removed = Event.objects.filter(job_id=job_id, event="REMOVED").count()
    run.refresh_from_db()
    assert run.undone == removed
    for one in offered:
        if factories.fresh(one).outcome is None:
            assert factories.status_of(one) == "ACTIVE"
    assert_line_is_sound(job_id)


@pytest.mark.parametrize("looks_again", [True, False])
def test_who_acts_while_it_runs_stays(looks_again: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """The control trusts what was read before the lock, and removes a person who has confirmed."""
    if not looks_again:
        monkeypatch.setattr(tasks, "_STILL_REMOVABLE", "SELECT unnest(%(ids)s::uuid[])")
    job_id = factories.job(capacity=1, acknowledge_first_seat=True)
    run = imported(job_id, as_csv(people(3)))
    one = named(job_id, "Person 0")
    start(run)

    def confirm_meanwhile(now: ImportRun) -> None:
        if now.undone == 2:  # the two on the waitlist
            acknowledge(application_id=one.id, actor=factories.owner_of(one))

    tasks.undo(run.file_id, after_batch=confirm_meanwhile)

    assert live_names(job_id) == (["Person 0"] if looks_again else [])
