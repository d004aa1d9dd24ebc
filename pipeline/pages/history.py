"""Replay: a job's line at any past moment, and the differences between two moments."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta, tzinfo
from typing import Any
from urllib.parse import urlencode
from uuid import UUID
from zoneinfo import ZoneInfo

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.dateparse import parse_datetime
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext, pgettext_lazy
from django.views.decorators.http import require_safe

from jobs.models import Job, JobStatus
from pipeline.audit.verify import Verdict, verify_job
from pipeline.database import instants
from pipeline.domain.errors import FutureMoment, NoSuchMoment, VerifierBusy
from pipeline.domain.states import EventType
from pipeline.files.exports import LONG_LOG
from pipeline.files.stored import FILE_KEPT_DAYS
from pipeline.pages import event_rows, limits, page_urls
from pipeline.pages.access import for_members, own_job
from pipeline.pages.event_rows import EventRow
from pipeline.pages.forms import NotedEventForm
from pipeline.pages.limits import TooOften, time_limited
from pipeline.pages.line_picture import LinePicture
from pipeline.pages.live_page import live_page
from pipeline.selectors import past
from pipeline.selectors.pages import Page
from pipeline.selectors.past import (
    MOST_COMPARED,
    MOST_FOLDED,
    Difference,
    PastPlace,
    PastState,
)
from pipeline.selectors.people import Found, search_names
from pipeline.selectors.timelines import (
    MOST_COUNTED,
    TIMELINE_SHOWN,
    EventTree,
    Wanted,
    read_event_trees,
    read_names,
    read_wanted_event_trees,
)
from pipeline.templatetags.line import tag_time_in_short
from pipeline.wording.english import isolated
from pipeline.wording.events import EVENT_FILTERS, label_status
from pipeline.wording.language import number as in_digits
from tasks import time_zones

# Headings of the differences between two moments, in the order in which they are shown.
DIFFERENCES = {
    "seated": gettext_lazy("Offered a seat"),
    "confirmed": gettext_lazy("Confirmed their seat"),
    "joined": pgettext_lazy("people", "Joined"),
    "returned": gettext_lazy("Came back: their place was given back"),
    "left": pgettext_lazy("people", "Left"),
    "lost": gettext_lazy("Lost their offer and are waiting again"),
    "verified": gettext_lazy("Verified the email address"),
    "drawn": gettext_lazy("Got a place by the draw"),
    "moved": gettext_lazy("Moved in line"),
    "passed": gettext_lazy("Joined and left in between"),
}

BEFORE_ALL = gettext_lazy("The job did not exist at that time. This is how it began.")
NOT_COMPARED = gettext_lazy(
    "There is no such event to compare with. Enter a number from 1 to %(most)s."
)
CLOCKS_DIFFER = timedelta(minutes=10)  # a browser's clock may be this far ahead without a message
NOT_YET = gettext_lazy("That time is in the future. This is the line now.")
NOT_THAT_FAR = gettext_lazy("The log does not have that many events. This is the line now.")
NO_EVENT = gettext_lazy("Enter the number of an event. This is the line now.")
NO_TIME = gettext_lazy("Enter a date and time. This is the line now.")


@dataclass(frozen=True, slots=True)
class Asked:
    """Requested moment: after an event, at a time, or the problem with the request."""

    seq: int | None = None
    as_of: datetime | None = None
    problem: str | Promise = ""


@require_safe
@for_members()
@time_limited
def replay(request: HttpRequest, job_id: UUID) -> HttpResponse:
    """Show the line at a moment (`seq` or `at`), compared with another one (`with`).

    `?fragment=1` is the part that changes.
    """
    _member, job = own_job(request, job_id)
    asked, fragment = _requested_replay(request), request.GET.get("fragment")
    moment, problem = _requested_moment(job, asked)
    wanted = request.GET.get("with", "").strip()
    seq, other, why_not = page_urls.read_seq(request, "with"), None, ""
    if seq is not None and 1 <= seq <= moment.head:
        other = past.read_state(job.id, seq=seq, shown=0)
    elif wanted:
        why_not = NOT_COMPARED % {"most": in_digits(moment.head)}
    row = event_rows.describe(moment.event)
    context = {
        "job": job,
        "tab": "replay",
        "moment": moment,
        "problems": [each for each in (problem, why_not) if each],
        "row": row,
        "picture": _draw_picture(moment),
        **_replay_words(moment, row),
        "steps": _replay_steps(moment),
        "other": other,
        "local_at": _local_replay_time(moment.event.at),
        "zone": timezone.get_current_timezone_name(),
        "first_at": _local_replay_time(job.created_at),
        "most_folded": MOST_FOLDED,
    }
    context |= _replay_people(moment) | (_compared_replays(job, moment, other) if other else {})
    name = "_moment" if fragment == "1" else "replay"
    response = render(request, f"history/{name}.html", context)
    response["Cache-Control"] = "private, no-cache"
    return response


def _draw_picture(moment: PastState) -> LinePicture:
    counts = moment.counts
    seats = {"active": counts["active"], "pending": counts["pending"], "free": moment.seats_free}
    if moment.job["status"] == JobStatus.CLOSED:
        seats["free"] = 0
    return LinePicture.of_counts(seats, counts["waiting"] - counts["unverified"])


def _replay_words(moment: PastState, row: EventRow) -> dict[str, str]:
    return {
        "title": row.title.format(name=isolated(row.name) or _("Someone")),
        "at_words": tag_time_in_short(moment.event.at, seconds=True),
    }


def _requested_replay(request: HttpRequest) -> Asked:
    text = request.GET.get("at", "").strip()
    if not text:
        wanted = request.GET.get("seq", "").strip()
        seq = page_urls.read_seq(request, "seq")
        return Asked(seq=seq, problem=NO_EVENT if wanted and seq is None else "")
    try:
        at = parse_datetime(text)
    except ValueError:
        at = None
    if at is None:
        return Asked(problem=NO_TIME)
    if timezone.is_naive(at):
        # The form names the zone of its times, because the browser's zone may not have been known
        # yet.
        zone: tzinfo = timezone.get_current_timezone()
        if time_zones.is_known(name := request.GET.get("zone", "")):
            zone = ZoneInfo(name)
        at = timezone.make_aware(at, zone)
    return Asked(as_of=at)


def _requested_moment(job: Job, asked: Asked) -> tuple[PastState, str]:
    """Return the requested moment, or the nearest one with a sentence that says so."""
    try:
        return past.read_state(job.id, seq=asked.seq, as_of=asked.as_of), str(asked.problem)
    except NoSuchMoment:
        return past.read_state(job.id, seq=1), str(BEFORE_ALL)
    except FutureMoment:
        if asked.as_of is None:
            return past.read_state(job.id), str(NOT_THAT_FAR)
        now = instants.now(ahead_seconds=job.clock_offset_seconds)
        is_now = asked.as_of - now < CLOCKS_DIFFER
        return past.read_state(job.id), "" if is_now else str(NOT_YET)


def _replay_steps(moment: PastState) -> list[dict[str, Any]]:
    """Return the four steps from a moment; `seq` is False for a step that leads nowhere."""
    seq, back, on = moment.seq, moment.seq > 1, moment.seq < moment.head
    return [
        {"label": pgettext("event", "First"), "icon": "chevron-double-left", "seq": back and 1},
        {
            "label": pgettext("event", "Previous"),
            "icon": "chevron-left",
            "seq": back and seq - 1,
            "rel": "prev",
        },
        {
            "label": pgettext("event", "Next"),
            "icon": "chevron-right",
            "seq": on and seq + 1,
            "rel": "next",
        },
        {
            "label": pgettext("event", "Last"),
            "icon": "chevron-double-right",
            "seq": on and moment.head,
        },
    ]


def _local_replay_time(at: datetime) -> str:
    """Format a time for a date-time field: in the reader's zone, to the second."""
    return timezone.localtime(at).strftime("%Y-%m-%dT%H:%M:%S")


