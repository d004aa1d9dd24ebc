"""Someone whose application ended asks the company to look again, and it answers."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest
from django.conf import LazySettings

from pipeline.domain.contests import ContestAnswer, ContestReason
from pipeline.domain.errors import (
    AlreadyContested,
    ContestTooLate,
    NotContestable,
)
from pipeline.domain.states import Outcome, Reason
from pipeline.line.event_log import logged_time
from pipeline.models import Application, Contest
from pipeline.services.contests import answer_contest, contest
from pipeline.services.jobs import close_job
from pipeline.services.leaving import remove, withdraw
from tests.support import factories
from tests.support.clock import let_time_pass
from tests.support.invariants import assert_line_is_sound

pytestmark = pytest.mark.django_db(transaction=True)
DAY = 86_400


def ask(application: Application, **more: Any) -> Contest:
    how = {"text": "I was ill.", "actor": factories.owner_of(application)} | more
    return contest(application_id=application.id, **how)


def answer(
    asked: Contest, what: str = "CHANGED", reason: str = "OUR_ERROR", **more: Any
) -> Contest:
    return answer_contest(
        contest_id=asked.id,
        application_id=asked.application_id,
        answer=ContestAnswer(what),
        reason=ContestReason(reason),
        **({"actor": factories.RECRUITER} | more),
    )


def end(application: Application, outcome: Outcome = Outcome.REJECTED, **more: Any) -> None:
    remove(
        application_id=application.id,
        outcome=outcome,
        actor=factories.RECRUITER,
        reason=Reason.NOT_A_MATCH,
        **more,
    )


def a_lapsed_person(**policy: Any) -> list[Application]:
    """The first of four leaves; the second is promoted and misses, and the third has the offer."""
    job_id = factories.job(max_decays=0, **policy)
    people = factories.applications(job_id, 4)
    withdraw(application_id=people[0].id, actor=factories.owner_of(people[0]))
    let_time_pass(job_id, factories.WINDOW)
    factories.settle_all()
    return people[1:]


def test_an_end_is_contested_and_stays_as_it_is() -> None:
    lapsed, *_others = a_lapsed_person()
    before, ended = factories.fresh(lapsed), factories.events(lapsed.job_id)[-2]
    assert ended.event == "LAPSED"

    asked = ask(lapsed)

    event = factories.events(lapsed.job_id)[-1]
    assert (event.event, event.from_status) == ("CONTESTED", "INACTIVE")
    assert event.to_status == "INACTIVE"
    assert (event.outcome, event.actor_kind) == ("LAPSED", "APPLICANT")
    assert event.data["contested_seq"] == ended.seq
    assert event.data["contest_id"] == str(asked.id)
    assert event.data["answer_by"] == logged_time(asked.answer_by)
    assert (asked.answer_by - asked.asked_at).days == 14
    assert "ill" not in str(event.data)
    assert (
        factories.fresh(lapsed).__dict__.items()
        >= {name: value for name, value in before.__dict__.items() if name != "_state"}.items()
    )
    assert_line_is_sound(lapsed.job_id)


def test_the_time_to_answer_is_a_setting(settings: LazySettings) -> None:
    settings.CONTEST_DAYS = 3
    lapsed, *_others = a_lapsed_person()

    asked = ask(lapsed)

    assert (asked.answer_by - asked.asked_at).days == 3


def test_an_answer_that_changes_nothing_is_one_event() -> None:
    lapsed, *_others = a_lapsed_person()
    asked = ask(lapsed)

    done = answer(asked, "UPHELD", "DECISION_STANDS", text="You had two reminders.")

    event = factories.events(lapsed.job_id)[-1]
    assert (event.event, event.data["answer"]) == ("CONTEST_ANSWERED", "UPHELD")
    assert event.data["reason"] == "DECISION_STANDS"
    assert "reminders" not in str(event.data)
    kept = Contest.objects.get(id=asked.id)
    assert (kept.answer_text, kept.answer_seq) == ("You had two reminders.", event.seq)
    assert (kept.answered_by, done.is_open) == (factories.RECRUITER.id, False)
    assert factories.fresh(lapsed).outcome == "LAPSED"
    assert_line_is_sound(lapsed.job_id)


def test_a_change_gives_the_place_before_the_miss_back_in_the_same_change() -> None:
    lapsed, _offered, last = a_lapsed_person()
    asked = ask(lapsed)

    answer(asked)

    said, back = factories.events(lapsed.job_id)[-2:]
    assert (said.event, back.event) == ("CONTEST_ANSWERED", "REINSTATED")
    assert back.data["answer_seq"] == said.seq
    assert said.at == back.at
    row = factories.fresh(lapsed)
    assert (row.status, row.ticket, row.decay_count) == ("WAITLIST", lapsed.ticket, 0)
    assert factories.line(lapsed.job_id) == [lapsed.id, last.id]
    assert_line_is_sound(lapsed.job_id)


@pytest.mark.parametrize("outcome", [Outcome.REMOVED, Outcome.REJECTED])
def test_a_decision_on_somebody_who_waits_is_taken_back(outcome: Outcome) -> None:
    job_id = factories.job()
    _seated, first, second = factories.applications(job_id, 3)
    end(first, outcome)
    newcomer = factories.application(job_id)

    answer(ask(first))

    row, back = factories.fresh(first), factories.events(job_id)[-1]
    assert (row.status, row.ticket, row.tie) == ("WAITLIST", first.ticket, first.tie)
    assert (row.outcome, row.ended_at) == (None, None)
    assert factories.line(job_id) == [first.id, second.id, newcomer.id]
    assert "missed" not in back.data
    assert_line_is_sound(job_id)


@pytest.mark.parametrize("seated", [True, False])
def test_a_repeated_decision_does_not_end_an_application_that_got_its_place_back(
    seated: bool,
) -> None:
    job_id = factories.job()
    person = factories.applications(job_id, 2)[0 if seated else 1]
    request = uuid4()
    end(person, request_id=request)
    answer(ask(person))

    end(person, request_id=request)

    assert factories.status_of(person) == "WAITLIST"
    assert factories.event_names(job_id).count("REMOVED") == 1
    assert_line_is_sound(job_id)
    end(person, request_id=uuid4())
    assert factories.status_of(person) == "REJECTED"


@pytest.mark.parametrize("confirms", [True, False])
def test_a_decision_on_somebody_with_a_seat_gives_the_place_before_the_seat_back(
    confirms: bool,
) -> None:
    job_id = factories.job(acknowledge_first_seat=not confirms)
    seated, next_one, last = factories.applications(job_id, 3)
    end(seated)
    assert factories.status_of(next_one) == "PENDING_ACKNOWLEDGMENT"

    answer(ask(seated))

    assert factories.line(job_id) == [seated.id, last.id]
    assert factories.status_of(next_one) == "PENDING_ACKNOWLEDGMENT"
    assert_line_is_sound(job_id)


def test_a_free_seat_is_offered_at_once() -> None:
    job_id = factories.job()
    only = factories.application(job_id)
    end(only)

    answer(ask(only))

    names = factories.event_names(job_id)[-4:]
    assert names == ["CONTESTED", "CONTEST_ANSWERED", "REINSTATED", "PROMOTED"]
    assert factories.status_of(only) == "PENDING_ACKNOWLEDGMENT"
    assert_line_is_sound(job_id)


def test_a_cool_down_before_a_removal_still_counts() -> None:
    job_id = factories.job(acknowledge_first_seat=True, cooldown_seconds=10 * DAY)
    missed, _other = factories.applications(job_id, 2)
    let_time_pass(job_id, factories.WINDOW)
    factories.settle_all()
    cooling = factories.fresh(missed)
    end(missed)

    answer(ask(missed))

    row = factories.fresh(missed)
    assert (row.decay_count, row.eligible_at) == (1, cooling.eligible_at)
    assert (row.ticket, row.tie) == (cooling.ticket, cooling.tie)
    assert_line_is_sound(job_id)


def test_each_end_is_contested_once() -> None:
    lapsed, *_others = a_lapsed_person()
    asked = ask(lapsed)
    with pytest.raises(AlreadyContested):
        ask(lapsed, text="Please!")
    answer(asked)
    end(lapsed)

    again = ask(lapsed, text="Please!")

    assert again.contested_seq > asked.contested_seq
    answer(again, "UPHELD", "DECISION_STANDS")
    with pytest.raises(AlreadyContested):
        ask(lapsed)
    assert_line_is_sound(lapsed.job_id)


def test_a_repeated_request_is_the_same_contest() -> None:
    lapsed, *_others = a_lapsed_person()
    request_id = uuid4()

    first, second = (ask(lapsed, request_id=request_id) for _ in range(2))
    answers = uuid4()
    one, two = (answer(first, "CHANGED", request_id=answers) for _ in range(2))

    assert first.id == second.id == request_id
    assert one.answer_seq == two.answer_seq
    assert factories.event_names(lapsed.job_id).count("CONTESTED") == 1
    assert factories.event_names(lapsed.job_id).count("CONTEST_ANSWERED") == 1


def test_the_company_is_asked_within_thirty_days() -> None:
    lapsed, *_others = a_lapsed_person()
    late, *_others = a_lapsed_person()
    let_time_pass(lapsed.job_id, 30 * DAY - 60)
    let_time_pass(late.job_id, 30 * DAY)

    ask(lapsed)
    with pytest.raises(ContestTooLate):
        ask(late)

    assert "CONTESTED" not in factories.event_names(late.job_id)
    assert_line_is_sound(lapsed.job_id)


@pytest.mark.parametrize("how", ["waits", "withdrawn", "hired", "unverified", "closed out"])
def test_other_ends_cannot_be_contested(how: str) -> None:
    job_id = factories.job()
    seated, waits = factories.applications(job_id, 2)
    person = waits
    if how == "withdrawn":
        withdraw(application_id=waits.id, actor=factories.owner_of(waits))
    elif how == "hired":
        person = seated
        end(seated, Outcome.HIRED)
    elif how == "unverified":
        person = factories.application(job_id, verified=False)
        let_time_pass(job_id, DAY)
        factories.settle_all()
    elif how == "closed out":
        close_job(job_id=job_id, actor=factories.RECRUITER)
        factories.settle_all()

    with pytest.raises(NotContestable):
        ask(person)

    assert "CONTESTED" not in factories.event_names(job_id)
