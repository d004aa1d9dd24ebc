"""The buttons that run a job: open, pause, close, its seats, and putting somebody into the line."""

from __future__ import annotations

from collections.abc import Callable
from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST

from applicants.services import find_or_create_applicant
from jobs.models import Job, JobStatus
from pipeline.domain.errors import JobNotOpen, LineError
from pipeline.domain.permissions import Action
from pipeline.domain.states import Status
from pipeline.pages.access import Member, for_members, own_job
from pipeline.pages.company import consequences
from pipeline.pages.company.forms import CapacityForm, PersonForm
from pipeline.pages.error_messages import NOT_FOUND, attempt, words_for
from pipeline.selectors.applications import Seen, read_application
from pipeline.selectors.board import LOOKED_AHEAD, next_in_line, promoted_since
from pipeline.selectors.people import decided_before
from pipeline.services.apply import apply
from pipeline.services.lifecycle import close_job, open_job, pause_job
from pipeline.services.update_job import JobChanges, update_job
from pipeline.wording.english import count, people


@require_POST
@for_members(Action.OPEN_OR_PAUSE_JOB)
def job_open(request: HttpRequest, job_id: UUID) -> HttpResponse:
    """Open a draft, or resume a paused job."""
    member, job = own_job(request, job_id, Action.OPEN_OR_PAUSE_JOB)
    done = "The job is open: people can apply."
    return _act(request, job, done, lambda: open_job(job_id=job_id, actor=member.actor))


@require_POST
@for_members(Action.OPEN_OR_PAUSE_JOB)
def job_pause(request: HttpRequest, job_id: UUID) -> HttpResponse:
    """Pause a job."""
    member, job = own_job(request, job_id, Action.OPEN_OR_PAUSE_JOB)
    done = "The job is paused: nobody can apply and nobody is promoted. Deadlines run on."
    return _act(request, job, done, lambda: pause_job(job_id=job_id, actor=member.actor))


@for_members(Action.CLOSE_JOB)
def job_close(request: HttpRequest, job_id: UUID) -> HttpResponse:
    """Ask once who is let go by closing a job for good; then close it."""
    member, job = own_job(request, job_id, Action.CLOSE_JOB)
    if request.method != "POST":
        let_go = job.waitlist_count + job.pending_count
        context = {"job": job, "tab": "board", "let_go": let_go}
        return render(request, "company/close.html", context)
    done = "The job is closed for good."
    return _act(request, job, done, lambda: close_job(job_id=job_id, actor=member.actor))


def _act(request: HttpRequest, job: Job, done: str, verb: Callable[[], object]) -> HttpResponse:
    """Do something with a job and say on its board what came of it."""
    if attempt(request, lambda: (verb(), True)):
        messages.success(
            request, done + consequences.were_promoted(*promoted_since(job.id, job.seq))
        )
    return redirect("board", job_id=job.id)


@for_members(Action.CHANGE_RULES)
def job_capacity(request: HttpRequest, job_id: UUID) -> HttpResponse:
    """Ask for a number of seats, say what it will do, and then do it."""
    member, job = own_job(request, job_id, Action.CHANGE_RULES)
    if job.status == JobStatus.CLOSED:
        return _capacity_page(request, job, CapacityForm(), None, "")
    given = request.POST or request.GET
    form = CapacityForm(given if "capacity" in given else None, initial={"capacity": job.capacity})
    if not (form.is_bound and form.is_valid()):
        return _capacity_page(request, job, form, None, "")
    wanted = form.cleaned_data["capacity"]
    follows = _what_follows(job, wanted)
    if request.method == "POST":
        if request.POST.get("promised", follows) == follows:
            return _change_capacity(request, member, job, wanted)
        form.add_error(None, consequences.MOVED_ON)
    return _capacity_page(request, job, form, wanted, follows)


def _what_follows(job: Job, wanted: int) -> str:
    added = wanted - job.active_count - job.pending_count
    names = next_in_line(job.id, most=min(added, LOOKED_AHEAD)) if added > 0 else []
    return consequences.of_capacity(job, wanted, names)


def _capacity_page(
    request: HttpRequest, job: Job, form: CapacityForm, wanted: int | None, follows: str
) -> HttpResponse:
    context = {"job": job, "tab": "settings", "form": form, "wanted": wanted, "follows": follows}
    if wanted is not None:
        promotes = " promoted at once" in follows and not follows.startswith("All")
        button = f"Change to {count(wanted, 'seat')}"
        context["button"] = f"{button}: {follows.removesuffix('.')}" if promotes else button
        context["lowers"] = wanted < job.capacity
    is_refused = form.errors or (request.method == "POST" and job.status == JobStatus.CLOSED)
    return render(request, "company/capacity.html", context, status=422 if is_refused else 200)


def _change_capacity(request: HttpRequest, member: Member, job: Job, wanted: int) -> HttpResponse:
    over = job.active_count + job.pending_count - wanted
    keep = f" {people(over)} above it keep their seats: it drains."
    drains = keep if over > 0 else ""
    return _act(
        request,
        job,
        f"The job has {count(wanted, 'seat')} now.{drains}",
        lambda: update_job(job_id=job.id, changes=JobChanges(capacity=wanted), actor=member.actor),
    )


@for_members(Action.SUBMIT_APPLICATION)
def add_person(request: HttpRequest, job_id: UUID) -> HttpResponse:
    """Put somebody into the line, with a proved address: the company answers for it."""
    member, job = own_job(request, job_id, Action.SUBMIT_APPLICATION)
    form = PersonForm(request.POST or None)
    before = decided_before(job.id, form.cleaned_data["email"]) if form.is_valid() else None
    is_asked = before is not None and request.POST.get("again") != str(before.id)
    if form.is_valid() and not is_asked:
        try:
            return _add(request, member, job, form)
        except NOT_FOUND:
            raise
        except LineError as error:
            form.add_error(None, words_for(error))
    context = {
        "job": job,
        "tab": "board",
        "form": form,
        "before": before if is_asked else None,
        "gets_seat": _has_seat_for_newcomer(job),
    }
    return render(request, "company/add.html", context, status=422 if form.errors else 200)


def _has_seat_for_newcomer(job: Job) -> bool:
    """Whether a seat is free which nobody who waits could have, for cool-downs."""
    free = job.seats_free
    return free > 0 and len(next_in_line(job.id, most=min(free, LOOKED_AHEAD))) < free


def _add(request: HttpRequest, member: Member, job: Job, form: PersonForm) -> HttpResponse:
    if job.status != JobStatus.OPEN:
        raise JobNotOpen(status=job.status)  # before anything of the person is kept
    person = find_or_create_applicant(form.cleaned_data["email"])
    name = form.cleaned_data["name"]
    added = apply(job_id=job.id, applicant_id=person.id, name=name, actor=member.actor)
    messages.success(request, f"{name} {_place(read_application(added.id))}.")
    return redirect("board", job_id=job.id)


def _place(seen: Seen) -> str:
    match seen.application.status:
        case Status.ACTIVE:
            return "has a seat now, and is in review"
        case Status.PENDING_ACKNOWLEDGMENT:
            return "was offered a seat, and has to confirm it before the deadline"
    return f"waits in line now, as number {seen.position:,}"
