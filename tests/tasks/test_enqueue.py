"""Enqueueing: in the caller's transaction, once for a key, and refused with a reason."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from typing import Any
from uuid import uuid4

import pytest
from django.db import connection, transaction

from tasks import errors
from tasks.enqueue import NewTask, enqueue, enqueue_many, enqueue_parameter
from tasks.models import Task, TaskEvent, TaskType
from tasks.payloads import check_payload
from tasks.registry import find_registered_type
from tasks.sql.enqueue import ENQUEUE_PARTS
from tests.support.together import together
from tests.tasks.seen import task

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


def test_tasks_of_different_kinds_go_together() -> None:
    """Types, options, keys and payloads checked before, in any order, with new types among them."""
    enqueue("test.noop", idempotency_key="known")
    TaskType.objects.exclude(key="test.noop").delete()
    at, owner = datetime(2030, 1, 2, 3, 4, tzinfo=UTC), uuid4()
    checked = check_payload(find_registered_type("demo.sleep"), {"seconds": 1})

    made = enqueue_many(
        [
            NewTask("test.noop", {"n": 0}),
            NewTask("test.hog", {"n": 1}, priority=3, queue="side", max_attempts=9),
            NewTask("test.noop", {"n": 2}, idempotency_key="known"),
            NewTask("demo.sleep", checked, run_after=at, owner_id=owner, idempotency_key="new"),
            NewTask("test.noop", {"n": 4}, request_id="r", producer="p", run_after=at),
            NewTask("test.hog", {"n": 5}, priority=3, queue="side", max_attempts=9),
        ]
    )

    rows = [task(each.id) for each in made]
    assert [each.is_new for each in made] == [True, True, False, True, True, True]
    assert [row.type.key for row in rows] == [
        *["test.noop", "test.hog", "test.noop", "demo.sleep", "test.noop", "test.hog"]
    ]
    assert [row.payload for row in rows] == [
        *[{"n": 0}, {"n": 1}, {}, {"seconds": 1}, {"n": 4}, {"n": 5}]
    ]
    assert [(row.priority, row.queue, row.max_attempts) for row in rows[1::4]] == [
        (3, "side", 9)
    ] * 2
    assert (rows[3].run_after, rows[3].owner_id, rows[3].idempotency_key) == (at, owner, "new")
    assert (rows[4].request_id, rows[4].producer, rows[4].run_after) == ("r", "p", at)
    assert TaskEvent.objects.filter(kind="enqueued").count() == 6


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


@pytest.mark.slow
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
