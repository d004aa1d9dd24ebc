"""More time that a company gives for one offer: later only, in time, a few times, and counted."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from pipeline.domain.errors import AcknowledgmentExpired, IllegalMove, NotExtendable
from pipeline.domain.states import MOST_EXTENSIONS
from pipeline.models import Application, Event
from pipeline.services import outage
from pipeline.services.jobs import close_job, pause_job
from pipeline.services.turns import acknowledge, extend_deadline, extend_offer
from tests.support import factories
from tests.support.applicants import leave
from tests.support.clock import let_time_pass
from tests.support.invariants import assert_line_is_sound

pytestmark = pytest.mark.django_db(transaction=True)

HOUR = timedelta(hours=1)


def offered(**policy: object) -> Application:
    """Someone who was offered the only seat."""
    return factories.application(factories.job(acknowledge_first_seat=True, **policy))


def deadline_of(person: Application) -> datetime:
    deadline = factories.fresh(person).acknowledge_by
    assert deadline is not None
    return deadline


def give(person: Application, more: timedelta = HOUR) -> Application:
    """Give a person that much more time."""
    until = deadline_of(person) + more
    return extend_offer(application_id=person.id, acknowledge_by=until, actor=factories.RECRUITER)


def test_until_the_new_deadline_the_seat_is_theirs_and_then_it_is_a_miss() -> None:
    person = offered()
    next_in_line = factories.application(person.job_id)
    first = deadline_of(person)

    given = give(person)

    let_time_pass(person.job_id, factories.WINDOW + 1)
    factories.settle_all()
    assert factories.statuses(person, next_in_line) == ["PENDING_ACKNOWLEDGMENT", "WAITLIST"]
    assert given.acknowledge_by == first + HOUR
    event = Event.objects.get(job_id=person.job_id, event="DEADLINE_EXTENDED")
    assert (event.actor_kind, event.actor_id) == ("COMPANY", factories.RECRUITER.id)
    let_time_pass(person.job_id, HOUR.total_seconds())
    factories.settle_all()
    assert factories.event_names(person.job_id)[-2:] == ["DECAYED", "PROMOTED"]
    assert factories.fresh(person).deadline_extended is False
    assert_line_is_sound(person.job_id)


def test_after_the_first_deadline_they_can_still_confirm() -> None:
    person = offered()
    give(person)
    let_time_pass(person.job_id, factories.WINDOW + 1)

    taken = acknowledge(application_id=person.id, actor=factories.owner_of(person))

    assert taken.status == "ACTIVE"
    assert_line_is_sound(person.job_id)


def test_the_same_deadline_again_changes_nothing() -> None:
    person = offered()
    give(person)

    give(person, timedelta(0))

    assert factories.event_names(person.job_id).count("DEADLINE_EXTENDED") == 1


@pytest.mark.parametrize(
    ("more", "why"), [(-HOUR, "after the deadline"), (timedelta(days=30), "30 days")]
)
def test_a_deadline_moves_only_later_and_not_too_far(more: timedelta, why: str) -> None:
    person = offered()
    before = deadline_of(person)

    with pytest.raises(NotExtendable, match=why):
        give(person, more)

    assert deadline_of(person) == before
    assert give(person, timedelta(days=30, seconds=-factories.WINDOW - 60)).acknowledge_by


def test_an_offer_is_extended_a_few_times_and_the_next_one_anew() -> None:
    person = offered()
    for _ in range(MOST_EXTENSIONS):
        give(person, timedelta(minutes=1))

    with pytest.raises(NotExtendable, match="5 times"):
        give(person)

    let_time_pass(person.job_id, factories.WINDOW + 60 * MOST_EXTENSIONS)
    factories.settle_all()
    let_time_pass(person.job_id, factories.COOLDOWN)
    factories.settle_all()
    assert give(person).deadline_extended
    assert_line_is_sound(person.job_id)


def test_the_system_and_the_company_do_not_use_up_each_others_extensions() -> None:
    person = offered()
    give(person)

    extend_deadline(application_id=person.id, seconds=60)

    with pytest.raises(IllegalMove):  # the system once
        extend_deadline(application_id=person.id, seconds=60)
    for _ in range(MOST_EXTENSIONS - 1):
        give(person)
    with pytest.raises(NotExtendable):
        give(person)
    assert_line_is_sound(person.job_id)


def test_an_outage_gives_time_back_to_whoever_got_more_from_the_company() -> None:
    given, made_up = offered(), offered()
    give(given)
    extend_deadline(application_id=made_up.id, seconds=60)

    found = set(outage._open_offers().values_list("id", flat=True))

    assert found == {given.id}


@pytest.mark.parametrize("misses_kept", [0, 3])
def test_a_deadline_that_has_passed_cannot_be_extended(misses_kept: int) -> None:
    person = offered(max_decays=misses_kept)
    until = deadline_of(person)
    let_time_pass(person.job_id, factories.WINDOW)

    with pytest.raises(AcknowledgmentExpired):
        extend_offer(
            application_id=person.id, acknowledge_by=until + HOUR, actor=factories.RECRUITER
        )

    assert factories.event_names(person.job_id)[-1] in ("DECAYED", "LAPSED")


def test_only_an_open_offer_is_extended() -> None:
    seated, waiting = factories.applications(factories.job(), 2)
    until = factories.fresh(seated).applied_at + HOUR

    for person in (seated, waiting):
        with pytest.raises(IllegalMove):
            extend_offer(application_id=person.id, acknowledge_by=until, actor=factories.RECRUITER)

    leave(seated)
    pause_job(job_id=seated.job_id, actor=factories.RECRUITER)
    assert give(waiting).acknowledge_by  # a paused job's deadlines run, and can be extended
    close_job(job_id=seated.job_id, actor=factories.RECRUITER)
    with pytest.raises(IllegalMove):
        extend_offer(
            application_id=waiting.id,
            acknowledge_by=until + 30 * HOUR,
            actor=factories.RECRUITER,
        )
