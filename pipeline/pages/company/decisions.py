"""Decisions on people: on one, on several together, and undoing them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_POST

from jobs.companies import UndoTimes
from jobs.models import Job, JobStatus
from pipeline.database import instants
from pipeline.domain.errors import LastPosition, PositionsFilled
from pipeline.domain.permissions import Action
from pipeline.domain.states import DECISIONS, Outcome, Reason, Status
from pipeline.domain.verbs import MOVES
from pipeline.models import DecisionItem, PendingDecision
from pipeline.pages.access import (
    Member,
    for_members,
    own_job,
    require_permission,
)
from pipeline.pages.company import consequences, decision_words
from pipeline.pages.company.application_filters import UnusableFilters, chosen_people
from pipeline.pages.company.decision_words import PROBLEM_WORDS
from pipeline.pages.company.forms import HIRE_AND_CLOSE, HIRE_AND_GO_ON, DecisionForm
from pipeline.pages.error_messages import attempt, explain_refusal
from pipeline.pages.live_page import live_page
from pipeline.review import decisions
from pipeline.review.decisions import MOST_PEOPLE
from pipeline.selectors.applications import SeenApplication
from pipeline.selectors.board import LOOKED_AHEAD, read_next_names, read_promoted
from pipeline.selectors.jobs import read_job
from pipeline.selectors.review import (
    MOST_LISTED,
    MOST_SHOWN,
    Neighbours,
    ShownPendingDecision,
    pending_decision_items,
    read_awaited_decisions,
    read_pending_decision,
    shown_pending_decisions,
)
from pipeline.texts.letterheads import letterhead_of
from pipeline.texts.words import read_sentences
from pipeline.wording.english import isolated
from pipeline.wording.events import DECISION_MEANINGS, REASON_WORDS
from pipeline.wording.language import number as in_digits

# Notices on a job's pages of decisions that have not taken effect, or not on everyone.


NEAR = timedelta(minutes=1)
# Where a form that undoes a decision leads back to, if not to the board or to an application.
LIST = "decisions"


@dataclass(frozen=True, slots=True)
class DecisionNotice:
    """A decision in words: its effect, or the people for whom it was refused."""

    of: ShownPendingDecision

    @property
    def title(self) -> str:
        """Return what it will do and to whom, or for whom it was refused."""
        of, outcome = self.of, Outcome(self.of.outcome)
        if of.is_open:
            return decision_words.describe_waiting(
                outcome, of.waiting_names, of.waiting, closes_job=of.closes_job
            )
        return decision_words.describe_refused(
            outcome, of.refused_names, of.refused, of.total - of.refused
        )

    @property
    def reason(self) -> str:
        """Return why, as the company chose it; empty if it did not say, or it is over."""
        is_said = self.of.reason and self.of.is_open
        return str(REASON_WORDS[Reason(self.of.reason)]) if is_said else ""

    @property
    def is_due(self) -> bool:
        """Tell whether it takes effect at any moment."""
        return self.of.due_at <= self.of.now

    @property
    def is_near(self) -> bool:
        """Tell whether it takes effect so soon that seconds count."""
        return self.of.due_at - self.of.now < NEAR


def read_notices(
    job_id: UUID, member: Member, *, first: UUID | None = None, most: int = MOST_SHOWN
) -> dict[str, Any]:
    """Return the notices of a job as template context, and the decisions that people await.

    The latest decisions come first, the one with the id `first` before them.
    """
    found = shown_pending_decisions(job_id, most=most)
    found.sort(key=lambda each: (each.id == first, each.is_open, each.due_at), reverse=True)
    return {
        "decisions": [DecisionNotice(each) for each in found],
        "awaited": read_awaited_decisions(job_id=job_id) if found else {},
        "may_undo": member.may(Action.DECIDE),
    }


@for_members()
def index(request: HttpRequest, job_id: UUID) -> HttpResponse:
    """Show the decisions of a job that wait, each with a button that undoes it."""
    member, job = own_job(request, job_id)
    notices = read_notices(job.id, member, most=MOST_LISTED)
    told = [
        (each.of.id, each.of.waiting, each.of.is_open, each.is_due) for each in notices["decisions"]
    ]
    context = {
        "member": member,
        "job": job,
        "tab": "board",
        "is_list": True,
        "undo_next": LIST,
        "most": MOST_LISTED,
        "wait": consequences.describe_undo(UndoTimes.of(member.company)),
        **notices,
    }
    return live_page(
        request,
        "company/decisions.html",
        "company/_decisions_list.html",
        build=lambda: context,
        tag=f"{context['wait']}{told}",
        jobs=[job.id],
    )


# States of people on whom a decision cannot be undone.
DECIDED = (DecisionItem.State.DECIDING, DecisionItem.State.DONE)
NEXT = "next"  # the value of `then` in the URL: go on with the next person
REASON = "reason"  # in the URL: the reason of the decision before, to start with


@dataclass(frozen=True, slots=True)
class DecisionChoice:
    """A button of a decision form, on one person by name or on several by number."""

    outcome: Outcome
    whom: str | int
    close_job: bool | None = None  # what follows if this fills the last position
    released: int = 0  # people without a confirmed seat, who leave the line if the job closes

    @property
    def value(self) -> str:
        """Return what the button sends."""
        if self.close_job is None:
            return self.outcome.value
        return HIRE_AND_CLOSE if self.close_job else HIRE_AND_GO_ON

    @property
    def button(self) -> str:
        """Return its label."""
        if isinstance(self.whom, int):
            return decision_words.label_act_on_many(
                self.outcome, self.whom, close_job=self.close_job
            )
        return decision_words.label_act(self.outcome, self.whom, close_job=self.close_job)

    @property
    def and_next(self) -> str:
        """Return the label of a button that goes on with the next person; empty without one."""
        return decision_words.label_act_and_next(self.outcome) if self.close_job is None else ""

    @property
    def meaning(self) -> str:
        """Return what the decision means."""
        if self.close_job:
            return ngettext(
                "The job closes: %(count)s person without a confirmed seat is released.",
                "The job closes: %(count)s people without a confirmed seat are released.",
                self.released,
            ) % {"count": in_digits(self.released)}
        if self.close_job is False:
            return _("The job gets one position more, and the line goes on.")
        return str(DECISION_MEANINGS[self.outcome])

    @property
    def is_explained(self) -> bool:
        """Tell whether the button alone does not say what the decision means."""
        return self.close_job is not None or self.outcome is Outcome.REMOVED

    @property
    def key(self) -> str:
        """Return the key that leads to the button."""
        if self.close_job is False:
            return ""
        return {Outcome.HIRED: "h", Outcome.REJECTED: "r"}.get(self.outcome, "")

    @property
    def tone(self) -> str:
        """Return the class of the button."""
        if self.close_job is False:
            return ""
        return "primary" if self.outcome is Outcome.HIRED else "danger"


def _offer_choices(
    member: Member, job: Job, possible: Collection[Outcome], whom: str | int, left: int | None
) -> list[DecisionChoice]:
    """Return the buttons for a person or a number of people.

    At the last position, hiring them asks what follows.

    `left`: how many positions are left. Only people who may change rules add a position.
    """
    hired = whom if isinstance(whom, int) else 1
    choices = [DecisionChoice(each, whom) for each in DECISION_MEANINGS if each in possible]
    if left is None or hired < left or Outcome.HIRED not in possible:
        return choices
    others = [each for each in choices if each.outcome is not Outcome.HIRED]
    if hired == left and job.status == JobStatus.CLOSED:
        return choices
    hire = DecisionChoice(
        Outcome.HIRED, whom, close_job=True, released=job.waitlist_count + job.pending_count
    )
    asked = [hire] if hired == left else []
    if member.may(Action.CHANGE_RULES):
        asked.append(replace(hire, close_job=False))
    return asked + others


def _describe_positions(job: Job, left: int | None, hired: int) -> str:
    """Say that hiring this number of people fills the last position, or is too many."""
    if left is None or hired < left:
        return ""
    if hired > left and not left:
        return _("All positions of this job are filled, or about to be.")
    if hired > left:
        return ngettext(
            "%(left)s position is left, fewer than the people chosen.",
            "%(left)s positions are left, fewer than the people chosen.",
            left,
        ) % {"left": in_digits(left)}
    if job.status == JobStatus.CLOSED:
        return ""
    return ngettext("This fills the last position.", "This fills the last positions.", hired)


def read_decision(
    member: Member, seen: SeenApplication, job: Job, form: DecisionForm
) -> dict[str, Any]:
    """Return the form of a decision on an application, with its consequence, as context."""
    possible = possible_outcomes(seen)
    name = isolated(seen.application.name or seen.address or _("this person"))
    left = decisions.count_positions_left(job) if Outcome.HIRED in possible else None
    consequence = _describe_consequence(seen, job)
    # When the button is pressed, only the consequence for the seat must still be the same. The
    # number of people waiting behind changes all the time, and no decision depends on it.
    holds_seat = Status(seen.application.status).holds_seat
    return {
        "form": form,
        "has_sentences": letterhead_of(member.company).has_texts,
        "wait": consequences.describe_undo(UndoTimes.of(member.company)),
        "promise": consequence if holds_seat else Status.WAITLIST.value,
        "consequence": consequence,
        "choices": _offer_choices(member, job, possible, name, left),
        "positions": _describe_positions(job, left, 1),
    }


FILL = "fill"  # the button that puts the company's sentence into the form


def begin_form(member: Member, data: QueryDict, reason: str = "") -> DecisionForm:
    """Return a decision form that is not sent yet, with the company's sentence for its reason.

    `data`: what was typed, if the sentence was asked for.
    """
    typed = {name: data.get(name, "") for name in TYPED if name in data}
    reason = typed.get("reason", reason)
    sentence = read_sentences(member.company).get(reason, "")
    form = DecisionForm(
        initial=typed | {"reason": reason, "text": sentence or typed.get("text", "")}
    )
    if FILL in data:
        form.fields["text"].widget.attrs["autofocus"] = True
    return form


# What was typed for a decision that is undone: the session keeps it until the next page shows it.
TYPED, UNDONE = ("reason", "note", "text"), "undone_decision"


def _keep_typed(request: HttpRequest, decision: PendingDecision | None) -> UUID | None:
    """Keep what was typed for a decision on one person, and return the application."""
    if decision is None or not (decision.text or decision.note):
        return None
    about = list(decision.items.values_list("application_id", flat=True)[:2])
    if len(about) > 1:
        return None
    typed = {name: getattr(decision, name) for name in TYPED}
    request.session[UNDONE] = typed | {"application": str(about[0])}
    return about[0]


def take_typed(request: HttpRequest, application_id: UUID) -> DecisionForm | None:
    """Return the form of a decision on an application that was just undone, as it was typed."""
    kept = request.session.pop(UNDONE, None)
    if kept is None or kept.pop("application") != str(application_id):
        return None
    return DecisionForm(initial=kept)


def possible_outcomes(seen: SeenApplication) -> list[Outcome]:
    """Return the decisions that the table of moves allows on an application now."""
    status = Status(seen.application.status)
    return [outcome for outcome, move in DECISIONS.items() if (status, move) in MOVES]


def sent_id(request: HttpRequest) -> UUID:
    """Return the id that the sent form gives its decision, or a new one."""
    try:
        return UUID(request.POST.get("decision", ""))
    except ValueError:
        return uuid4()


def _describe_consequence(seen: SeenApplication, job: Job) -> str:
    """Describe what happens to the seat, or to the people behind in line."""
    if Status(seen.application.status).holds_seat:
        return consequences.describe_opened_seat(
            job, next(iter(read_next_names(job.id, most=1)), None)
        )
    if seen.position is None:
        return _("nobody moves up, because an unverified application is not counted")
    return consequences.describe_moving_up(seen.people_waiting - seen.position)


def decide_one(
    request: HttpRequest,
    member: Member,
    seen: SeenApplication,
    job: Job,
    given: dict[str, Any],
    neighbours: Neighbours,
) -> HttpResponse:
    """Make the decision of a valid form, and lead on. Raises LastPosition, PositionsFilled."""
    decision = make(request, member, job.id, [seen.application.id], given)
    if refused := _undecided_reason(pending_decision_items(decision.id), seen.application.id):
        messages.error(request, _("Nothing was decided: %(why)s.") % {"why": refused})
        return redirect("application", application_id=seen.application.id)
    if decision.finished_at:
        _show_success(request, member, seen, job, Outcome(decision.outcome))
    if request.GET.get("then") == NEXT and neighbours.after:
        same = QueryDict(mutable=True)
        same[REASON] = given["reason"]
        url = reverse("decide", kwargs={"application_id": neighbours.after})
        return redirect(f"{url}?{same.urlencode()}")
    # The address leads the keyboard to the notice, where Undo is; without one, to the page's top.
    return redirect(f"{reverse('board', args=[job.id])}#decision-{decision.id}")


def _undecided_reason(items: list[DecisionItem], application_id: UUID) -> str:
    """Say why a form decided nothing on an application; return an empty string if it did.

    A browser can send a form again after it has made its decision: after a reload, or from its
    cache.
    """
    if [item.application_id for item in items] != [application_id]:
        return _("this form was already used for another decision; decide again")
    if items[0].state == DecisionItem.State.UNDONE:
        return _("this decision was undone; decide again")
    return str(PROBLEM_WORDS[items[0].problem]) if items[0].problem else ""


def _show_success(
    request: HttpRequest, member: Member, seen: SeenApplication, job: Job, outcome: Outcome
) -> None:
    promoted = consequences.describe_done_promotion(*read_promoted(job.id, job.seq))
    advice = ""
    if outcome == Outcome.HIRED and read_job(job.id).status != JobStatus.CLOSED:
        advice = _advise_after_hire(job, may_close=member.may(Action.CLOSE_JOB))
    name = isolated(seen.application.name or seen.address or _("this person"))
    done = decision_words.describe_done(outcome, name)
    messages.success(request, f"{done}{promoted}{advice}")


def _advise_after_hire(job: Job, *, may_close: bool) -> str:
    """Say what a member can do who looks for nobody else; return an empty string for nothing."""
    may_pause = job.status == JobStatus.OPEN
    if may_pause and may_close:
        advice = _("If you are not looking for anyone else, pause the job or close it.")
    elif may_pause:
        advice = _("If you are not looking for anyone else, pause the job.")
    elif may_close:
        advice = _("If you are not looking for anyone else, close the job.")
    else:
        return ""
    return f" {advice}"


def make(
    request: HttpRequest,
    member: Member,
    job_id: UUID,
    application_ids: list[UUID],
    given: dict[str, Any],
) -> PendingDecision:
    """Make the decision that a valid form holds. Raises LastPosition, PositionsFilled."""
    if given["close_job"] is False:
        require_permission(member, Action.CHANGE_RULES)
    return decisions.make(
        decision_id=sent_id(request),
        job_id=job_id,
        application_ids=application_ids,
        outcome=Outcome(given["outcome"]),
        actor=member.actor,
        reason=Reason(given["reason"]) if given["reason"] else None,
        note=given["note"],
        text=given["text"],
        close_job=given["close_job"],
    )


@require_POST
@for_members(Action.DECIDE)
def undo(request: HttpRequest, job_id: UUID, decision_id: UUID) -> HttpResponse:
    """Undo a decision of the member or of a colleague."""
    member, job = own_job(request, job_id, Action.DECIDE)
    decision = read_pending_decision(decision_id)
    undone = attempt(
        request,
        lambda: (decisions.undo(decision_id=decision_id, job_id=job.id, actor=member.actor),),
    )
    if undone:
        decided = sum(item.state in DECIDED for item in pending_decision_items(decision_id))
        messages.success(request, decision_words.describe_undone(undone[0], decided))
        if application_id := undone[0] and _keep_typed(request, decision):
            return redirect("decide", application_id=application_id)
    back = request.POST.get("next", "")
    if back == LIST:
        return redirect("decisions", job_id=job.id)
    with suppress(ValueError):
        return redirect("application", application_id=UUID(back))
    return redirect("board", job_id=job.id)


# Decision on several people together: the form with its consequence, and the progress.


POLL_SECONDS = 2

State = DecisionItem.State


@for_members(Action.DECIDE)
def decide_many(request: HttpRequest, job_id: UUID) -> HttpResponse:
    """Show the people chosen on the board and the consequence of the decision; then decide."""
    member, job = own_job(request, job_id, Action.DECIDE)
    notices = read_notices(job.id, member)
    try:
        chosen = chosen_people(request, job)
    except UnusableFilters as error:
        messages.error(request, str(error))
        return redirect("applications", job_id=job.id)
    able = [
        seen
        for seen in chosen
        if possible_outcomes(seen) and seen.application.id not in notices["awaited"]
    ]
    form = _read_form(request, member)
    consequence = _bulk_consequence(job, able)
    is_kept = request.POST.get("promised", consequence) == consequence
    if able and form.is_valid() and is_kept:
        ids = [seen.application.id for seen in able]
        try:
            decision = make(request, member, job.id, ids, form.cleaned_data)
            url = reverse("decision", kwargs={"job_id": job.id, "decision_id": decision.id})
            return redirect(f"{url}#decision-{decision.id}")
        except (LastPosition, PositionsFilled) as error:
            form.add_error(None, explain_refusal(error))
    if form.is_bound and not is_kept:
        form.add_error(None, consequences.MOVED_ON)
    possible = set.intersection(*(set(possible_outcomes(seen)) for seen in able)) if able else {}
    left = decisions.count_positions_left(job) if Outcome.HIRED in possible else None
    context = {
        "job": job,
        "tab": "board",
        "form": form,
        "has_sentences": letterhead_of(member.company).has_texts,
        "decision_id": sent_id(request),
        "chosen": able,
        "left_out": [seen for seen in chosen if seen not in able],
        "ids": ",".join(str(seen.application.id) for seen in able),
        "consequence": consequence,
        "choices": _offer_choices(member, job, possible, len(able), left),
        "positions": _describe_positions(job, left, len(able)),
        "hire_is_missing": Outcome.HIRED not in possible
        and any(seen.application.status == Status.ACTIVE for seen in able),
        "most_people": MOST_PEOPLE,
        "wait": consequences.describe_undo(UndoTimes.of(member.company)),
        **notices,
    }
    status = 422 if form.errors else 200
    return render(request, "company/decide_many.html", context, status=status)


def _read_form(request: HttpRequest, member: Member) -> DecisionForm:
    """Return the form as it was sent; before that, with the company's sentence for its reason."""
    if "outcome" in request.POST:
        return DecisionForm(request.POST)
    return begin_form(member, request.POST)


