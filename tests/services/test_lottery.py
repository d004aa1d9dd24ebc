"""The draw by lot: nobody has a seat before it, it happens once, and then the line moves on."""

from __future__ import annotations

from datetime import timedelta
from hashlib import sha256
from typing import Any

import pytest

from pipeline.audit.verify import verify_job
from pipeline.domain.errors import (
    AlreadyApplied,
    DrawFull,
    DrawFullOfUnverified,
    DrawRefused,
    IllegalJobMove,
)
from pipeline.domain.states import ReinstatementReason
from pipeline.models import Application, Event
from pipeline.selectors.applications import read_application
from pipeline.services.jobs import JobChanges, close_job, open_job, pause_job, update_job
from pipeline.services.joining import verify
from pipeline.services.leaving import reinstate, withdraw
from pipeline.services.turns import defer
from tests.support import factories
from tests.support.applicants import confirm, leave
from tests.support.clock import database_now, let_time_pass
from tests.support.invariants import assert_line_is_sound
from tests.support.lottery import draw, lottery, order_by_hand
from tests.support.planned_seats import planned
from tests.support.sandboxes import DAY, HOUR, advance, sandbox

pytestmark = pytest.mark.django_db(transaction=True)


def in_line(job_id: Any) -> list[Any]:
    waiting = Application.objects.filter(job_id=job_id, status="WAITLIST")
    return list(waiting.order_by("ticket", "tie").values_list("id", flat=True))


def test_before_the_draw_nobody_has_a_seat_or_a_position() -> None:
    job_id = lottery(capacity=2)

    people = factories.applications(job_id, 3)
    factories.alter(job_id, capacity=3)
    planned(job_id, 1, seconds=60)
    let_time_pass(job_id, 61)
    factories.settle_all()

    assert factories.statuses(*people) == ["WAITLIST"] * 3
    assert [each.standing.position for each in people if each.standing] == [None] * 3
    assert {read_application(each.id).position for each in people} == {None}
    assert_line_is_sound(job_id)


def test_the_draw_gives_everybody_a_place_that_can_be_computed_by_hand() -> None:
    job_id = lottery(capacity=2)
    people = factories.applications(job_id, 12)
    before = factories.events(job_id)[-1]

    drawn = draw(job_id)

    rows = [each for each in factories.events(job_id) if each.event == "PLACED"]
    order = order_by_hand(job_id, drawn.data["seed"], people)
    assert [row.application_id for row in rows] == order
    assert [each.id for each in people] != order
    assert drawn.seq == before.seq + 1
    moment = drawn.at.strftime("%Y-%m-%dT%H:%M:%S.%fZ").encode()
    assert drawn.data["seed"] == sha256(bytes(drawn.prev_hash) + moment).hexdigest()
    assert (drawn.data["drawn"], drawn.data["algorithm"]) == (12, "sha256(seed || opaque_id)")
    assert {row.cause_seq for row in rows} == {drawn.seq}
    offered = [each for each in factories.events(job_id) if each.event == "PROMOTED"]
    assert [each.application_id for each in offered] == order[:2]
    assert {each.cause_seq for each in offered} == {drawn.seq}
    assert in_line(job_id) == order[2:]
    assert [read_application(each).position for each in order[2:]] == list(range(1, 11))
    assert_line_is_sound(job_id)
    assert verify_job(job_id).is_sound


def test_the_draw_happens_once_at_its_time_however_late_the_worker_is() -> None:
    job_id = lottery()
    people = factories.applications(job_id, 3)
    let_time_pass(job_id, 5 * 86_400)

    newcomer = factories.application(job_id)  # no worker has come by
    factories.settle_all()

    [drawn] = [each for each in factories.events(job_id) if each.event == "DRAWN"]
    assert drawn.data["drawn"] == 3
    assert drawn.effective_at == factories.row_of(job_id).draw_at
    assert drawn.at > drawn.effective_at + timedelta(days=4)
    assert in_line(job_id)[-1] == newcomer.id  # first come, first served behind the drawn
    assert set(in_line(job_id)) < {each.id for each in (*people, newcomer)}
    assert_line_is_sound(job_id)


