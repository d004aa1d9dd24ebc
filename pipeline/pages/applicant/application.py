"""One application of the signed-in applicant: its state, and what its owner can do."""

from __future__ import annotations

from contextlib import suppress
from typing import Any
from uuid import UUID

from django import forms
from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.text import format_lazy
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods, require_safe

from applicants.forms import NameForm
from jobs.models import Job, JobStatus
from pipeline.attachments.reads import attachments_cache_tag, read_attachments
from pipeline.correspondence.threads import Side, count_unread
from pipeline.domain.contests import TEXT_LENGTH
from pipeline.domain.errors import ApplicationNotFound
from pipeline.domain.states import Actor, ActorKind, EventType, Outcome, Status
from pipeline.line.removed_logs import removal_time
from pipeline.mail.links import LinkedOffer, read_offer_token
from pipeline.models import Application, ApplicationRow
from pipeline.notifications.messages import CalendarNote
from pipeline.notifications.rendering import rendered_calendar_entry
from pipeline.pages.access import for_applicants, for_signed_in_applicants, own_application
from pipeline.pages.applicant import answers, application_card, group
from pipeline.pages.applicant.application_card import ApplicationCard, timeline_entry
from pipeline.pages.applicant.my_files import FilesForm
from pipeline.pages.applicant.scene import PlaceScene
from pipeline.pages.consents import privacy_context, privacy_tag
from pipeline.pages.error_messages import attempt
from pipeline.pages.forms import LinesField, PlainForm
from pipeline.pages.live_page import live_page
from pipeline.selectors.applications import (
    SeenApplication,
    count_extensions,
    my_current_offer,
    my_last_events,
    read_application,
)
from pipeline.selectors.emails import emails_cache_tag, read_newest_emails
from pipeline.selectors.exceptions import read_exceptions_passing
from pipeline.selectors.jobs import planned_seats_cache_tag, read_job, read_seat_plans
from pipeline.selectors.review import (
    ShownContest,
    contest_deadline,
    contests_cache_tag,
    read_application_contests,
)
from pipeline.selectors.timelines import last_position_change
from pipeline.services.contests import contest
from pipeline.services.jobs import rename
from pipeline.services.joining import verify
from pipeline.services.leaving import withdraw
from pipeline.services.turns import acknowledge
from pipeline.texts.words import read_decision_texts
from pipeline.wording.english import isolated
from pipeline.wording.exceptions import describe_overtaking
from pipeline.wording.explanations import describe_target
from pipeline.wording.language import in_a_row
from pipeline.wording.language import number as in_digits
from pipeline.wording.waiting import explain_moved_position

LAST_EVENTS = 50
CONFIRMED = gettext_lazy("Seat confirmed.")
WITHDRAWN = gettext_lazy("You have withdrawn and left this line.")
TAKEN_OVER = gettext_lazy("This is your application now. It keeps its place in line.")
RENAMED = gettext_lazy("The company now sees this name.")


@require_safe
@for_applicants
def show(request: HttpRequest, application_id: UUID) -> HttpResponseBase:
    """Show one application to its owner."""
    _person, seen = own_application(request, application_id)
    job, emails = read_job(seen.application.job_id), read_newest_emails(application_id)
    # An offer may have been made between the two reads. The content must not be older than the
    # job's seq in the tag, or the page would not learn of the offer for half a minute.
    seen = read_application(application_id)
    card, plans = ApplicationCard.of(seen, job), read_seat_plans(job.id)
    contests = read_application_contests(application_id)
    may_change_files = seen.application.status == Status.WAITLIST
    until = contest_deadline(seen.application, contests, seen.now)
    claim = group.read_claim(application_id, job)
    review, files = seen.review_age, read_attachments(application_id)
    unread = count_unread([application_id], reader=Side.APPLICANT)

    def my_application_context() -> dict[str, Any]:
        return {
            "card": application_card.add_prospects([card])[0],
            "review": review,
            "aim": _describe_aim(job),
            "scene": PlaceScene.of(job, seen.position or 1) if card.state == "waiting" else None,
            **_read_history(seen.application),
            **group.group_context(card, claim),
            "passed_by": _read_passed_by(job, application_id),
            "emails": emails,
            "plans": plans,
            "company_wrote": read_decision_texts(seen.application)[-1:],
            "contests": [ShownContest.of_contest(each, seen.now) for each in contests],
            "contest_until": until,
            **answers.read_context(card, job, files),
            **_files_context(request, job, may_change=may_change_files),
            "unread_messages": unread,
            **privacy_context(job),
            **_log_context(job),
        }

    return live_page(
        request,
        "applicant/application.html",
        "applicant/_application.html",
        build=my_application_context,
        tag=(
            f"{job.seq} {job.posting.version} {card.state} {card.standing.is_cooling}"
            f" {card.standing.is_deferring} {card.standing.is_accepting}"
            f" {review and review.is_overdue} {until} {contests_cache_tag(contests, seen.now)}"
            f" {may_change_files} {claim} {attachments_cache_tag(files)} {unread}"
            f" {emails_cache_tag(emails)} {planned_seats_cache_tag(plans)} {privacy_tag(job)}"
        ),
        jobs=[job.id],
    )


