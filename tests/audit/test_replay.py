"""Replay: the line at any seq or time."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID

import pytest

from pipeline.audit.verify import replay, replay_one_page
from pipeline.domain.errors import FutureMoment, JobNotFound, NoSuchMoment
from pipeline.selectors import past
from pipeline.selectors.past import PastPlace
from pipeline.services.jobs import close_job, pause_job
from pipeline.services.leaving import withdraw
from pipeline.services.turns import acknowledge
from tests.support import factories
from tests.support.clock import database_now, let_time_pass
from tests.support.lottery import draw, lottery

pytestmark = pytest.mark.django_db(transaction=True)


def test_each_event_of_one_transaction_can_be_looked_at_by_itself() -> None:
    job_id = factories.job(capacity=2, acknowledge_first_seat=True)
    first, second, third, fourth = factories.applications(job_id, 4)
    let_time_pass(job_id, factories.WINDOW)
    seq = factories.row_of(job_id).seq
    factories.settle_all()

    waiting = [
        [place.application_id for place in replay(job_id, seq=seq + step).waitlist]
        for step in range(5)
    ]

    assert waiting == [
        [third.id, fourth.id],
        [third.id, fourth.id, first.id],
        [third.id, fourth.id, first.id, second.id],
        [fourth.id, first.id, second.id],
        [first.id, second.id],
    ]


def test_the_whole_log_gives_the_line_as_it_is() -> None:
    job_id = factories.job(capacity=2)
    active, pending, *waiting = factories.applications(job_id, 4)
    withdraw(application_id=pending.id, actor=factories.owner_of(pending))

    line = replay(job_id)

    assert [place.application_id for place in line.active] == [active.id]
    assert [place.application_id for place in line.pending] == [waiting[0].id]
    assert [(p.application_id, p.position) for p in line.waitlist] == [(waiting[1].id, 1)]
    assert line.pending[0].acknowledge_by == factories.fresh(waiting[0]).acknowledge_by
    assert (line.seq, line.status, line.capacity) == (factories.row_of(job_id).seq, "OPEN", 2)


def test_a_time_means_by_when_it_was_recorded() -> None:
    job_id = factories.job(acknowledge_first_seat=True)
    person = factories.application(job_id)
    let_time_pass(job_id, factories.WINDOW + 100)
    factories.settle_all()
    miss = factories.events(job_id)[-1]

    between = replay(job_id, as_of=miss.effective_at + timedelta(seconds=50))
    then = replay(job_id, as_of=miss.at)

    assert [place.application_id for place in between.pending] == [person.id]
    assert [place.application_id for place in then.waitlist] == [person.id]


def test_a_moment_between_two_events_is_the_line_after_the_first() -> None:
    job_id = factories.job()
    factories.application(job_id)
    let_time_pass(job_id, 100)
    factories.application(job_id)
    *_, first, second = factories.events(job_id)

    microsecond = timedelta(microseconds=1)
    moments = [first.at - microsecond, first.at, second.at - microsecond, second.at]

    assert [replay(job_id, as_of=m).seq for m in moments] == [2, 3, 3, 4]


def test_past_policies_capacities_and_states_come_back() -> None:
    job_id = factories.job(capacity=1, penalty_places=1)
    factories.alter(job_id, capacity=5, policy={"penalty_places": 7})
    pause_job(job_id=job_id, actor=factories.RECRUITER)
    close_job(job_id=job_id, actor=factories.RECRUITER)

    lines = [replay(job_id, seq=seq) for seq in range(1, 7)]

    assert [line.status for line in lines] == ["DRAFT", *["OPEN"] * 3, "PAUSED", "CLOSED"]
    assert [line.capacity for line in lines] == [1, 1, 1, 5, 5, 5]
    assert [line.policy.penalty_places for line in lines] == [1, 1, 7, 7, 7, 7]
    assert [line.policy_version for line in lines] == [1, 1, 2, 2, 2, 2]


def test_who_took_a_seat_is_shown_with_when() -> None:
    job_id = factories.job(acknowledge_first_seat=True)
    person = factories.application(job_id)
    let_time_pass(job_id, 100)
    acknowledge(application_id=person.id, actor=factories.owner_of(person))

    [place] = replay(job_id).active

    row = factories.fresh(person)
    assert (place.applied_at, place.promoted_at) == (row.applied_at, row.promoted_at)
    assert (place.acknowledged_at, place.status_since) == (row.acknowledged_at, row.status_since)
    assert place.acknowledge_by is None


def test_before_the_job_there_was_nothing() -> None:
    job_id = factories.job()
    created_at = factories.events(job_id)[0].at

    for moment in ({"seq": 0}, {"as_of": created_at - timedelta(microseconds=1)}):
        with pytest.raises(NoSuchMoment):
            replay(job_id, **moment)


def test_a_draw_by_lot_does_not_change_since_when_people_wait() -> None:
    job_id = lottery()
    people = {each.id: each for each in factories.applications(job_id, 4)}
    draw(job_id)

    lists = [replay(job_id).waitlist, past.read_state(job_id).waitlist]

    since = {each: factories.fresh(people[each]).status_since for each in people}
    for waiting in lists:
        assert len(waiting) == 3
        assert {p.application_id: p.status_since for p in waiting}.items() <= since.items()


def test_the_future_is_not_known() -> None:
    job_id = factories.job()

    for moment in ({"seq": 3}, {"as_of": database_now() + timedelta(seconds=60)}):
        with pytest.raises(FutureMoment):
            replay(job_id, **moment)


def test_an_unknown_job_is_named_as_such() -> None:
    with pytest.raises(JobNotFound):
        replay(factories.applicant().id)


def test_nobody_has_a_position_until_the_draw_has_placed_everybody() -> None:
    job_id = lottery()
    factories.applications(job_id, 3)
    pause_job(job_id=job_id, actor=factories.RECRUITER)
    drawn = draw(job_id)

    for seq in range(3, drawn.seq + 3):
        moments = replay(job_id, seq=seq), past.read_state(job_id, seq=seq)
        assert {place.position for moment in moments for place in moment.waitlist} == {None}, seq
        assert {place.position for place in _one_page(job_id, seq)} == {None}, seq
    after = replay(job_id, seq=drawn.seq + 3), past.read_state(job_id, seq=drawn.seq + 3)
    for moment in after:
        assert [place.position for place in moment.waitlist] == [1, 2, 3]
    assert [place.position for place in _one_page(job_id, drawn.seq + 3)] == [1, 2, 3]


def _one_page(job_id: UUID, seq: int) -> list[PastPlace]:
    return replay_one_page(job_id, seq=seq, limit=10).waitlist
