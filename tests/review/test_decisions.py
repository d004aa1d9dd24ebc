"""A decision waits until it is due and can be undone; then each person's is its own event."""

from __future__ import annotations

from uuid import UUID, uuid4

import pytest

from pipeline.domain.errors import DecisionTooLate, JobNotFound
from pipeline.domain.states import Outcome, Reason
from pipeline.models import Application, DecisionItem, DecisionNote, Event
from pipeline.review import decisions
from pipeline.review.decisions import TASK, give_up_carrying_out
from tests.support import factories
from tests.support.applicants import decide, leave, named
from tests.support.decisions import made, removals, states
from tests.support.invariants import assert_line_is_sound
from tests.support.task_runs import let_tasks_wait, run_due_tasks
from tests.support.together import together

pytestmark = pytest.mark.django_db(transaction=True)


def test_nothing_happens_until_it_is_due(undo_seconds: int, job: UUID) -> None:
    decision = made(job, "Ana Li", reason=Reason.NOT_A_MATCH, note="Come back in a year.")

    assert run_due_tasks(TASK) == []
    assert (factories.status_of(named(job, "Ana Li")), removals(job)) == ("ACTIVE", 0)
    assert (decision.due_at - decision.created_at).total_seconds() == pytest.approx(10, abs=5)
    let_tasks_wait(undo_seconds)
    assert run_due_tasks(TASK) == ["SUCCEEDED"]
    assert factories.statuses(named(job, "Ana Li"), named(job, "Cy Okafor")) == [
        "REJECTED",
        "PENDING_ACKNOWLEDGMENT",
    ]
    decision.refresh_from_db()
    assert (bool(decision.finished_at), decision.note, states(decision)) == (True, "", ["DONE"])
    assert DecisionNote.objects.get().text == "Come back in a year."
    event = Event.objects.get(job_id=job, event="REMOVED")
    assert (event.data["reason"], event.actor_id) == ("NOT_A_MATCH", factories.RECRUITER.id)


def test_undone_it_never_happens(undo_seconds: int, job: UUID) -> None:
    decision = made(job, "Ana Li", "Cy Okafor")
    before = Event.objects.filter(job_id=job).count()

    undone = decisions.undo(decision_id=decision.id, job_id=job, actor=factories.RECRUITER)
    again = decisions.undo(decision_id=decision.id, job_id=job, actor=factories.RECRUITER)
    let_tasks_wait(undo_seconds)
    run_due_tasks(TASK)

    assert (undone, again) == (2, 0)
    assert Event.objects.filter(job_id=job).count() == before
    assert states(decision) == ["UNDONE", "UNDONE"]
    assert states(made(job, "Ana Li")) == ["WAITING"]  # it can be decided on again


def test_it_cannot_be_undone_once_it_has_taken_effect(undo_seconds: int, job: UUID) -> None:
    decision = made(job, "Ana Li")
    decisions.carry_out(decision.id)

    with pytest.raises(DecisionTooLate):
        decisions.undo(decision_id=decision.id, job_id=job, actor=factories.RECRUITER)
    with pytest.raises(DecisionTooLate):
        decisions.undo(decision_id=decision.id, job_id=factories.job(), actor=factories.RECRUITER)


def test_the_rest_is_left_alone_when_it_is_undone_halfway(undo_seconds: int, job: UUID) -> None:
    decision = made(job, "Ana Li", "Cy Okafor", "Dee Rao")

    def stop(done: int, _total: int) -> None:
        if done == 1:
            decisions.undo(decision_id=decision.id, job_id=job, actor=factories.RECRUITER)

    decisions.carry_out(decision.id, after_each=stop)

    decision.refresh_from_db()
    assert (states(decision), bool(decision.finished_at)) == (["UNDONE", "DONE", "UNDONE"], True)
    assert removals(job) == 1


def test_everybody_is_decided_on_once_and_the_line_is_sound(job: UUID) -> None:
    before = Event.objects.filter(job_id=job).count()
    decision = made(job, "Bo Berg", "Ana Li", "Cy Okafor")

    ended = Event.objects.filter(job_id=job, event="REMOVED").order_by("seq")
    names = [Application.objects.get(id=event.application_id).name for event in ended]
    assert names == ["Cy Okafor", "Bo Berg", "Ana Li"]  # those who hold no seat are first
    assert len({event.data["request"] for event in ended}) == 3
    promoted = Event.objects.filter(job_id=job, event="PROMOTED", seq__gt=before)
    offered = [Application.objects.get(id=each.application_id).name for each in promoted]
    assert sorted(offered) == ["Dee Rao", "Eli Sato"]  # nobody is offered a seat and then rejected
    assert decision.finished_at
    assert_line_is_sound(job)