def _files_context(request: HttpRequest, job: Job, *, may_change: bool) -> dict[str, Any]:
    form = FilesForm(request, job) if may_change else None
    return {"may_change_files": may_change, "files_form": form}


def _log_context(job: Job) -> dict[str, Any]:
    """Return where the job's log ends now, and when it moved to the archive, if it did."""
    return {
        "log_removed_at": removal_time(job),
        "head_seq": job.seq,
        "head_hash": bytes(job.chain_head).hex(),
    }


def _read_passed_by(job: Job, application_id: UUID) -> list[dict[str, str]]:
    """Return what is said of each exception that passed an application, with the company's text."""
    company, zone = isolated(job.company.name), timezone.get_current_timezone()
    return [
        {
            "told": describe_overtaking(
                each.at,
                company=company,
                reason=each.reason,
                people=each.people_passed,
                zone=zone,
            ),
            "text": each.text,
        }
        for each in read_exceptions_passing(job, application_id)
    ]


def _read_history(application: Application | ApplicationRow) -> dict[str, Any]:
    """Return the last events of an application, and why its position has changed."""
    moved = last_position_change(application)
    events = my_last_events(application.id, most=LAST_EVENTS)
    kinds = {event.seq: event.event for event in events.rows}
    return {
        "moved": moved,
        "why_moved": explain_moved_position(moved) if moved else "",
        # Their own miss is what the rest of the page is about.
        "missed": bool(moved and moved.own and moved.event is EventType.DECAYED),
        "lines": [
            timeline_entry(event, cause=kinds.get(event.cause_seq or 0)) for event in events.rows
        ],
        "more_lines": events.more,
    }


@require_http_methods(["GET", "HEAD", "POST"])
@for_applicants
def confirm(request: HttpRequest, application_id: UUID) -> HttpResponseBase:
    """Confirm the offered seat. If it is too late, the next page says so and shows the new place.

    Confirms on POST only. A person who had to sign in first returns here by GET and sees the
    button.
    """
    person, seen = own_application(request, application_id)
    actor = Actor(ActorKind.APPLICANT, person.id)
    if request.method == "POST" and seen.application.status != Status.ACTIVE:
        attempt(
            request, lambda: acknowledge(application_id=application_id, actor=actor), done=CONFIRMED
        )
    return redirect("my_application", application_id)


