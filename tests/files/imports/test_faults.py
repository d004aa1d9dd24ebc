"""Imports that are killed, run twice at once, or meet others on the same line."""

from __future__ import annotations

import signal
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any
from uuid import UUID

import pytest

from pipeline.domain.errors import ApplicantNotFound
from pipeline.files.imports import admitting
from pipeline.files.imports.admitting import admit_rows
from pipeline.models import Application, ImportRefusal, ImportRun, StoredFile
from pipeline.privacy import erase as erasing
from pipeline.privacy.erase import erase_person
from tests.files.imports.files import as_csv, people, refusals, stored
from tests.support import factories
from tests.support.forked import RunForked
from tests.support.invariants import assert_line_is_sound
from tests.support.together import started, together, wait_until_somebody_waits_for_a_lock

pytestmark = pytest.mark.django_db(transaction=True)

ROWS = [*people(10), ("", "nameless@import.example"), *people(20)]


@pytest.fixture(autouse=True)
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pipeline.files.imports.reading.ROWS_IN_PART", 3)
    monkeypatch.setattr(admitting, "MOST_PARTS", 2)


def killed(run_forked: RunForked, import_id: UUID, *how: str) -> None:
    """Take a file in by a process that dies on the way."""
    assert run_forked("tests.files.imports.mortal", str(import_id), *how) == -signal.SIGKILL


@pytest.mark.parametrize("place", ["_find_people", "write", "_count_admitted", "commit"])
def test_killed_anywhere_in_a_batch_no_row_is_lost_or_taken_twice(
    place: str, run_forked: RunForked
) -> None:
    job_id = factories.job(capacity=3)
    import_id = stored(job_id, as_csv(ROWS))
    killed(run_forked, import_id, place)
    before = ImportRun.objects.get(file_id=import_id)

    run = admit_rows(import_id)

    assert before.next_row == (12 if place == "commit" else 6)
    assert Application.objects.filter(job_id=job_id).count() == run.accepted == 20
    assert [why for _, why in refusals(run)] == ["NO_NAME"] + ["DUPLICATE"] * 10
    assert run.next_row == len(ROWS)
    assert_line_is_sound(job_id)


def test_control_were_the_line_written_apart_a_kill_would_show(
    run_forked: RunForked,
) -> None:
    job_id = factories.job(capacity=3)
    import_id = stored(job_id, as_csv(people(20)))

    killed(run_forked, import_id, "write", "--torn")
    run = admit_rows(import_id)

    assert (run.accepted, run.refused) != (20, 0)


def test_two_runs_at_once_share_the_rows() -> None:
    job_id = factories.job(capacity=3)
    import_id = stored(job_id, as_csv(ROWS))

    together([lambda: admit_rows(import_id), lambda: admit_rows(import_id)])

    run = ImportRun.objects.get(file_id=import_id)
    assert (run.accepted, run.refused, run.ending) == (20, 11, "COMPLETE")
    assert Application.objects.filter(job_id=job_id).count() == 20
    assert ImportRefusal.objects.filter(run=run).count() == 11
    assert_line_is_sound(job_id)


def test_two_files_with_the_same_people_at_once_in_two_jobs_and_in_one() -> None:
    jobs = [factories.job(), factories.job()]
    files = [stored(jobs[0], as_csv(people(30))), stored(jobs[1], as_csv(people(30)[::-1]))]
    files.append(stored(jobs[1], as_csv(people(30))))

    answers = together([lambda file=file: admit_rows(file) for file in files])

    assert [type(answer) for answer in answers] == [ImportRun] * 3
    assert [Application.objects.filter(job_id=job).count() for job in jobs] == [30, 30]
    assert sum(run.accepted for run in ImportRun.objects.all()) == 60
    for job_id in jobs:
        assert_line_is_sound(job_id)


def test_others_apply_between_two_batches() -> None:
    job_id = factories.job(capacity=3)
    came: list[Application] = []

    def after_batch(run: ImportRun) -> None:
        if not came:
            came.append(factories.application(job_id))

    admit_rows(stored(job_id, as_csv(people(20))), after_batch=after_batch)

    assert factories.line(job_id).index(came[0].id) == 3
    assert_line_is_sound(job_id)