def _replay_people(moment: PastState) -> dict[str, Any]:
    everyone = [*moment.active, *moment.pending, *moment.waitlist]
    names = read_names(person.application_id for person in everyone)
    at = moment.event.at

    def replay_rows(people: list[PastPlace]) -> list[dict[str, Any]]:
        return [
            {
                "person": person,
                "name": names.get(person.application_id, ""),
                "left": person.acknowledge_by and person.acknowledge_by - at,
                "cooling": person.eligible_at and person.eligible_at > at,
                "deferring": person.not_before and person.not_before > at,
                "accepting": person.accept_until and person.accept_until > at,
            }
            for person in people
        ]

    counts = moment.counts
    return {
        "active": replay_rows(moment.active),
        "pending": replay_rows(moment.pending),
        "waiting": replay_rows(moment.waitlist),
        "more_active": counts["active"] - len(moment.active),
        "more_pending": counts["pending"] - len(moment.pending),
        "more_waiting": counts["waiting"] - len(moment.waitlist),
    }


def _describe_change(change: Difference) -> str:
    """Describe a person's difference briefly. Empty if the heading says it all."""
    if change.outcome:
        return label_status(change.outcome)
    if change.before and change.after:
        return f"{change.before} → {change.after}"
    if change.after:
        return _("now %(place)s in line") % {"place": change.after}
    if change.kind == "joined" and change.status != "WAITLIST":
        return _("has a seat")
    return _("was %(place)s in line") % {"place": change.before} if change.before else ""