def test_who_has_withdrawn_or_was_never_verified_takes_no_part() -> None:
    job_id = lottery(seconds=90_000)
    stays, leaves = factories.applications(job_id, 2)
    forgets = factories.application(job_id, verified=False)
    withdraw(application_id=leaves.id, actor=factories.owner_of(leaves))
    let_time_pass(job_id, 86_401)
    factories.settle_all()
    late = factories.application(job_id, verified=False)

    let_time_pass(job_id, 3_600)
    factories.settle_all()

    assert factories.statuses(stays, leaves, forgets, late) == [
        "PENDING_ACKNOWLEDGMENT",
        "WITHDRAWN",
        "LAPSED",
        "WAITLIST",
    ]
    assert Event.objects.get(job_id=job_id, event="DRAWN").data["drawn"] == 2
    placed = factories.fresh(late).ticket
    verify(application_id=late.id, actor=factories.owner_of(late))
    assert factories.fresh(late).ticket == placed
    assert_line_is_sound(job_id)


def test_a_paused_job_draws_and_offers_seats_when_it_resumes() -> None:
    job_id = lottery()
    people = factories.applications(job_id, 2)
    pause_job(job_id=job_id, actor=factories.RECRUITER)

    draw(job_id)
    assert factories.statuses(*people) == ["WAITLIST"] * 2
    open_job(job_id=job_id, actor=factories.RECRUITER)

    assert sorted(factories.statuses(*people)) == ["PENDING_ACKNOWLEDGMENT", "WAITLIST"]
    assert verify_job(job_id).is_sound


def test_an_empty_draw_lets_the_next_person_have_the_seat_at_once() -> None:
    job_id = lottery()

    drawn = draw(job_id)

    assert drawn.data["drawn"] == 0
    assert factories.statuses(factories.application(job_id)) == ["ACTIVE"]
    assert verify_job(job_id).is_sound


def test_a_closed_job_draws_nothing() -> None:
    job_id = lottery()
    factories.applications(job_id, 2)
    close_job(job_id=job_id, actor=factories.RECRUITER)

    let_time_pass(job_id, 601)
    factories.settle_all()

    assert "DRAWN" not in factories.event_names(job_id)
    assert verify_job(job_id).is_sound


