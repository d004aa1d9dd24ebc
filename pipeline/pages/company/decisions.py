"""Decisions on people: on one, on several together, and undoing them."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID, uuid4

from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST

from jobs.models import Job, JobStatus
from pipeline.decisions.make import make_decision, undo_decision
from pipeline.domain.permissions import Action
from pipeline.domain.states import DECISIONS, MOVES, Outcome, Reason, Status
from pipeline.models import DecisionItem, PendingDecision
from pipeline.pages.access import Member, for_members, own_job, received_application
from pipeline.pages.company import consequences
from pipeline.pages.company.decision_notices import PROBLEM_WORDS, decision_notices
from pipeline.pages.company.forms import DecisionForm
from pipeline.pages.error_messages import attempt_or_error_message
from pipeline.selectors.applications import SeenApplication
from pipeline.selectors.board import read_board_next_in_line, read_board_promoted_since
from pipeline.selectors.jobs import read_job
from pipeline.selectors.pending_decisions import (
    Neighbours,
    items_of_pending_decision,
    neighbours_of_pending_decision,
    pending_decision_on,
)
from pipeline.wording.english import people, plural
from pipeline.wording.event_words import DECISION_WORDS

# States of people on whom a decision cannot be undone.
DECIDED = (DecisionItem.State.DECIDING, DecisionItem.State.DONE)
NEXT = "next"  # the value of `then` in the URL: go on with the next person
REASON = "reason"  # in the URL: the reason of the decision before, to start with


@dataclass(frozen=True, slots=True)
class DecisionChoice:
    """A button of a decision form."""

    outcome: Outcome
    whom: str

    @property
    def button(self) -> str:
        """Return its label."""
        return f"{DECISION_WORDS[self.outcome].verb} {self.whom}"

    @property
    def verb(self) -> str:
        """Return the verb of its label."""
        return DECISION_WORDS[self.outcome].verb

    @property
    def meaning(self) -> str:
        """Return what the decision means."""
        return DECISION_WORDS[self.outcome].meaning

    @property
    def tone(self) -> str:
        """Return the class of the button."""
        return "primary" if self.outcome is Outcome.HIRED else "danger"


@for_members(Action.DECIDE)
def decide_on_application(request: HttpRequest, application_id: UUID) -> HttpResponse:
    """Show the possible decisions with their consequences; on POST, decide."""
    member, seen = received_application(request, application_id, Action.DECIDE)
    job = read_job(seen.application.job_id)
    possible = possible_decisions_on(seen)
    if not possible or pending_decision_on(application_id):
        return redirect("application", application_id=application_id)
    form = DecisionForm(request.POST or None, initial={"reason": request.GET.get(REASON, "")})
    consequence = _consequence_of_decision(seen, job)
    # When the button is pressed, only the consequence for the seat must still be the same. The
    # number of people waiting behind changes all the time, and no decision depends on it.
    holds_seat = Status(seen.application.status).holds_seat
    promise = consequence if holds_seat else Status.WAITLIST.value
    is_kept = request.POST.get("promised", promise) == promise
    neighbours = neighbours_of_pending_decision(seen.application)
    if form.is_valid() and is_kept:
        return _decide_on_application(request, member, seen, job, form.cleaned_data, neighbours)
    if not is_kept:
        form.add_error(None, consequences.MOVED_ON)
    name = seen.application.name or seen.address or "this person"
    context = {
        "seen": seen,
        "application": seen.application,
        "job": job,
        "tab": "board",
        "form": form,
        "decision_id": decision_id_in_form(request),
        "undo_seconds": settings.DECISION_UNDO_SECONDS,
        "comes_from_decision": REASON in request.GET,
        "neighbours": neighbours,
        "promise": promise,
        "consequence": consequence,
        "choices": [DecisionChoice(each, name) for each in DECISION_WORDS if each in possible],
        **decision_notices(job.id, member),
    }
    return render(request, "company/decide.html", context, status=422 if form.errors else 200)


def possible_decisions_on(seen: SeenApplication) -> list[Outcome]:
    """Return the decisions that the table of moves allows on an application now."""
    status = Status(seen.application.status)
    return [outcome for outcome, move in DECISIONS.items() if (status, move) in MOVES]


def decision_id_in_form(request: HttpRequest) -> UUID:
    """Return the id that the sent form gives its decision, or a new one."""
    try:
        return UUID(request.POST.get("decision", ""))
    except ValueError:
        return uuid4()


def _consequence_of_decision(seen: SeenApplication, job: Job) -> str:
    """Describe what happens to the seat, or to the people behind in line."""
    if Status(seen.application.status).holds_seat:
        return consequences.consequence_of_opened_seat(
            job, next(iter(read_board_next_in_line(job.id, most=1)), None)
        )
    if seen.position is None:
        return "nobody moves up, because an unverified application is not counted"
    behind = seen.people_waiting - seen.position
    if not behind:
        return "nobody is waiting behind"
    return f"{people(behind)} behind {plural(behind, 'moves', 'move')} up by one"


def _decide_on_application(
    request: HttpRequest,
    member: Member,
    seen: SeenApplication,
    job: Job,
    given: dict[str, str],
    neighbours: Neighbours,
) -> HttpResponse:
    decision = make_decision_from_form(request, member, job.id, [seen.application.id], given)
    if refused := _undecided_reason(items_of_pending_decision(decision.id), seen.application.id):
        messages.error(request, f"Nothing was decided: {refused}.")
        return redirect("application", application_id=seen.application.id)
    if decision.finished_at:
        _show_decision_success_message(request, member, seen, job, Outcome(decision.outcome))
    if request.GET.get("then") == NEXT and neighbours.after:
        same = QueryDict(mutable=True)
        same[REASON] = given["reason"]
        url = reverse("decide", kwargs={"application_id": neighbours.after})
        return redirect(f"{url}?{same.urlencode()}")
    return redirect("board", job_id=job.id)


def _undecided_reason(items: list[DecisionItem], application_id: UUID) -> str:
    """Say why a form decided nothing on an application; return an empty string if it did.

    A browser can send a form again after it has made its decision: after a reload, or from its
    cache.
    """
    if [item.application_id for item in items] != [application_id]:
        return "this form was already used for another decision; decide again"
    if items[0].state == DecisionItem.State.UNDONE:
        return "this decision was undone; decide again"
    return PROBLEM_WORDS[DecisionItem.Problem(items[0].problem)] if items[0].problem else ""


def _show_decision_success_message(
    request: HttpRequest, member: Member, seen: SeenApplication, job: Job, outcome: Outcome
) -> None:
    promoted = consequences.promotion_consequence_afterwards(
        *read_board_promoted_since(job.id, job.seq)
    )
    advice = ""
    if outcome == Outcome.HIRED and job.status != JobStatus.CLOSED:
        ways = ["pause the job"] if job.status == JobStatus.OPEN else []
        if member.may(Action.CLOSE_JOB):
            ways.append("close it" if ways else "close the job")
        advice = f" If you are not looking for anyone else, {' or '.join(ways)}." if ways else ""
    name = seen.application.name or seen.address or "this person"
    done = DECISION_WORDS[outcome].done
    messages.success(request, f"{name} was {done}.{promoted}{advice}")


def make_decision_from_form(
    request: HttpRequest,
    member: Member,
    job_id: UUID,
    application_ids: list[UUID],
    given: dict[str, str],
) -> PendingDecision:
    """Make the decision that a valid form holds."""
    return make_decision(
        decision_id=decision_id_in_form(request),
        job_id=job_id,
        application_ids=application_ids,
        outcome=Outcome(given["outcome"]),
        actor=member.actor,
        reason=Reason(given["reason"]) if given["reason"] else None,
        note=given["note"],
    )


@require_POST
@for_members(Action.DECIDE)
def undo_pending_decision(request: HttpRequest, job_id: UUID, decision_id: UUID) -> HttpResponse:
    """Undo a decision of the member or of a colleague."""
    member, job = own_job(request, job_id, Action.DECIDE)
    undone = attempt_or_error_message(
        request,
        lambda: (undo_decision(decision_id=decision_id, job_id=job.id, actor=member.actor),),
    )
    if undone:
        whom = f" for {people(undone[0])}" if undone[0] > 1 else ""
        decided = sum(item.state in DECIDED for item in items_of_pending_decision(decision_id))
        rest = (
            f"{people(decided)} had been decided on already."
            if decided
            else "The line is as it was."
        )
        messages.success(request, f"The decision was undone{whom}. {rest}")
    return redirect("board", job_id=job.id)
