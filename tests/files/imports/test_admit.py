"""Taking in the people of a file: as if each had applied, whatever happens meanwhile."""

from __future__ import annotations

import random
import time
from contextlib import suppress
from typing import Any
from uuid import UUID

import pytest
from django.core.exceptions import ValidationError

from applicants.models import Applicant
from applicants.people import find_or_create_person
from pipeline.domain.errors import AlreadyApplied, ImportFileRefused, JobNotFound, JobNotOpen
from pipeline.domain.states import Outcome
from pipeline.files.imports import admitting, starting
from pipeline.files.imports.admitting import admit_rows, count_remaining_rows
from pipeline.files.imports.results import read_progress, read_refused_rows
from pipeline.models import Application, ImportRun, StoredFile, StoredPart
from pipeline.services.jobs import close_job, open_job, pause_job
from pipeline.services.joining import apply
from pipeline.services.leaving import remove, withdraw
from tests.files.imports.files import (
    Person,
    as_csv,
    imported,
    people,
    refusals,
    standing,
    stored,
    unread,
)
from tests.support import factories
from tests.support.clock import let_time_pass
from tests.support.invariants import assert_line_is_sound

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pipeline.files.imports.reading.ROWS_IN_PART", 3)
    monkeypatch.setattr("pipeline.files.imports.reading.PARTS_AT_ONCE", 2)
    monkeypatch.setattr(admitting, "MOST_PARTS", 3)


def one_by_one(job_id: UUID, given: list[Person]) -> None:
    """Do what a company does through the API, row by row."""
    for name, email in given:
        with suppress(AlreadyApplied, ValidationError):
            if name:
                person = find_or_create_person(email)
                apply(job_id=job_id, applicant_id=person.id, name=name, actor=factories.RECRUITER)


def give_past(job_id: UUID, people: list[Applicant]) -> None:
    """Have people withdraw, be rejected, miss their deadlines, wait: one of each in this order."""
    withdrawn, rejected, *_ = [factories.application(job_id, person) for person in people]
    withdraw(application_id=withdrawn.id, actor=factories.owner_of(withdrawn))
    remove(application_id=rejected.id, outcome=Outcome.REJECTED, actor=factories.RECRUITER)
    let_time_pass(job_id, factories.WINDOW + 1)
    factories.settle_all()


@pytest.mark.parametrize("seed", range(6))
def test_a_file_does_what_applying_row_by_row_does(seed: int) -> None:
    dice = random.Random(seed)
    policy = {"acknowledge_first_seat": bool(seed % 2), "max_decays": dice.choice([0, 3])}
    seats, known = dice.randint(2, 5), [factories.applicant() for _ in range(6)]
    jobs = [factories.job(capacity=seats, **policy) for _ in range(2)]
    for job_id in jobs:
        give_past(job_id, known)
        factories.alter(job_id, capacity=seats + seed)
    addresses = [person.email for person in known] + [f"new{n}@x.org" for n in range(12)]
    given = [
        (dice.choice(["Ana", "José", ""]), dice.choice([*addresses, "nobody"])) for _ in range(30)
    ]

    run = imported(jobs[0], as_csv(given))
    one_by_one(jobs[1], given)

    assert standing(jobs[0]) == standing(jobs[1])
    assert factories.event_names(jobs[0]) == factories.event_names(jobs[1])
    assert run.accepted + run.refused == len(given)
    assert run.accepted == factories.event_names(jobs[0]).count("APPLIED") - len(known)
    for job_id in jobs:
        assert_line_is_sound(job_id)


def test_misses_count_on_and_a_cool_down_leaves_a_free_seat_empty() -> None:
    job_id = factories.job(capacity=2, acknowledge_first_seat=True, max_decays=0, penalty_places=2)
    person = factories.applicant()
    factories.application(job_id, person)
    let_time_pass(job_id, factories.WINDOW + 1)
    factories.settle_all()

    imported(job_id, as_csv([("Ana", person.email), *people(1)]))

    assert [row[2:] for row in standing(job_id)][1:] == [
        ("WAITLIST", factories.row_of(job_id).next_ticket + 2, 5, 1),
        ("PENDING_ACKNOWLEDGMENT", None, None, 0),
    ]
    assert_line_is_sound(job_id)


def test_a_seat_whose_deadline_has_just_passed_is_for_who_waited() -> None:
    job_id = factories.job(capacity=1, acknowledge_first_seat=True)
    factories.applications(job_id, 2)
    let_time_pass(job_id, factories.WINDOW + 1)  # and no worker has looked since

    imported(job_id, as_csv(people(1)))

    statuses = [row[2] for row in standing(job_id)]
    assert statuses == ["WAITLIST", "PENDING_ACKNOWLEDGMENT", "WAITLIST"]
    assert factories.event_names(job_id)[-3:] == ["DECAYED", "PROMOTED", "APPLIED"]
    assert_line_is_sound(job_id)


def test_refused_rows_are_kept_with_their_reason_and_the_others_are_taken_in() -> None:
    job_id = factories.job(capacity=1)
    live = factories.application(job_id)
    rows = [("Ana", "ana@x.org"), ("", "b@x.org"), ("C", "no address"), ("D", "ANA@x.org")]
    rows += [("Live", live.applicant.email), ("Z", "z@x.org")]

    run = imported(job_id, as_csv(rows))

    assert refusals(run) == [
        (3, "NO_NAME"),
        (4, "BAD_EMAIL"),
        (5, "DUPLICATE"),
        (6, "ALREADY_APPLIED"),
    ]
    assert (run.accepted, run.refused, run.ending) == (2, 4, "COMPLETE")
    assert count_remaining_rows(run) == 0
    assert factories.row_of(job_id).waitlist_count == 2


