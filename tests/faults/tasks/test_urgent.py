"""The slot that each worker keeps: urgent tasks run at once while long ones hold all others."""

from __future__ import annotations

import pytest

from tasks.enqueue import enqueue
from tasks.models import Task
from tests.support.task_workers import StartWorker
from tests.support.waiting import eventually
from tests.tasks.seen import add, marks, status

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("marks")]

LONG_SECONDS = 3_600  # of a task that nobody waits for; it is killed with its worker


def fill_slots(count: int) -> None:
    """Let a worker of this many slots be busy for as long as the test takes."""
    for n in range(count):
        add("test.slow", name=f"slow {n}", seconds=LONG_SECONDS)
    eventually(lambda: all(marks(f"slow {n}:start") for n in range(count)))


def test_urgent_tasks_do_not_wait_for_long_ones_and_others_do(start_worker: StartWorker) -> None:
    start_worker("--slots", "2")
    fill_slots(2)

    usual = add("test.mark", name="usual")
    for n in range(5):
        add("test.urgent", name=f"urgent {n}")
        eventually(lambda n=n: marks(f"urgent {n}"))  # type: ignore[misc]

    assert status(usual) == "PENDING"  # the control: it is not urgent


def test_many_urgent_tasks_go_one_after_another(start_worker: StartWorker) -> None:
    start_worker("--slots", "1")
    fill_slots(1)

    for _ in range(50):
        add("test.urgent", name="many")

    eventually(lambda: marks("many") == 50)


def test_a_last_attempt_begins_in_the_kept_slot_only_if_it_is_urgent(
    start_worker: StartWorker,
) -> None:
    start_worker("--slots", "1")
    fill_slots(1)

    usual = enqueue("test.mark", {"name": "usual"}, max_attempts=1, priority=50).id
    enqueue("test.urgent", {"name": "urgent"}, max_attempts=1)

    eventually(lambda: marks("urgent"))
    assert (status(usual), Task.objects.get(id=usual).attempt) == ("PENDING", 0)


def test_once_a_slot_is_free_everything_runs_again(start_worker: StartWorker) -> None:
    start_worker("--slots", "1")
    add("test.slow", name="short", seconds=2)
    eventually(lambda: marks("short:start"))

    add("test.mark", name="usual")
    add("test.urgent", name="urgent")

    eventually(lambda: marks("urgent"))
    eventually(lambda: marks("usual"))
    assert marks("short:end") == 1