@require_http_methods(["GET", "HEAD", "POST"])
@for_signed_in_applicants
def withdraw_seat(request: HttpRequest, application_id: UUID) -> HttpResponseBase:
    """Explain the consequences, then withdraw on POST. Does nothing if already withdrawn."""
    person, seen = own_application(request, application_id)
    if seen.application.outcome == Outcome.WITHDRAWN:
        return redirect("my_application", application_id)
    card = ApplicationCard.of(seen, read_job(seen.application.job_id))
    if request.method == "POST":
        actor = Actor(ActorKind.APPLICANT, person.id)
        attempt(
            request, lambda: withdraw(application_id=application_id, actor=actor), done=WITHDRAWN
        )
        return redirect("my_application", application_id)
    if not card.may_withdraw:
        messages.info(request, _("This application has ended, so there is nothing to withdraw."))
        return redirect("my_application", application_id)
    context = {"card": card, "then": withdrawal_consequence(card)}
    return render(request, "applicant/withdraw.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
@for_signed_in_applicants
def take_over(request: HttpRequest, application_id: UUID) -> HttpResponseBase:
    """Verify an application that was made with the person's address, and set its name, on POST."""
    person, seen = own_application(request, application_id)
    card = ApplicationCard.of(seen, read_job(seen.application.job_id))
    if not card.may_rename:
        return redirect("my_application", application_id)
    if request.method != "POST":
        form = NameForm(initial={"name": seen.application.name})
        return render(request, "applicant/take_over.html", {"card": card, "form": form})
    form = NameForm(request.POST)
    if not form.is_valid():
        context = {"card": card, "form": form}
        return render(request, "applicant/take_over.html", context, status=422)
    name, actor = form.cleaned_data["name"], Actor(ActorKind.APPLICANT, person.id)

    def verify_and_rename_my_application() -> None:
        verify(application_id=application_id, actor=actor)
        rename(application_id=application_id, name=name)

    attempt(
        request, verify_and_rename_my_application, done=TAKEN_OVER if card.may_verify else RENAMED
    )
    return redirect("my_application", application_id)


def _describe_aim(job: Job) -> str:
    """Return how soon the company aims to decide, in words; empty without a target."""
    clock = job.review_clock
    if clock is None:
        return ""
    return describe_target(clock.target_seconds, works=clock.hours is not None)


def withdrawal_consequence(card: ApplicationCard) -> str:
    """Say what happens to the applicant's place or seat if they withdraw now."""
    if card.state == "waiting":
        position, waiting = card.seen.position or 1, card.seen.people_waiting
        place = _("You are number %(place)s of %(people)s in line.") % {
            "place": in_digits(position),
            "people": in_digits(waiting),
        }
        if position >= waiting:
            return place
        return in_a_row(place, _("If you withdraw, everyone behind you moves up."))
    if card.state == "drawing":
        return _("The order is not drawn yet. If you withdraw, you take no part in the draw.")
    if card.state == "late":
        return _("The time to confirm is over, and the seat is no longer yours.")
    if card.state == "unverified":
        return _("No seat is held or offered. If you withdraw, the application ends at once.")
    is_held = card.state == "active"
    has = _("You have a seat.") if is_held else _("You have been offered a seat.")
    return in_a_row(has, _seat_consequence(card.job))


def _seat_consequence(job: Job) -> str:
    """Say what happens to a seat that an applicant gives up.

    After settling, an open job has free seats only if nobody on the waitlist can be offered one.
    """
    if job.status == JobStatus.CLOSED:
        return _("The job is closed. If you withdraw, nobody else is offered the seat.")
    if job.active_count + job.pending_count > job.capacity:
        return _(
            "The job has fewer seats than before. If you withdraw, this one is not offered again."
        )
    if job.status == JobStatus.PAUSED:
        return _("The job is paused. If you withdraw, the seat stays free until the job resumes.")
    if job.is_filled:
        return _("All positions are filled. If you withdraw, nobody else is offered the seat.")
    if not job.people_waiting:
        return _(
            "Nobody is waiting. If you withdraw, the next person who applies can take the seat."
        )
    if job.seats_free:
        return _(
            "Nobody on the waitlist can take a seat right now. If you withdraw, the seat stays free"
            " until someone can."
        )
    return _(
        "If you withdraw, the seat is offered at once to the first person in line who can take it."
    )


# The deadline of an applicant's offer as a file for their calendar.


@require_safe
@for_applicants
def download_deadline(request: HttpRequest, application_id: UUID) -> HttpResponse:
    """Return the same entry as in the emails about the offer; without an offer, go back."""
    _person, seen = own_application(request, application_id)
    seq = my_current_offer(application_id)
    found = None if seq is None else _calendar_answer(seen, LinkedOffer(application_id, seq))
    return found or redirect("my_application", application_id)


@require_safe
def download_linked_deadline(request: HttpRequest, token: str) -> HttpResponse:
    """Return the same through an offer's emailed link; if the offer is over, open its page."""
    offer, found = read_offer_token(token), None
    if offer is not None and my_current_offer(offer.application_id) == offer.seq:
        with suppress(ApplicationNotFound):
            found = _calendar_answer(read_application(offer.application_id), offer)
    return found or redirect("confirm_offer", token)


def _calendar_answer(seen: SeenApplication, offer: LinkedOffer) -> HttpResponse | None:
    deadline = seen.application.acknowledge_by
    if deadline is None or deadline <= seen.now:
        return None
    title = read_job(seen.application.job_id).posting.title
    text = rendered_calendar_entry(
        _("Your turn: confirm your seat for “%(title)s”") % {"title": title},
        CalendarNote(sequence=count_extensions(seen.application)),
        offer=offer,
        deadline=deadline,
        now=seen.now,
    )
    response = HttpResponse(text, content_type="text/calendar; charset=utf-8")
    response["Content-Disposition"] = 'attachment; filename="deadline.ics"'
    response["Cache-Control"] = "private, no-store"
    return response


# Page on which an applicant asks the company to look again at how an application ended.


ASKED = gettext_lazy("Sent. The company will look again, and we will email you its answer.")
NOT_NOW = gettext_lazy("You cannot ask the company to look again.")


class ContestForm(PlainForm):
    """Form for information that the company should have when it looks again."""

    text = LinesField(
        label=gettext_lazy("What should the company know?"),
        max_length=TEXT_LENGTH,
        widget=forms.Textarea(attrs={"rows": 8}),
        help_text=format_lazy(
            # Translators: the number of characters is large, as 2,000.
            gettext_lazy(
                "Say what is wrong, or what the company could not know. Only the company and you"
                " can read this. At most {most} characters."
            ),
            most=in_digits(TEXT_LENGTH),
        ),
    )


@require_http_methods(["GET", "HEAD", "POST"])
@for_signed_in_applicants
def ask_to_look_again(request: HttpRequest, application_id: UUID) -> HttpResponse:
    """Show the form; on POST, send the text to the company."""
    person, seen = own_application(request, application_id)
    contests = read_application_contests(application_id)
    until = contest_deadline(seen.application, contests, seen.now)
    if until is None:
        messages.info(request, NOT_NOW)
        return redirect("my_application", application_id)
    form = ContestForm(request.POST or None)
    if form.is_valid():
        actor, text = Actor(ActorKind.APPLICANT, person.id), form.cleaned_data["text"]
        attempt(
            request,
            lambda: contest(application_id=application_id, text=text, actor=actor),
            done=ASKED,
        )
        return redirect("my_application", application_id)
    context = {
        "card": ApplicationCard.of(seen, read_job(seen.application.job_id)),
        "form": form,
        "until": until,
        "days": settings.CONTEST_DAYS,
    }
    return render(request, "applicant/contest.html", context, status=422 if form.errors else 200)