def test_refusals_name_the_person_and_do_not_stop_the_others(undo_seconds: int, job: UUID) -> None:
    first = made(job, "Dee Rao")
    decision = made(job, "Ana Li", "Cy Okafor", "Dee Rao", "Bo Berg", outcome=Outcome.HIRED)
    leave(named(job, "Bo Berg"))

    decisions.carry_out(decision.id)

    decision.refresh_from_db()
    found = decision.items.order_by("number").values_list("application__name", "problem")
    assert list(found) == [
        ("Ana Li", ""),
        ("Cy Okafor", "NOT_POSSIBLE"),  # nobody who waits can be hired
        ("Dee Rao", "NOT_POSSIBLE"),
        ("Bo Berg", "NOT_POSSIBLE"),  # has withdrawn meanwhile
    ]
    assert (decision.refused, states(first)) == (3, ["WAITING"])


def test_nobody_is_in_two_decisions(undo_seconds: int, job: UUID) -> None:
    made(job, "Ana Li")

    second = made(job, "Ana Li", "Bo Berg", outcome=Outcome.HIRED)

    found = second.items.order_by("number").values_list("state", "problem")
    assert list(found) == [("REFUSED", "DECIDED"), ("WAITING", "")]


def test_of_two_colleagues_at_one_moment_one_decides(undo_seconds: int, job: UUID) -> None:
    names = ["Ana Li", "Bo Berg", "Cy Okafor", "Dee Rao", "Eli Sato"]

    answers = together(
        [lambda: made(job, *names), lambda: made(job, *reversed(names), outcome=Outcome.REMOVED)]
    )

    found = [states(each) for each in answers]
    assert sorted(found) == [["REFUSED"] * 5, ["WAITING"] * 5]
    open_items = DecisionItem.objects.filter(state="WAITING")
    assert open_items.values("application_id").distinct().count() == 5


def test_pressed_twice_it_is_one_decision(undo_seconds: int, job: UUID) -> None:
    same = uuid4()

    answers = together([lambda: made(job, "Ana Li", decision_id=same)] * 2)

    assert [each.id for each in answers] == [same, same]
    assert DecisionItem.objects.count() == 1
    with pytest.raises(JobNotFound):
        made(factories.job(), decision_id=same)


def test_two_runs_at_once_decide_once(undo_seconds: int, job: UUID) -> None:
    decision = made(job, "Ana Li", "Bo Berg", "Dee Rao")

    together([lambda: decisions.carry_out(decision.id)] * 2)

    decision.refresh_from_db()
    assert (removals(job), decision.refused, bool(decision.finished_at)) == (3, 0, True)
    assert_line_is_sound(job)


def test_a_run_that_dies_between_two_people_goes_on(undo_seconds: int, job: UUID) -> None:
    decision = made(job, "Ana Li", "Bo Berg")

    def die(done: int, _total: int) -> None:
        raise MemoryError

    with pytest.raises(MemoryError):
        decisions.carry_out(decision.id, after_each=die)
    DecisionItem.objects.filter(state="DONE").update(state="DECIDING")  # died before noting it
    decisions.carry_out(decision.id)

    assert (removals(job), states(decision)) == (2, ["DONE", "DONE"])


def test_what_the_api_decided_meanwhile_stays(undo_seconds: int, job: UUID) -> None:
    decision = made(job, "Ana Li")
    decide(named(job, "Ana Li"), Outcome.HIRED)

    decisions.carry_out(decision.id)

    assert factories.status_of(named(job, "Ana Li")) == "HIRED"
    assert states(decision) == ["REFUSED"]


def test_what_the_site_cannot_carry_out_is_free_again(undo_seconds: int, job: UUID) -> None:
    decision = made(job, "Ana Li")

    give_up_carrying_out(decision.id)

    decision.refresh_from_db()
    assert (states(decision), decision.refused) == (["REFUSED"], 1)
    assert states(made(job, "Ana Li")) == ["WAITING"]


def test_applications_of_other_jobs_are_left_out(undo_seconds: int, job: UUID) -> None:
    other = factories.application(factories.job())

    decision = decisions.make(
        decision_id=uuid4(),
        job_id=job,
        application_ids=[other.id],
        outcome=Outcome.REJECTED,
        actor=factories.RECRUITER,
    )

    assert states(decision) == []
    assert decision.finished_at


def test_many_are_decided_on_in_the_background(job: UUID) -> None:
    crowd = factories.job(capacity=1)
    people = factories.applications(crowd, 25)

    decision = decisions.make(
        decision_id=uuid4(),
        job_id=crowd,
        application_ids=[person.id for person in people],
        outcome=Outcome.REMOVED,
        actor=factories.RECRUITER,
    )

    assert removals(crowd) == 0
    assert run_due_tasks(TASK) == ["SUCCEEDED"]
    assert removals(crowd) == 25
    assert set(states(decision)) == {"DONE"}