def _bulk_consequence(job: Job, leaving: list[SeenApplication]) -> str:
    seats = sum(Status(seen.application.status).holds_seat for seen in leaving)
    free = job.capacity - job.active_count - job.pending_count + seats
    names: list[str] = []
    if seats and free > 0:
        ids = [seen.application.id for seen in leaving]
        names = read_next_names(job.id, most=min(free, LOOKED_AHEAD), leaving=ids)
    return consequences.describe_many_leaving(job, seats=seats, names=names)


@for_members()
def show_bulk(request: HttpRequest, job_id: UUID, decision_id: UUID) -> HttpResponse:
    """Show how far a decision has taken effect, and for whom it was refused."""
    member, job = own_job(request, job_id)
    decision = read_pending_decision(decision_id)
    if decision is None or decision.job_id != job.id:
        raise Http404
    items = pending_decision_items(decision_id)
    states = Counter(item.state for item in items)
    now = instants.now()
    return live_page(
        request,
        "company/decision.html",
        "company/_decision.html",
        build=lambda: _bulk_context(member, job, decision, items, states) | {"now": now},
        tag=f"{decision.finished_at}{sorted(states.items())}{decision.due_at <= now}",
        jobs=[job.id],
    )


def _bulk_context(
    member: Member,
    job: Job,
    decision: PendingDecision,
    items: list[DecisionItem],
    states: Counter[str],
) -> dict[str, Any]:
    outcome, done = Outcome(decision.outcome), states[State.DONE]
    refused = [
        (item.application, PROBLEM_WORDS[item.problem])
        for item in items
        if item.state == State.REFUSED
    ]
    counted = len(items) - states[State.UNDONE]
    ended = done + states[State.REFUSED]
    return {
        "member": member,
        "job": job,
        "tab": "board",
        "decision": decision,
        "title": decision_words.label_act_on_many(outcome, len(items)),
        "done_words": decision_words.count_done(outcome, done),
        "ended": ended,
        "counted": counted,
        "percent": 100 * ended // counted if counted else 100,
        "refused": refused,
        "summary": decision_words.summarize(
            outcome, done=done, undone=states[State.UNDONE], refused=len(refused)
        ),
        "decided": [item.application for item in items if item.state == State.DONE],
        "poll_seconds": 0 if decision.finished_at else POLL_SECONDS,
        "may_undo": member.may(Action.DECIDE) and states[State.WAITING] > 0,
    }
