"""Many people who pass the same seat: one change passes a limited number of turns, the next more.

Meanwhile the seat stays free, and nobody else gets it.
"""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID

import pytest

from pipeline.audit.verify import replay
from pipeline.domain.errors import ClockMoving
from pipeline.line import settle as fill
from pipeline.line.locked_job import LockedJob
from pipeline.models import Application
from pipeline.services.jobs import open_job, pause_job
from pipeline.services.joining import apply
from pipeline.services.settling import seconds_until_settlement, settle, settle_next_due
from pipeline.services.turns import defer
from tests.services.test_pass import passes_next
from tests.support import factories
from tests.support.applicants import leave
from tests.support.clock import database_now, let_time_pass
from tests.support.invariants import assert_line_is_sound
from tests.support.sandboxes import advance, sandbox
from tests.support.together import together

pytestmark = pytest.mark.django_db(transaction=True)

MOST, PASSERS = 3, 10


@pytest.fixture(autouse=True)
def lowered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fill, "MOST_PASSES", MOST)


def line_of_passers(
    passers: int = PASSERS, **policy: object
) -> tuple[UUID, Application, list[Application]]:
    """The holder of the only seat; the people who pass their turn, and one who does not."""
    job_id = factories.job(**policy)
    seated, *waiting = factories.applications(job_id, passers + 2)
    for each in waiting[:-1]:
        passes_next(each)
    return job_id, seated, waiting


def passed(waiting: list[Application]) -> list[int]:
    return [factories.fresh(each).passes_used for each in waiting]


def test_the_walk_ends_in_steps_and_keeps_the_order() -> None:
    job_id, seated, waiting = line_of_passers()
    begun = factories.row_of(job_id).seq
    leave(seated)

    for made in (3, 6, 9):
        assert passed(waiting) == [1] * made + [0] * (PASSERS + 1 - made)
        assert factories.row_of(job_id).seats_free == 1
        assert seconds_until_settlement() == 0
        assert_line_is_sound(job_id)
        settled = settle_next_due()
        assert settled
        assert settled.events == min(MOST, PASSERS - made + 1)

    assert settle_next_due() is None
    assert passed(waiting) == [1] * PASSERS + [0]
    assert factories.status_of(waiting[-1]) == "PENDING_ACKNOWLEDGMENT"
    assert factories.line(job_id) == [each.id for each in waiting[:-1]]
    events = factories.events(job_id)[begun:]
    assert [event.event for event in events] == ["WITHDRAWN", *["PASSED"] * PASSERS, "PROMOTED"]
    assert [event.application_id for event in events[1:]] == [each.id for each in waiting]
    assert [event.cause_seq for event in events[1:]] == [event.seq for event in events[:-1]]
    assert_line_is_sound(job_id)


def test_the_past_is_right_at_each_event() -> None:
    job_id, seated, waiting = line_of_passers()
    leave(seated)
    factories.settle_all()

    ids = [each.id for each in waiting]
    promoted = factories.row_of(job_id).seq
    for seq in range(promoted - PASSERS - 1, promoted):
        line = replay(job_id, seq=seq)
        assert [place.application_id for place in line.waitlist] == ids
        assert not line.active + line.pending
    line = replay(job_id, seq=promoted)
    assert [place.application_id for place in line.waitlist] == ids[:-1]
    assert [place.application_id for place in line.pending] == ids[-1:]


@pytest.mark.parametrize("first_seat", [True, False])
def test_newcomers_join_behind_while_the_seat_is_free(first_seat: bool) -> None:
    job_id, seated, waiting = line_of_passers(acknowledge_first_seat=first_seat)
    leave(seated)

    newcomers = factories.applications(job_id, 2)

    assert factories.statuses(*newcomers) == ["WAITLIST", "WAITLIST"]
    assert passed(waiting) == [1] * 9 + [0] * 2  # each of them took a step
    assert_line_is_sound(job_id)
    factories.settle_all()
    assert factories.status_of(waiting[-1]) == "PENDING_ACKNOWLEDGMENT"
    assert factories.statuses(*newcomers) == ["WAITLIST", "WAITLIST"]
    assert_line_is_sound(job_id)


def test_a_newcomer_gets_the_seat_once_everyone_has_passed() -> None:
    job_id, seated, waiting = line_of_passers()
    leave(waiting.pop())
    leave(seated)
    newcomer = factories.application(job_id)
    factories.settle_all()

    assert passed(waiting) == [1] * PASSERS
    assert factories.status_of(newcomer) == "PENDING_ACKNOWLEDGMENT"
    assert_line_is_sound(job_id)


def test_newcomers_at_the_same_moment_as_the_worker_overtake_nobody() -> None:
    job_id, seated, waiting = line_of_passers()
    people = [factories.applicant() for _ in range(4)]
    leave(seated)

    def applies(number: int) -> Application:
        person = people[number]
        actor = factories.as_applicant(person.id)
        return apply(job_id=job_id, applicant_id=person.id, name="New", actor=actor)

    acts = [lambda n=n: applies(n) for n in range(4)] + [factories.settle_all] * 2
    answers = together(acts)

    factories.settle_all()
    assert [type(each) for each in answers[:4]] == [Application] * 4
    assert factories.statuses(*answers[:4]) == ["WAITLIST"] * 4
    assert factories.status_of(waiting[-1]) == "PENDING_ACKNOWLEDGMENT"
    assert passed(waiting) == [1] * PASSERS + [0]
    assert_line_is_sound(job_id)