def test_nothing_of_the_file_is_left_once_it_was_taken_in() -> None:
    run = imported(factories.job(), as_csv(people(10)))

    assert run.finished_at
    assert not StoredPart.objects.filter(file_id=run.file_id).exists()


def test_taking_it_in_once_more_changes_nothing() -> None:
    job_id = factories.job()
    run = imported(job_id, as_csv(people(4)))

    again = admit_rows(run.file_id)

    assert (again.accepted, again.refused) == (4, 0)
    assert Application.objects.filter(job_id=job_id).count() == 4


@pytest.mark.parametrize(("stop", "ending"), [(pause_job, "JOB_PAUSED"), (close_job, "JOB_CLOSED")])
def test_a_job_that_stops_in_between_ends_the_import_and_says_what_is_left(
    stop: Any, ending: str
) -> None:
    job_id = factories.job(capacity=2)
    import_id = stored(job_id, as_csv(people(20)))

    run = admit_rows(
        import_id, after_batch=lambda run: stop(job_id=job_id, actor=factories.RECRUITER)
    )

    assert (run.ending, run.accepted, count_remaining_rows(run)) == (ending, 6, 14)
    assert Applicant.objects.filter(email__endswith="@import.example").count() == 6
    seen = read_progress(run.file.company_id, run.file_id)
    told = list(read_refused_rows(seen))
    assert [row["row"] for row in told] == list(range(8, 22))
    assert "before this row was imported" in str(told[0]["reason"])
    assert_line_is_sound(job_id)


def test_a_job_that_was_opened_again_just_then_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    job_id = factories.job()
    import_id = stored(job_id, as_csv(people(5)))
    pause_job(job_id=job_id, actor=factories.RECRUITER)
    end_early = admitting._end_early

    def opened(import_id: UUID) -> ImportRun:
        open_job(job_id=job_id, actor=factories.RECRUITER)
        return end_early(import_id)

    monkeypatch.setattr(admitting, "_end_early", opened)

    assert admit_rows(import_id).accepted == 5


def test_cancelling_ends_between_two_batches_and_keeps_what_was_taken_in() -> None:
    job_id = factories.job(capacity=2)
    import_id = stored(job_id, as_csv(people(20)))

    run = admit_rows(import_id, is_cancelled=lambda: True)

    assert (run.accepted, count_remaining_rows(run), run.finished_at) == (6, 14, None)
    assert admit_rows(import_id).accepted == 20
    assert_line_is_sound(job_id)


def test_progress_is_told_after_each_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(admitting, "LOCK_SECONDS", 60)  # no batch is made smaller on a busy machine
    told: list[tuple[int, int]] = []

    admit_rows(
        stored(factories.job(), as_csv(people(20))),
        after_batch=lambda run: told.append((run.next_row, run.total_rows)),
    )

    assert told == [(6, 20), (15, 20), (20, 20)]


@pytest.mark.slow
def test_a_large_line_is_sound_after_an_import_in_whole_batches(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("pipeline.files.imports.reading.ROWS_IN_PART", 100)
    job_id = factories.job(capacity=10)

    run = imported(job_id, as_csv(people(1_050)))

    assert run.accepted == 1_050
    assert (factories.row_of(job_id).active_count, factories.row_of(job_id).waitlist_count) == (
        10,
        1_040,
    )
    assert [row[0] for row in standing(job_id)] == [email for _, email in people(1_050)]
    assert_line_is_sound(job_id)


def test_nothing_is_stored_of_a_file_that_is_refused_at_its_end() -> None:
    content = as_csv(people(20)) + b'"never closed'
    job_id = factories.job()

    run = admit_rows(unread(job_id, content))

    assert run.ending == ImportRun.Ending.BAD_FILE
    assert "quotation mark" in run.trouble
    assert run.finished_at is not None
    assert not StoredPart.objects.exists()
    assert factories.row_of(job_id).next_ticket == 1


def test_a_file_that_is_refused_at_its_first_line_is_not_kept() -> None:
    for content in (b"\n" * 1_000_000, b"\xff\xfe", b"a,b\n1,2\n", b""):
        with pytest.raises(ImportFileRefused):
            unread(factories.job(), content)

    assert not StoredFile.objects.exists()


@pytest.mark.slow
def test_storing_a_file_of_line_breaks_costs_next_to_nothing_and_reading_it_has_an_end() -> None:
    content = b"name,email\n" + b"\n" * 15_000_000

    start = time.process_time()
    import_id = unread(factories.job(), content)
    storing = time.process_time() - start

    run = admit_rows(import_id)

    assert storing < 2
    assert (run.ending, run.total_rows) == (ImportRun.Ending.BAD_FILE, 0)
    assert "blank lines" in run.trouble


def test_a_file_is_read_once_by_whoever_comes_first() -> None:
    import_id = unread(factories.job(capacity=100), as_csv(people(7)))

    admit_rows(import_id)
    run = admit_rows(import_id)

    assert (run.total_rows, run.accepted, run.ending) == (7, 7, ImportRun.Ending.COMPLETE)


def test_only_an_own_job_that_is_open_takes_an_import() -> None:
    job_id = factories.job(open_now=False)
    with pytest.raises(JobNotOpen):
        stored(job_id, as_csv(people(1)))
    with pytest.raises(JobNotFound):
        starting.store_upload(
            company_id=factories.company().id,
            job_id=job_id,
            name="x",
            content=[],
            actor=factories.RECRUITER,
        )


def test_batches_are_fitted_to_the_time_that_they_hold_the_lock() -> None:
    fitting = admitting.next_part_count

    assert fitting(2, 0.001) == 3  # MOST_PARTS here
    assert fitting(3, 0.3) == 1
    assert fitting(1, 5.0) == 1
