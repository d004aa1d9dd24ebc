"""Reminders that the mail server does not take now, and what they must not hold up."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest

from pipeline.models import Application, Email
from tasks.enqueue import NewTask, enqueue_many
from tasks.models import Task, TaskType
from tasks.worker import task_store
from tests.notifications.test_offers import DAY, notify, offered, pass_time
from tests.support import factories
from tests.support.applicants import confirm
from tests.support.smtp import Mailbox, free_port, mail_server, point_to
from tests.support.task_runs import make_retries_due, run_due_tasks
from tests.tasks.claims import claimer

__all__ = ["claimer", "notify"]
pytestmark = pytest.mark.django_db(transaction=True)


def retried(kind: str, hours: float, settings: Any) -> Application:
    """Someone who was sent the offer, and whose reminder the mail server does not take now."""
    waiting = offered()
    run_due_tasks()
    pass_time(waiting, hours * 3_600)
    point_to(settings, free_port())
    assert "PENDING" in run_due_tasks("email.offer")
    assert reminder_states(waiting)[kind] == ("QUEUED", "")
    return waiting


def reminder_states(waiting: Application) -> dict[str, tuple[str, str]]:
    rows = Email.objects.filter(application_id=waiting.id, kind__startswith="REMINDER")
    return {row.kind: (row.state, row.problem) for row in rows}


def test_a_reminder_that_waits_is_closed_when_the_offer_is_answered(settings: Any) -> None:
    waiting = retried("REMINDER_HALF", 12, settings)
    confirm(waiting)
    make_retries_due()

    run_due_tasks("email.offer")

    assert reminder_states(waiting) == {"REMINDER_HALF": ("FAILED", "OVER")}


def test_a_reminder_that_waits_gives_way_to_the_next(settings: Any) -> None:
    waiting = retried("REMINDER_HALF", 12, settings)
    pass_time(waiting, 11 * 3_600)
    make_retries_due()

    run_due_tasks("email.offer")

    assert reminder_states(waiting) == {
        "REMINDER_HALF": ("FAILED", "OVER"),
        "REMINDER_HOUR": ("QUEUED", ""),
    }


def test_a_reminder_is_closed_after_its_last_attempt(settings: Any) -> None:
    waiting = retried("REMINDER_HALF", 12, settings)
    Task.objects.filter(type__key="email.offer").update(max_attempts=2)
    make_retries_due()

    assert run_due_tasks("email.offer") == ["DEAD"]

    assert reminder_states(waiting) == {"REMINDER_HALF": ("FAILED", "UNREACHABLE")}


def test_who_never_got_the_offer_is_not_reminded(settings: Any) -> None:
    waiting = offered()
    mailbox = Mailbox()
    mailbox.rcpt_answers = ["550 no such user"]
    with mail_server(settings, mailbox):
        run_due_tasks()
        pass_time(waiting, DAY / 2)
        run_due_tasks()

    assert reminder_states(waiting) == {}


@pytest.mark.parametrize(
    ("key", "how", "opens"),
    [
        ("email.offer", "retry", False),
        ("email.event", "retry", False),
        ("email.private", "retry", False),
        ("email.event", "error", True),
        ("email.guard", "retry", True),
    ],
)
def test_a_mail_server_that_is_away_opens_no_breaker(
    claimer: Any, key: str, how: str, opens: bool
) -> None:
    worker = claimer()
    payload: dict[str, Any] = {"application": str(uuid4()), "seq": 1}
    enqueue_many(
        [NewTask(key, {"email": str(uuid4())} if key == "email.private" else payload)] * 25
    )
    types = TaskType.objects.filter(key=key)

    worker.fail(*worker.claim(25), how=how)

    given = {"types": list(types.values_list("id", flat=True))}
    assert bool(worker.connection.rows(task_store.OPEN_BREAKERS, given)) is opens


def test_the_guard_never_waits_for_the_mail_server(settings: Any) -> None:
    waiting = retried("REMINDER_HALF", 12, settings)
    Email.objects.filter(application_id=waiting.id, kind="PROMOTED").delete()
    pass_time(waiting, DAY / 2 - 50)

    assert run_due_tasks("email.guard") == ["SUCCEEDED"]

    assert factories.fresh(waiting).deadline_extended
