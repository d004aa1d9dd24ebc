"""Emails around a draw by lot: the draw is announced, and then each person learns the place."""

from __future__ import annotations

from typing import Any

import pytest
from django.core import mail

from tests.support import factories
from tests.support.lottery import draw, lottery
from tests.support.task_runs import run_due_tasks

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def notify(settings: Any) -> None:
    """Events are told by mail."""
    settings.NOTIFY = True


def sent() -> list[Any]:
    run_due_tasks()
    found = list(mail.outbox)
    mail.outbox.clear()
    return found


def test_people_read_when_the_draw_is_and_afterwards_their_place_or_the_offer() -> None:
    job_id = lottery()
    people = factories.applications(job_id, 3)
    factories.application(job_id, verified=False)

    before = sent()
    draw(job_id)
    after = sent()

    assert len(before) == 3
    assert all("The order of the line is drawn by lot at" in each.body for each in before)
    assert not any("Your place in line now" in each.body for each in before)
    subjects = sorted(str(each.subject) for each in after)
    assert [each for each in subjects if "has been drawn" in each] == [
        "Your place in line for “Engineer” has been drawn"
    ] * 2
    assert len(subjects) == 3  # one is offered the seat, and gets that email only
    places = sorted(
        each.body.split("Your place in line now: ")[1][0]
        for each in after
        if "has been drawn" in each.subject
    )
    assert places == ["1", "2"]
    assert len(people) == 3