def _compared_replays(job: Job, moment: PastState, other: PastState) -> dict[str, Any]:
    earlier, later = sorted((moment, other), key=lambda each: each.seq)
    has_places = (not earlier.awaits_draw, not later.awaits_draw)
    differing = past.read_differences(job.id, earlier.seq, later.seq, has_places=has_places)
    found = differing or []
    names = read_names(each.application_id for each in found)
    groups = []
    for kind, words in DIFFERENCES.items():
        of_kind = [each for each in found if each.kind == kind]
        if of_kind:
            total = of_kind[0].total
            people = [
                (names.get(each.application_id, ""), _describe_change(each)) for each in of_kind
            ]
            groups.append((words, total, people, total - len(of_kind)))
    counts: list[tuple[str, int, int]] = [
        (pgettext("label", "Seats"), earlier.job["capacity"], later.job["capacity"]),
        (_("In review"), earlier.counts["active"], later.counts["active"]),
        (_("Must confirm"), earlier.counts["pending"], later.counts["pending"]),
        (pgettext("label", "Waiting"), earlier.counts["waiting"], later.counts["waiting"]),
    ]
    return {
        "earlier": earlier,
        "later": later,
        "groups": groups,
        "is_far": differing is None,
        "most_compared": MOST_COMPARED,
        "counted": [(words, before, after, after - before) for words, before, after in counts],
    }


# Timeline of a job: its log for people, newest first.


PAGE = 25
NAMESAKES = 10  # people with a matching name who are offered as choices
# Files that can be prepared in the background.
PREPARED = {
    "log.jsonl": gettext_lazy("Prepare the log (JSON lines)"),
    "log.csv": gettext_lazy("Prepare the log (CSV)"),
    "applications.csv": gettext_lazy("Prepare all applications (CSV)"),
    "applications.jsonl": gettext_lazy("Prepare all applications (JSON lines)"),
}


@require_safe
@for_members()
@time_limited
def timeline(request: HttpRequest, job_id: UUID) -> HttpResponse:
    """Show a job's log; its newest page keeps itself up to date."""
    _member, job = own_job(request, job_id)
    name = request.GET.get("name", "").strip()[:200]
    found = Found([], None)
    if name and "\x00" not in name:
        found = search_names(job.company_id, name, job_id=job.id, limit=NAMESAKES)
    if len(found.rows) == 1 and not found.next:
        return redirect(_timeline_url(job.id, request, application=found.rows[0].application.id))
    kind = request.GET.get("event", "")
    wanted = Wanted(
        event=EventType(kind) if kind in EventType.__members__ else None,
        application_id=page_urls.read_id(request, "application"),
        cause_seq=page_urls.read_seq(request, "cause"),
    )
    before = page_urls.read_seq(request, "before")
    live = [job.id] if before is None else []
    return live_page(
        request,
        "history/timeline.html",
        "history/_timeline.html",
        build=lambda: _timeline_context(request, job, wanted, before, found),
        tag=f"{job.seq}-{job.posting.version}",
        jobs=live,
    )