def test_control_a_newcomer_would_overtake_if_the_state_were_forgotten(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    job_id, seated, waiting = line_of_passers()
    leave(seated)
    monkeypatch.setattr(LockedJob, "is_walk_unfinished", property(lambda _: False, lambda *_: None))

    newcomer = factories.application(job_id)

    assert factories.status_of(newcomer) == "ACTIVE"
    assert factories.status_of(waiting[-1]) == "WAITLIST"


def test_control_fewer_passes_than_the_limit_need_no_second_step() -> None:
    job_id, seated, waiting = line_of_passers(MOST)
    leave(seated)

    assert passed(waiting) == [1] * MOST + [0]
    assert factories.status_of(waiting[-1]) == "PENDING_ACKNOWLEDGMENT"
    assert seconds_until_settlement() != 0
    assert_line_is_sound(job_id)


def test_people_leave_while_the_seat_is_free() -> None:
    job_id, seated, waiting = line_of_passers()
    first, last = waiting[0], waiting[-1]
    leave(seated)

    leave(waiting[9])
    assert passed(waiting)[:9] == [1] * 6 + [0] * 3
    leave(last)
    assert_line_is_sound(job_id)

    assert passed(waiting)[:9] == [1] * 9
    assert factories.statuses(first, last) == ["WAITLIST", "WITHDRAWN"]
    assert factories.row_of(job_id).seats_free == 1
    newcomer = factories.application(job_id)
    assert factories.status_of(newcomer) == "ACTIVE"  # nobody else may take it now
    assert_line_is_sound(job_id)


def test_a_person_who_defers_no_more_takes_the_seat_in_their_turn() -> None:
    job_id, seated, waiting = line_of_passers(4 * MOST)
    last = waiting[-1]
    actor = factories.owner_of(last)
    tomorrow = database_now() + timedelta(days=1)
    defer(application_id=last.id, not_before=tomorrow, actor=actor)
    leave(seated)
    back = defer(application_id=last.id, not_before=None, actor=actor)

    assert back.status == "WAITLIST"
    assert_line_is_sound(job_id)
    factories.settle_all()
    assert factories.status_of(last) == "PENDING_ACKNOWLEDGMENT"
    assert passed(waiting) == [1] * 4 * MOST + [0]
    assert_line_is_sound(job_id)


def test_a_paused_job_goes_on_when_it_opens_again() -> None:
    job_id, seated, waiting = line_of_passers()
    leave(seated)
    pause_job(job_id=job_id, actor=factories.RECRUITER)
    factories.settle_all()
    assert sum(passed(waiting)) == 2 * MOST
    assert_line_is_sound(job_id)

    open_job(job_id=job_id, actor=factories.RECRUITER)
    events = factories.events(job_id)
    opened = next(each for each in reversed(events) if each.event == "JOB_RESUMED")
    asked = events[opened.seq]
    factories.settle_all()

    assert (asked.event, asked.cause_seq) == ("PASSED", opened.seq)
    assert factories.status_of(waiting[-1]) == "PENDING_ACKNOWLEDGMENT"
    assert_line_is_sound(job_id)


def test_if_the_worker_was_away_the_first_are_asked_again_after_their_cool_down() -> None:
    job_id, seated, waiting = line_of_passers()
    leave(seated)
    let_time_pass(job_id, factories.COOLDOWN + 1)

    settle(job_id=job_id)

    assert factories.status_of(waiting[0]) == "PENDING_ACKNOWLEDGMENT"
    assert sum(passed(waiting)) == MOST
    assert_line_is_sound(job_id)


def test_a_seat_whose_walk_was_forgotten_is_found() -> None:
    job_id, seated, _ = line_of_passers()
    leave(seated)
    row = factories.row_of(job_id)
    row.next_due_at = None
    row.save(update_fields=["next_due_at"])

    with pytest.raises(AssertionError):
        assert_line_is_sound(job_id)


def test_a_sandbox_goes_on_at_the_instant_at_which_the_seat_opened() -> None:
    company = sandbox()
    job_id, seated, waiting = line_of_passers(company_id=company.id)
    leave(seated)
    opened = factories.fresh(seated).ended_at
    assert passed(waiting).count(1) == MOST
    assert_line_is_sound(job_id)

    with pytest.raises(ClockMoving):  # it goes on before the clock moves, and is not done yet
        advance(company, 60 * factories.COOLDOWN)
    factories.settle_all()
    advance(company, 60 * factories.COOLDOWN)

    events = [each for each in factories.events(job_id) if each.event in ("PASSED", "PROMOTED")]
    assert [each.event for each in events[: PASSERS + 1]] == ["PASSED"] * PASSERS + ["PROMOTED"]
    assert {each.at for each in events[: PASSERS + 1]} == {opened}
    assert [each.application_id for each in events[: PASSERS + 1]] == [each.id for each in waiting]
    assert_line_is_sound(job_id)


def test_two_seats_go_in_turn_although_the_walk_stops_between_them() -> None:
    job_id = factories.job()
    _seated, *waiting = factories.applications(job_id, 1 + 3 + 1 + 2 + 1)
    first, second = waiting[:3], waiting[4:6]
    for each in first + second:
        passes_next(each)
    begun = factories.row_of(job_id).seq
    factories.alter(job_id, capacity=3)

    assert factories.status_of(waiting[3]) == "PENDING_ACKNOWLEDGMENT"
    assert passed(second) == [0, 0]
    assert_line_is_sound(job_id)
    factories.settle_all()

    assert passed(waiting) == [1, 1, 1, 0, 1, 1, 0]
    assert factories.status_of(waiting[6]) == "PENDING_ACKNOWLEDGMENT"
    assert_line_is_sound(job_id)
    causes = [(each.event, each.cause_seq) for each in factories.events(job_id)[begun + 1 :]]
    raised = begun + 1
    assert causes == [
        *(("PASSED", raised + number) for number in range(3)),
        ("PROMOTED", raised + 3),
        ("PASSED", None),
        ("PASSED", raised + 5),
        ("PROMOTED", raised + 6),
    ]
