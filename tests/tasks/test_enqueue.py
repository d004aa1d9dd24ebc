"""Enqueueing: in the caller's transaction, once for a key, and refused with a reason."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from functools import partial
from typing import Any
from uuid import uuid4

import pytest
from django.db import connection, transaction

from tasks import errors
from tasks.enqueue import NewTask, enqueue, enqueue_many, enqueue_parameter
from tasks.models import Task, TaskEvent
from tasks.sql.enqueue import ENQUEUE_PARTS
from tests.support.together import together
from tests.tasks.seen import task

MOST_CALLS_FOR_A_TASK = 60  # 52 are needed; a queryset for each task made it 521

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_task_is_enqueued_with_the_transaction_or_not_at_all() -> None:
    with transaction.atomic():
        enqueue("test.mark", {"name": "no"})
        transaction.set_rollback(True)

    assert not Task.objects.exists()
    assert not TaskEvent.objects.exists()


def test_a_task_takes_what_it_is_not_given_from_its_type() -> None:
    made = task(enqueue("test.hog").id)

    assert (made.max_attempts, made.queue, made.priority, made.attempt) == (2, "default", 0, 0)
    assert made.status == "PENDING"
    assert made.run_after == made.created_at


def test_a_batch_is_one_statement_and_keeps_its_order(
    django_assert_max_num_queries: Callable[..., Any],
) -> None:
    enqueue("test.noop")

    with django_assert_max_num_queries(2):  # and one to wake a worker
        made = enqueue_many([NewTask("test.noop", {"n": n}) for n in range(100)])

    assert [task(each.id).payload["n"] for each in made] == list(range(100))


def test_a_task_of_a_batch_costs_few_calls_on_any_machine() -> None:
    """Calls are counted, not time: the count is the same on a slow and on a busy machine."""
    tasks = [NewTask("test.noop", {"n": n}) for n in range(200)]
    enqueue_many(tasks)

    few = calls_of(lambda: enqueue_many(tasks[:100]))
    many = calls_of(lambda: enqueue_many(tasks))
    with_lookups = calls_of(lambda: [_first_of_key(task) for task in tasks[:100]])

    assert (many - few) / 100 < MOST_CALLS_FOR_A_TASK
    assert with_lookups / 100 > MOST_CALLS_FOR_A_TASK  # what the bound must notice


def _first_of_key(task: NewTask) -> object:
    return Task.objects.values_list("id", flat=True).filter(
        type_id=1, owner_id=task.owner_id, idempotency_key=task.idempotency_key
    )


def calls_of(work: Callable[[], object]) -> int:
    """Return how many Python and C functions `work` calls."""
    calls = 0

    def count(frame: object, event: str, argument: object) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(None)
    return calls


def test_a_known_key_gives_back_the_first_task() -> None:
    first = enqueue("test.noop", {"n": 1}, idempotency_key="k")
    second = enqueue("test.noop", {"n": 2}, idempotency_key="k")
    Task.objects.update(status="SUCCEEDED")
    third = enqueue("test.noop", idempotency_key="k")

    assert first.is_new
    assert (second.id, second.is_new) == (third.id, third.is_new) == (first.id, False)
    assert TaskEvent.objects.filter(kind="enqueued").count() == 1


def test_a_key_is_of_one_type_and_one_owner() -> None:
    ids = {
        enqueue("test.noop", idempotency_key="k").id,
        enqueue("test.hog", idempotency_key="k").id,
        enqueue("test.noop", idempotency_key="k", owner_id=uuid4()).id,
        enqueue("test.noop", idempotency_key="k", owner_id=uuid4()).id,
    }

    assert len(ids) == 4


def test_the_same_key_twice_in_a_batch_is_one_task() -> None:
    made = enqueue_many([NewTask("test.noop", idempotency_key="k")] * 2)

    assert made[0].id == made[1].id
    assert [each.is_new for each in made] == [True, False]


def test_batches_with_the_same_keys_in_another_order_do_not_block_each_other() -> None:
    for n in range(4):
        batch = [NewTask("test.noop", idempotency_key=f"{n}.{k}") for k in range(100)]

        answers = together([partial(enqueue_many, some) for some in (batch, batch[::-1]) * 2])

        assert [type(each) for each in answers] == [list] * 4, answers
    assert Task.objects.count() == 400


def test_of_ten_at_once_with_the_same_key_one_wins() -> None:
    enqueue("test.noop")
    made = []

    def attempt() -> None:
        made.append(enqueue("test.noop", idempotency_key="race"))
        connection.close()

    threads = [threading.Thread(target=attempt) for _ in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len({each.id for each in made}) == 1
    assert sum(each.is_new for each in made) == 1


@pytest.mark.parametrize(
    ("key", "payload", "options", "refusal"),
    [
        ("no.such", {}, {}, errors.UnknownType),
        ("test.noop", {}, {"version": 9}, errors.UnknownType),
        ("test.noop", [], {}, errors.InvalidPayload),
        ("test.noop", {"x": float("nan")}, {}, errors.InvalidPayload),
        ("test.noop", {"x": "a\0b"}, {}, errors.InvalidPayload),
        ("test.noop", {"x": "\ud800"}, {}, errors.InvalidPayload),
        ("test.noop", {"x": object()}, {}, errors.InvalidPayload),
        ("test.noop", {"x": "a" * 65_536}, {}, errors.PayloadTooLarge),
        ("test.noop", {}, {"priority": 101}, errors.OutOfRange),
        ("test.noop", {}, {"priority": -101}, errors.OutOfRange),
        ("test.noop", {}, {"max_attempts": 21}, errors.OutOfRange),
        ("test.noop", {}, {"max_attempts": 0}, errors.OutOfRange),
        ("test.noop", {}, {"delay_seconds": -1}, errors.OutOfRange),
        ("test.noop", {}, {"idempotency_key": ""}, errors.OutOfRange),
        ("demo.sleep", {"seconds": -1}, {}, errors.InvalidPayload),
        ("demo.sleep", {"minutes": 1}, {}, errors.InvalidPayload),
    ],
)
def test_what_cannot_be_done_is_refused(
    key: str, payload: Any, options: dict[str, Any], refusal: type[Exception]
) -> None:
    with pytest.raises(refusal):
        enqueue(key, payload, **options)

    assert not Task.objects.exists()


def test_a_refusal_says_what_is_wrong_where_but_no_secret() -> None:
    with pytest.raises(errors.InvalidPayload) as caught:
        enqueue("test.secret", {"token": "hunter2-hunter2", "count": "hunter2-hunter2"})

    assert [where for where, _ in caught.value.problems] == ["count"]
    assert "hunter2" not in str(caught.value)


def test_a_writing_statement_can_insert_a_task_along() -> None:
    enqueue("test.noop")
    rows, [name] = enqueue_parameter([NewTask("test.noop", {"with": "it"}, priority=7)])

    with connection.cursor() as cursor:
        cursor.execute(
            f"WITH {ENQUEUE_PARTS} SELECT %(own)s::int, (SELECT count(*) FROM tasks_made)",
            {"tasks": rows, "own": 5},
        )
        assert cursor.fetchone() == (5, 1)

    assert (task(name).payload, task(name).priority) == ({"with": "it"}, 7)