def erased(email: str) -> None:
    """Someone proves that address, and has everything erased."""
    person = factories.Applicant.objects.filter(email=email).first() or factories.applicant(
        email=email
    )
    erase_person(applicant_id=person.id)


def taken_in_during(act: Callable[[], None], rows: list[tuple[str, str]]) -> ImportRun:
    job_id = factories.job(capacity=3)
    acted: list[bool] = []

    def after_batch(run: ImportRun) -> None:
        if not acted:
            act()
            acted.append(True)

    run = admit_rows(stored(job_id, as_csv(rows)), after_batch=after_batch)
    assert_line_is_sound(job_id)
    return run


def test_who_is_erased_before_their_row_is_reached_is_not_taken_in() -> None:
    run = taken_in_during(lambda: erased("p17@import.example"), people(20))

    assert refusals(run) == [(19, "ERASED")]
    assert not factories.Applicant.objects.filter(email="p17@import.example").exists()


def test_who_is_erased_after_their_row_was_taken_in_leaves_the_line() -> None:
    run = taken_in_during(lambda: erased("p1@import.example"), people(20))

    assert run.accepted == 20
    assert Application.objects.filter(status="INACTIVE").count() == 1


def test_a_batch_under_way_and_an_erasure_wait_for_each_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    job_id, email = factories.job(), "p3@import.example"
    factories.applicant(email=email)
    import_id = stored(job_id, as_csv(people(6)))
    decide = admitting._admit_each

    with ExitStack() as until_then:
        answers: list[object] = []

        def decide_late(*given: Any) -> None:
            answers.append(until_then.enter_context(started(lambda: erased(email))))
            assert together([wait_until_somebody_waits_for_a_lock]) == [None]
            decide(*given)

        monkeypatch.setattr(admitting, "_admit_each", decide_late)
        admit_rows(import_id)

    assert answers == [[None]]
    assert not factories.Applicant.objects.filter(email=email).exists()
    assert Application.objects.filter(job_id=job_id, name="Person 3").count() == 0
    assert_line_is_sound(job_id)


def test_who_was_erased_between_being_found_and_the_lock_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    job_id = factories.job()
    person = factories.applicant(email="p3@import.example")
    found = admitting._find_people

    def erased_then(*given: Any) -> dict[str, UUID]:
        people_found = found(*given)
        # As if the import had begun just then.
        for what in ("hold_import_files", "blank_import_rows"):
            monkeypatch.setattr(erasing, what, lambda *_: None)
        assert together([lambda: erase_person(applicant_id=person.id)]) == [0]
        return people_found

    monkeypatch.setattr(admitting, "_find_people", erased_then)

    run = admit_rows(stored(job_id, as_csv(people(5))))

    assert refusals(run) == [(5, "ERASED")]
    with pytest.raises(ApplicantNotFound):
        factories.application(job_id, person)


def test_who_is_erased_between_the_look_at_their_past_and_the_commit_leaves_the_line_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    email, write = "p3@import.example", admitting.write
    import_id = stored(factories.job(), as_csv([(email, email)]))
    factories.applicant(email=email)
    # As if the import had begun just then.
    for what in ("hold_import_files", "blank_import_rows"):
        monkeypatch.setattr(erasing, what, lambda *_: None)

    with ExitStack() as until_then:

        def write_late(job: Any) -> None:
            until_then.enter_context(started(lambda: erased(email)))
            assert together([wait_until_somebody_waits_for_a_lock]) == [None]
            write(job)

        monkeypatch.setattr(admitting, "write", write_late)
        admit_rows(import_id)

    assert [row.status for row in Application.objects.all()] == ["INACTIVE"]


def test_nothing_is_left_to_take_in_when_the_file_is_gone() -> None:
    import_id = stored(factories.job(), as_csv(people(5)))
    StoredFile.objects.all().delete()

    with pytest.raises(ImportRun.DoesNotExist):
        admit_rows(import_id)
