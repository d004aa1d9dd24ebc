"""Threads that apply to one job at once share a transaction, and each gets their own outcome."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from functools import partial
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from django.db import DataError, OperationalError, connection

from pipeline.domain.errors import AlreadyApplied
from pipeline.line.write import committed
from pipeline.models import Application, Event
from pipeline.services import joining as applying
from tests.support import factories
from tests.support.invariants import assert_line_is_sound
from tests.support.together import held_lock, kinds, take_alone, together
from tests.support.waiting import eventually

pytestmark = pytest.mark.django_db(transaction=True)

Wish = Callable[[], Application]


@pytest.fixture(autouse=True)
def batches(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Number of requests in each attempted transaction."""
    sizes: list[int] = []
    run = applying._turns._run

    def noting(job_id: UUID, batch: Any) -> None:
        sizes.append(len(batch))
        run(job_id, batch)

    monkeypatch.setattr(applying._turns, "_run", noting)
    return sizes


def wish(job_id: UUID, **how: Any) -> Wish:
    person = how.pop("person", None) or factories.applicant()
    who = {"applicant_id": person.id, "actor": factories.as_applicant(person.id)}
    return partial(applying.apply, **{"job_id": job_id, "name": "Ann"} | who | how)


def at_once(job_id: UUID, wishes: list[Wish], *, until_answered: bool = False) -> list[Any]:
    """Have everyone wait behind the first, who waits for the lock; the rest then go together.

    `until_answered`: the lock stays taken.
    """
    lines = applying._turns._lines
    with ThreadPoolExecutor(2) as pool:
        with held_lock(job_id):
            first = pool.submit(together, wishes[:1])
            eventually(lambda: job_id in lines and not lines[job_id].waiting)
            rest = pool.submit(together, wishes[1:])
            eventually(lambda: len(lines[job_id].waiting) == len(wishes) - 1)
            if until_answered:
                wait([first, rest])
        return first.result() + rest.result()


def test_those_who_waited_share_one_transaction_and_one_order(batches: list[int]) -> None:
    job_id = factories.job(capacity=2)

    answers = at_once(job_id, [wish(job_id) for _ in range(9)])

    assert batches == [1, 8]
    assert factories.statuses(*answers).count("ACTIVE") == 2
    assert sorted(each.ticket for each in answers if each.ticket) == list(range(1, 8))
    positions = [each.standing.position for each in answers if each.ticket]
    assert sorted(positions) == [each.ticket for each in sorted(answers, key=ticket) if each.ticket]
    assert_line_is_sound(job_id)


def ticket(application: Application) -> int:
    return application.ticket or 0


def test_without_turns_each_has_a_transaction_of_their_own(
    batches: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(type(applying._turns), "take_turn", take_alone)
    job_id = factories.job(capacity=2)

    together([wish(job_id) for _ in range(9)])

    assert batches == [1] * 9


def test_the_same_person_twice_in_a_batch_applies_once(batches: list[int]) -> None:
    job_id, person = factories.job(), factories.applicant()
    wishes = [wish(job_id), wish(job_id, person=person), wish(job_id, person=person)]

    answers = at_once(job_id, wishes)

    assert batches == [1, 2]
    assert kinds(answers) == ["AlreadyApplied", "Application", "Application"]
    assert_line_is_sound(job_id)


def test_a_request_tried_again_finds_what_it_made_in_a_batch(batches: list[int]) -> None:
    job_id, person, made_id = factories.job(), factories.applicant(), uuid4()
    first = wish(job_id, person=person, application_id=made_id)
    at_once(job_id, [wish(job_id), first, wish(job_id)])

    again = at_once(job_id, [wish(job_id), first, wish(job_id)])

    assert Application.objects.filter(id=made_id).count() == 1
    assert made_id in [each.id for each in again]
    assert batches == [1, 2, 1, 2]


def test_two_people_with_one_application_id_are_never_answered_with_one_row(
    batches: list[int],
) -> None:
    job_id, ann, bob, made_id = (
        factories.job(),
        factories.applicant(),
        factories.applicant(),
        uuid4(),
    )
    wishes = [wish(job_id, person=each, application_id=made_id) for each in (ann, bob)]

    answers = at_once(job_id, [wish(job_id), *wishes])

    assert batches == [1, 2, 1, 1]
    assert kinds(answers) == ["Application", "Application", "ValueError"]
    served = next(each for each in answers if getattr(each, "id", None) == made_id)
    assert Application.objects.get(id=made_id).applicant_id == served.applicant_id
    assert_line_is_sound(job_id)


def test_a_name_that_cannot_be_stored_hurts_only_its_owner(batches: list[int]) -> None:
    job_id = factories.job()
    wishes = [wish(job_id), wish(job_id), wish(job_id, name="\x00"), wish(job_id)]

    answers = at_once(job_id, wishes)

    assert batches == [1, 3, 1, 1, 1]  # the batch was rolled back, and each was tried alone
    assert [answer for answer in answers if isinstance(answer, Exception)] != []
    assert kinds(answers)[:3] == ["Application"] * 3
    assert isinstance(next(a for a in answers if isinstance(a, Exception)), DataError | ValueError)
    assert_line_is_sound(job_id)


def test_every_event_of_a_batch_is_announced_once_after_its_commit() -> None:
    heard: list[tuple[int, bool]] = []

    def hear(entries: list[Any], **_: Any) -> None:
        heard.extend((e.seq, Event.objects.filter(hash=e.hash).exists()) for e in entries)

    job_id = factories.job(capacity=3)
    committed.connect(hear)
    try:
        at_once(job_id, [wish(job_id) for _ in range(6)])
    finally:
        committed.disconnect(hear)

    assert sorted(heard) == [(seq, True) for seq in range(3, 9)]


def test_a_job_that_stays_locked_is_busy_for_all_who_wait(batches: list[int]) -> None:
    job_id = factories.job()

    answers = at_once(job_id, [wish(job_id) for _ in range(4)], until_answered=True)

    assert {type(answer) for answer in answers} == {OperationalError}
    led = [a for a in answers if isinstance(a.__cause__, psycopg.errors.LockNotAvailable)]
    assert led
    assert Application.objects.count() == 0


def test_a_connection_lost_in_the_middle_of_a_batch_leaves_nothing_of_it(
    batches: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    job_id, write, cut = factories.job(), applying.write, []

    def cut_off(job: Any, **how: Any) -> None:
        if len(job.created) > 1 and not cut:
            cut.append(end_session(connection.connection.info.backend_pid))
        write(job, **how)

    monkeypatch.setattr(applying, "write", cut_off)
    answers = at_once(job_id, [wish(job_id) for _ in range(4)])

    assert kinds(answers) == ["Application"] + ["OperationalError"] * 3
    assert batches == [1, 3]
    assert Application.objects.count() == 1
    assert_line_is_sound(job_id)


def end_session(pid: int) -> bool:
    chosen = connection.get_connection_params()
    where = {name: chosen[name] for name in ("dbname", "user", "host", "port") if name in chosen}
    with psycopg.connect(**where, autocommit=True) as other:
        return bool(other.execute("SELECT pg_terminate_backend(%s, 2000)", [pid]))


def test_a_refusal_in_a_batch_is_its_owners_alone() -> None:
    job_id, here = factories.job(capacity=5), factories.applicant()
    factories.application(job_id, here)

    answers = at_once(job_id, [wish(job_id), wish(job_id, person=here), wish(job_id)])

    assert [type(answer) for answer in answers].count(AlreadyApplied) == 1
    assert factories.statuses(*[a for a in answers if isinstance(a, Application)]) == ["ACTIVE"] * 2
