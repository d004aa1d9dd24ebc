"""A reasoned exception: one person goes to the front, and nothing else changes."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from pipeline.audit.receipts import issue_receipt
from pipeline.domain.errors import IllegalMove, NotMovable
from pipeline.domain.states import ExceptionReason
from pipeline.models import Application, LineException
from pipeline.services.exceptions import move_ahead
from pipeline.services.jobs import close_job, pause_job
from pipeline.services.leaving import withdraw
from pipeline.services.turns import acknowledge, defer, pass_offer
from tests.support import factories
from tests.support.clock import database_now, let_time_pass
from tests.support.invariants import assert_line_is_sound
from tests.support.lottery import draw, lottery
from tests.support.receipts import Folder, whole_log

pytestmark = pytest.mark.django_db(transaction=True)


def ahead(application: Application, **more: Any) -> Application:
    how = {"reason": ExceptionReason.LEGAL_DUTY, "actor": factories.RECRUITER} | more
    return move_ahead(application_id=application.id, **how)


def a_line(waiting: int, **policy: Any) -> list[Application]:
    """One in the only seat, and so many behind."""
    return factories.applications(factories.job(**policy), 1 + waiting)


def test_the_person_is_first_and_gets_the_next_seat_by_the_ordinary_rule() -> None:
    seated, first, second, third = a_line(3)

    ahead(third)

    assert factories.line(third.job_id) == [third.id, first.id, second.id]
    assert factories.fresh(third).status == "WAITLIST"
    assert_line_is_sound(third.job_id)
    withdraw(application_id=seated.id, actor=factories.owner_of(seated))
    assert factories.status_of(third) == "PENDING_ACKNOWLEDGMENT"
    assert_line_is_sound(third.job_id)


def test_the_log_says_whom_it_passed_and_why_and_holds_no_text() -> None:
    _seated, first, _second, third = a_line(3)
    factories.application(third.job_id, verified=False)

    ahead(third, text="The court of Ana Li decided so.")

    event = factories.events(third.job_id)[-1]
    assert (event.event, event.from_status, event.to_status) == ("MOVED_AHEAD", *["WAITLIST"] * 2)
    assert event.actor_id == factories.RECRUITER.id
    said = {name: event.data[name] for name in ("exception", "people_passed")}
    assert said == {"exception": "LEGAL_DUTY", "people_passed": 2}
    assert (event.data["from_ticket"], event.data["from_tie"]) == (third.ticket, third.tie)
    assert (event.data["ticket"], event.data["tie"]) == ((first.ticket or 0) - 1, event.seq)
    assert "Ana" not in str(event.data)
    kept = LineException.objects.get()
    assert (kept.seq, kept.text) == (event.seq, "The court of Ana Li decided so.")
    assert factories.row_of(third.job_id).exception_count == 1


def test_one_after_the_other_each_is_first_even_below_the_first_ticket() -> None:
    _seated, *people = a_line(4)

    for person in (people[3], people[2], people[3]):
        ahead(person)
        assert factories.line(person.job_id)[0] == person.id
        assert_line_is_sound(person.job_id)

    assert [factories.fresh(each).ticket for each in people] == [1, 2, -1, -2]
    factories.application(people[0].job_id)
    assert_line_is_sound(people[0].job_id)


def test_no_newcomer_overtakes_them_where_all_others_have_missed_offers(
    tmp_path: Path,
) -> None:
    job_id = factories.job(capacity=2, acknowledge_first_seat=True, penalty_places=2, max_decays=2)
    first, second, third = factories.applications(job_id, 3)
    let_time_pass(job_id, factories.row_of(job_id).policy.acknowledgment_window_seconds + 1)
    factories.settle_all()
    assert factories.line(job_id) == [first.id, second.id]
    next_ticket = factories.row_of(job_id).next_ticket
    assert (factories.fresh(first).ticket or 0) > next_ticket  # newcomers may overtake these

    receipt = issue_receipt(second.id)
    ahead(second)
    factories.application(job_id)  # takes the seat that is free
    newcomer = factories.application(job_id)

    assert factories.statuses(third, newcomer) == ["PENDING_ACKNOWLEDGMENT", "WAITLIST"]
    assert factories.line(job_id) == [second.id, newcomer.id, first.id]
    assert_line_is_sound(job_id)
    code, said = Folder(tmp_path).verify(receipt, issue_receipt(second.id), log=whole_log(job_id))
    assert code == 0, said


def test_the_unverified_are_passed_and_not_counted() -> None:
    job_id = factories.job()
    factories.application(job_id)
    unverified = factories.application(job_id, verified=False)
    first, second = factories.applications(job_id, 2)

    with pytest.raises(NotMovable):  # nobody who is offered seats is ahead
        ahead(first)
    ahead(second)

    assert factories.events(job_id)[-1].data["people_passed"] == 1
    assert factories.line(job_id) == [second.id, unverified.id, first.id]
    assert_line_is_sound(job_id)


def test_a_deferral_and_a_cooldown_stay() -> None:
    seated, first, second = a_line(2)
    later = database_now() + timedelta(days=3)
    defer(application_id=second.id, not_before=later, actor=factories.owner_of(second))

    ahead(second)
    withdraw(application_id=seated.id, actor=factories.owner_of(seated))

    assert factories.fresh(second).not_before == later
    assert factories.statuses(first, second) == ["PENDING_ACKNOWLEDGMENT", "WAITLIST"]
    assert_line_is_sound(first.job_id)


def test_the_front_is_kept_by_a_pass_and_lost_by_a_miss() -> None:
    seated, first, second, third = a_line(3, max_passes=1)
    ahead(third)
    withdraw(application_id=seated.id, actor=factories.owner_of(seated))

    pass_offer(application_id=third.id, actor=factories.owner_of(third))
    assert factories.line(third.job_id) == [third.id, second.id]
    withdraw(application_id=first.id, actor=factories.owner_of(first))
    acknowledge(application_id=second.id, actor=factories.owner_of(second))
    let_time_pass(third.job_id, factories.COOLDOWN + 1)
    withdraw(application_id=second.id, actor=factories.owner_of(second))
    newcomer = factories.application(third.job_id)
    let_time_pass(third.job_id, factories.WINDOW)
    factories.settle_all()

    assert factories.status_of(newcomer) == "PENDING_ACKNOWLEDGMENT"
    assert factories.line(third.job_id) == [third.id]
    assert (factories.fresh(third).ticket or 0) > 0
    assert_line_is_sound(third.job_id)


def test_only_people_in_line_are_moved_and_only_before_others() -> None:
    seated, first, second = a_line(2)
    unverified = factories.application(first.job_id, verified=False)

    for person in (seated, unverified):
        with pytest.raises(IllegalMove):
            ahead(person)
    with pytest.raises(NotMovable, match="first in line already"):
        ahead(first)
    pause_job(job_id=first.job_id, actor=factories.RECRUITER)
    ahead(second)
    close_job(job_id=first.job_id, actor=factories.RECRUITER)
    with pytest.raises(IllegalMove):
        ahead(first)
    assert factories.event_names(first.job_id).count("MOVED_AHEAD") == 1


def test_before_a_draw_nobody_has_a_place_to_leave() -> None:
    job_id = lottery()
    people = factories.applications(job_id, 3)

    with pytest.raises(NotMovable, match="not been drawn"):
        ahead(people[2])
    draw(job_id)
    last = Application.objects.get(id=factories.line(job_id)[-1])
    ahead(last)

    assert factories.line(job_id)[0] == last.id
    assert_line_is_sound(job_id)


def test_a_repeated_request_is_one_exception() -> None:
    _seated, _first, second = a_line(2)
    request_id = uuid4()

    for _ in range(2):
        ahead(second, request_id=request_id)

    assert LineException.objects.count() == 1


def test_a_job_has_a_limited_number_of_exceptions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pipeline.line.admission.MOST_EXCEPTIONS", 2)
    _seated, first, second = a_line(2)

    ahead(second)
    ahead(first)
    with pytest.raises(NotMovable, match="2 exceptions, which is the limit"):
        ahead(second)
