"""Decision on several people together: the form with its consequence, and the progress."""

from __future__ import annotations

from collections import Counter
from typing import Any
from uuid import UUID

from django.conf import settings
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render

from jobs.models import Job
from pipeline.database.instants import database_now
from pipeline.decisions.make import MOST_PEOPLE
from pipeline.domain.permissions import Action
from pipeline.domain.states import Outcome, Status
from pipeline.models import DecisionItem, PendingDecision
from pipeline.pages.access import Member, for_members, own_job
from pipeline.pages.company import consequences
from pipeline.pages.company.application_filters import UnusableFilters, filtered_people_in_form
from pipeline.pages.company.decision_notices import PROBLEM_WORDS, decision_notices
from pipeline.pages.company.decisions import (
    DecisionChoice,
    decision_id_in_form,
    make_decision_from_form,
    possible_decisions_on,
)
from pipeline.pages.company.forms import DecisionForm
from pipeline.pages.live_page import live_page
from pipeline.selectors.applications import SeenApplication
from pipeline.selectors.board import LOOKED_AHEAD, read_board_next_in_line
from pipeline.selectors.pending_decisions import items_of_pending_decision, read_pending_decision
from pipeline.wording.english import people
from pipeline.wording.event_words import DECISION_WORDS

POLL_SECONDS = 2

State = DecisionItem.State


@for_members(Action.DECIDE)
def decide_on_many(request: HttpRequest, job_id: UUID) -> HttpResponse:
    """Show the people chosen on the board and the consequence of the decision; then decide."""
    member, job = own_job(request, job_id, Action.DECIDE)
    notices = decision_notices(job.id, member)
    try:
        chosen = filtered_people_in_form(request, job)
    except UnusableFilters as error:
        messages.error(request, f"Nobody is chosen: {error}")
        return redirect("applications", job_id=job.id)
    able = [
        seen
        for seen in chosen
        if possible_decisions_on(seen) and seen.application.id not in notices["awaited"]
    ]
    form = DecisionForm(request.POST if "outcome" in request.POST else None)
    consequence = _consequence_of_bulk_decision(job, able)
    is_kept = request.POST.get("promised", consequence) == consequence
    if able and form.is_valid() and is_kept:
        ids = [seen.application.id for seen in able]
        decision = make_decision_from_form(request, member, job.id, ids, form.cleaned_data)
        return redirect("decision", job_id=job.id, decision_id=decision.id)
    if form.is_bound and not is_kept:
        form.add_error(None, consequences.MOVED_ON)
    possible = (
        set.intersection(*(set(possible_decisions_on(seen)) for seen in able)) if able else {}
    )
    whom = people(len(able))
    context = {
        "job": job,
        "tab": "board",
        "form": form,
        "decision_id": decision_id_in_form(request),
        "chosen": able,
        "left_out": [seen for seen in chosen if seen not in able],
        "ids": ",".join(str(seen.application.id) for seen in able),
        "consequence": consequence,
        "choices": [DecisionChoice(each, whom) for each in DECISION_WORDS if each in possible],
        "hire_is_missing": Outcome.HIRED not in possible
        and any(seen.application.status == Status.ACTIVE for seen in able),
        "most_people": MOST_PEOPLE,
        "undo_seconds": settings.DECISION_UNDO_SECONDS,
        **notices,
    }
    status = 422 if form.errors else 200
    return render(request, "company/decide_many.html", context, status=status)


def _consequence_of_bulk_decision(job: Job, leaving: list[SeenApplication]) -> str:
    seats = sum(Status(seen.application.status).holds_seat for seen in leaving)
    free = job.capacity - job.active_count - job.pending_count + seats
    names: list[str] = []
    if seats and free > 0:
        ids = [seen.application.id for seen in leaving]
        names = read_board_next_in_line(job.id, most=min(free, LOOKED_AHEAD), leaving=ids)
    return consequences.consequence_of_many_leaving(job, seats=seats, names=names)


@for_members()
def bulk_decision_page(request: HttpRequest, job_id: UUID, decision_id: UUID) -> HttpResponse:
    """Show how far a decision has taken effect, and for whom it was refused."""
    member, job = own_job(request, job_id)
    decision = read_pending_decision(decision_id)
    if decision is None or decision.job_id != job.id:
        raise Http404
    items = items_of_pending_decision(decision_id)
    states = Counter(item.state for item in items)
    now = database_now()
    return live_page(
        request,
        "company/decision.html",
        "company/_decision.html",
        build=lambda: _bulk_decision_context(member, job, decision, items, states) | {"now": now},
        tag=f"{decision.finished_at}{sorted(states.items())}{decision.due_at <= now}",
        jobs=[job.id],
    )


def _bulk_decision_context(
    member: Member,
    job: Job,
    decision: PendingDecision,
    items: list[DecisionItem],
    states: Counter[str],
) -> dict[str, Any]:
    words = DECISION_WORDS[Outcome(decision.outcome)]
    refused = [
        (item.application, PROBLEM_WORDS[DecisionItem.Problem(item.problem)])
        for item in items
        if item.state == State.REFUSED
    ]
    parts = [f"{people(states[State.DONE])} {words.done}"]
    if states[State.UNDONE]:
        parts.append(f"undone for {states[State.UNDONE]:,}")
    if refused:
        parts.append(f"not possible for {len(refused):,}")
    counted = len(items) - states[State.UNDONE]
    ended = states[State.DONE] + states[State.REFUSED]
    return {
        "member": member,
        "job": job,
        "tab": "board",
        "decision": decision,
        "title": f"{words.verb} {people(len(items))}",
        "done_word": words.done,
        "done": states[State.DONE],
        "ended": ended,
        "counted": counted,
        "percent": 100 * ended // counted if counted else 100,
        "refused": refused,
        "summary": "; ".join(parts) + ".",
        "decided": [item.application for item in items if item.state == State.DONE],
        "poll_seconds": 0 if decision.finished_at else POLL_SECONDS,
        "may_undo": member.may(Action.DECIDE) and states[State.WAITING] > 0,
    }