def _timeline_context(
    request: HttpRequest,
    job: Job,
    wanted: Wanted,
    before: int | None,
    found: Found,
) -> dict[str, Any]:
    page: Page[EventTree]
    if wanted:
        page = read_wanted_event_trees(job.id, wanted, before=before, limit=PAGE)
    else:
        page = read_event_trees(job.id, before=before, limit=PAGE)
    last = page.rows[-1].event.seq if page.rows else None
    about = wanted.application_id
    search = request.GET.get("name", "").strip()
    return {
        "job": job,
        "tab": "timeline",
        "rows": event_rows.describe_job(page.rows),
        "heading": _timeline_heading(wanted),
        "wanted": wanted,
        "about": about,
        "filters": [(event.value, label) for event, label in EVENT_FILTERS.items()],
        "search": search,
        "found": found.rows,
        "found_more": found.next is not None,
        "is_nobody": bool(search) and not found.rows and found.next is None,
        "shown": TIMELINE_SHOWN,
        "most_counted": MOST_COUNTED,
        "is_long": job.seq >= LONG_LOG,
        "prepared": PREPARED.items(),
        "kept_days": FILE_KEPT_DAYS,
        "head_hash": bytes(job.chain_head).hex(),
        "next_url": _timeline_url(job.id, request, before=last) if page.more else "",
        "first_url": _timeline_url(job.id, request, before=None) if before else "",
        "plain_url": reverse("timeline", args=[job.id]),
    }


def _timeline_heading(wanted: Wanted) -> str:
    if about := wanted.application_id:
        if name := read_names([about]).get(about):
            return _("Events about %(name)s") % {"name": isolated(name)}
        return _("Events about one person")
    if wanted.cause_seq:
        return _("Events caused by event %(number)s") % {"number": wanted.cause_seq}
    if wanted.event:
        return _("Events: %(kind)s") % {"kind": EVENT_FILTERS[wanted.event]}
    return _("All events")


def _timeline_url(job_id: UUID, request: HttpRequest, **changed: object) -> str:
    """Return this page's URL with some parameters changed. None removes one."""
    kept = {name: request.GET.get(name) for name in ("event", "application", "cause")}
    query = {name: value for name, value in (kept | changed).items() if value}
    address = reverse("timeline", args=[job_id])
    return f"{address}?{urlencode(query)}" if query else address


# Page that verifies a job's log and compares it with a hash noted earlier.


DIFFERENCES_SHOWN = 20  # differences that are listed


@for_members()
def verify_log(request: HttpRequest, job_id: UUID) -> HttpResponse:
    """Verify the log on POST; on GET show the form. Neither changes anything."""
    member, job = own_job(request, job_id)
    if request.method != "POST":
        return _render_verification(request, job, NotedEventForm())
    form = NotedEventForm(request.POST)
    if not form.is_valid():
        return _render_verification(request, job, form, status=422)
    try:
        limits.count_request(request, "verify", f"member {member.user.id}")
        verdict = verify_job(job.id, noted=form.noted, in_turn=True)
    except (TooOften, VerifierBusy) as error:
        status = 429 if isinstance(error, TooOften) else 503
        return _render_verification(request, job, form, status=status, busy=True)
    return _render_verification(request, job, form, verdict=verdict)


def _render_verification(
    request: HttpRequest,
    job: Job,
    form: NotedEventForm,
    *,
    status: int = 200,
    verdict: Verdict | None = None,
    busy: bool = False,
) -> HttpResponse:
    is_good = verdict is not None and verdict.is_sound and verdict.known is not False
    context = {
        "job": job,
        "tab": "timeline",
        "form": form,
        "verdict": verdict,
        "busy": busy,
        "noted": verdict and form.noted,
        "is_good": is_good,
        "verdict_icon": "shield-check" if is_good else "shield-exclamation",
        "verdict_title": verdict and _verdict_title(verdict),
        "differences": verdict.differences[:DIFFERENCES_SHOWN] if verdict else [],
    }
    return render(request, "history/verify.html", context, status=status)


def _verdict_title(verdict: Verdict) -> str:
    if verdict.chain != "ok":
        return _("The log is broken at event %(number)s") % {"number": verdict.first_bad_seq}
    if not verdict.is_sound:
        return _("The line does not match its log")
    if verdict.known is False:
        return _("The log does not match your copy")
    return _("The log is sound")