def test_unverified_people_cannot_fill_a_draw(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pipeline.domain.draw.MOST_IN_DRAW", 4)
    monkeypatch.setattr("pipeline.domain.draw.MOST_UNVERIFIED_IN_DRAW", 2)
    job_id = lottery()
    unproved, _ = factories.applications(job_id, 2, verified=False)

    with pytest.raises(DrawFullOfUnverified, match="Sign in with your address first"):
        factories.application(job_id, verified=False)
    with pytest.raises(DrawFullOfUnverified):  # nobody learns who has applied
        factories.application(job_id, unproved.applicant, verified=False)
    factories.application(job_id)
    verify(application_id=unproved.id, actor=factories.owner_of(unproved))
    factories.application(job_id, verified=False)
    with pytest.raises(DrawFull, match="4 people already take part"):
        factories.application(job_id, verified=False)
    draw(job_id)
    factories.applications(job_id, 3, verified=False)


@pytest.mark.parametrize("seconds", [-1, 91 * DAY])
def test_a_draw_is_announced_ahead_and_not_too_far(seconds: int) -> None:
    with pytest.raises(DrawRefused):
        lottery(seconds=seconds)


def test_a_full_draw_takes_nobody_more_until_somebody_leaves_or_it_is_drawn(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("pipeline.domain.draw.MOST_IN_DRAW", 3)
    job_id = lottery()
    first, second = factories.applications(job_id, 2)
    unproved = factories.application(job_id, verified=False)

    with pytest.raises(DrawFull):
        factories.application(job_id)
    with pytest.raises(AlreadyApplied):
        factories.application(job_id, first.applicant)
    for known in (first.applicant, factories.applicant()):  # nobody learns who has applied
        with pytest.raises(DrawFull):
            factories.application(job_id, known, verified=False)
    assert factories.application(job_id, unproved.applicant).id == unproved.id
    withdraw(application_id=second.id, actor=factories.owner_of(second))
    factories.application(job_id)
    assert draw(job_id).data["drawn"] == 3
    assert factories.application(job_id).status == "WAITLIST"
    assert_line_is_sound(job_id)


def test_only_a_draft_changes_its_draw_and_it_opens_before_that() -> None:
    draft, later = lottery(open_now=False), database_now() + timedelta(days=2)
    who: Any = {"actor": factories.RECRUITER}
    let_time_pass(draft, 700)
    factories.settle_all()

    with pytest.raises(DrawRefused):
        open_job(job_id=draft, **who)
    update_job(job_id=draft, changes=JobChanges(draw_at=later), **who)
    open_job(job_id=draft, **who)

    with pytest.raises(IllegalJobMove):
        update_job(job_id=draft, changes=JobChanges(draw_at=later + timedelta(days=1)), **who)
    with pytest.raises(IllegalJobMove):
        update_job(job_id=factories.job(), changes=JobChanges(draw_at=later), **who)
    assert factories.row_of(draft).draw_at == later
    assert_line_is_sound(draft)


def test_a_sandbox_draws_at_the_instant_and_moves_on() -> None:
    company = sandbox()
    job_id = lottery(company_id=company.id, seconds=3 * DAY, capacity=2, cooldown_seconds=60)
    people = factories.applications(job_id, 5, actor=factories.RECRUITER)

    advance(company, 30 * DAY)

    drawn = Event.objects.get(job_id=job_id, event="DRAWN")
    assert drawn.at == drawn.effective_at == factories.row_of(job_id).draw_at
    assert "DECAYED" in factories.event_names(job_id)
    assert "ACTIVE" not in factories.statuses(*people)
    for each in people[:2]:
        if factories.fresh(each).status != "INACTIVE":
            leave(factories.fresh(each))
    assert_line_is_sound(job_id)


def test_a_line_that_moves_on_after_its_draw_stays_sound() -> None:
    company = sandbox()
    rules: Any = {"cooldown_seconds": 60, "max_decays": 20}
    job_id = lottery(company_id=company.id, seconds=DAY, capacity=2, **rules)
    factories.applications(job_id, 6, actor=factories.RECRUITER)
    planned(job_id, 1, seconds=2 * DAY)
    advance(company, DAY + factories.WINDOW + 10)  # the first offers are missed
    assert_line_is_sound(job_id)
    missed = Event.objects.filter(job_id=job_id, event="DECAYED").values_list("application_id")
    reinstate(
        application_id=missed[0][0],
        reason=ReinstatementReason.MAIL_FAILURE,
        actor=factories.RECRUITER,
    )
    assert_line_is_sound(job_id)
    later = factories.row_of(job_id).last_event_at + timedelta(hours=3)
    for each in Application.objects.filter(id__in=in_line(job_id)[::2]):
        defer(application_id=each.id, not_before=later, actor=factories.owner_of(each))

    for seconds in (60, factories.WINDOW, HOUR):
        factories.application(job_id, actor=factories.RECRUITER)
        advance(company, seconds)
        assert_line_is_sound(job_id)
    for each in Application.objects.filter(job_id=job_id, status="PENDING_ACKNOWLEDGMENT"):
        confirm(each)
    assert_line_is_sound(job_id)
    advance(company, DAY)

    assert_line_is_sound(job_id)
    moves = {"DECAYED", "DEFERRED", "REINSTATED", "CAPACITY_CHANGED", "ACKNOWLEDGED"}
    drawn = Event.objects.get(job_id=job_id, event="DRAWN")
    assert moves <= set(factories.event_names(job_id, after=drawn.seq))
