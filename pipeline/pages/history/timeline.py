"""A job's timeline: its log, newest first, as people read it."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_safe

from jobs.models import Job
from pipeline.domain.states import EventType
from pipeline.exports.formats import LONG_LOG
from pipeline.files.write import FILE_KEPT_DAYS
from pipeline.pages.access import for_members, own_job
from pipeline.pages.history.event_rows import tell
from pipeline.pages.live_page import live_page
from pipeline.pages.time_limit import reads_for_a_while
from pipeline.selectors.history import (
    MOST_COUNTED,
    SHOWN,
    Tree,
    Wanted,
    names_of,
    some_of,
    trees_of,
)
from pipeline.selectors.paging import Page
from pipeline.selectors.search import Found, find_by_name
from pipeline.wording.event_words import EVENT_FILTERS

PAGE = 25
NAMESAKES = 10
"""How many people of a name are offered to choose from."""
PREPARED = {
    "log.jsonl": "Prepare the log (JSON lines)",
    "log.csv": "Prepare the log (CSV)",
    "applications.csv": "Prepare all applications (CSV)",
    "applications.jsonl": "Prepare all applications (JSON lines)",
}
"""The files that can be made in the background."""
MOST_SEQ = 2**63 - 1


@require_safe
@for_members()
@reads_for_a_while
def timeline(request: HttpRequest, job_id: UUID) -> HttpResponse:
    """The log of a job: its newest page keeps itself up to date."""
    _, job = own_job(request, job_id)
    found = _named(request, job)
    if len(found.rows) == 1 and not found.next:
        return redirect(_address(job.id, request, application=found.rows[0].application.id))
    wanted, before = _wanted(request), whole(request.GET.get("before"))
    live = [job.id] if before is None else []
    return live_page(
        request,
        "history/timeline.html",
        "history/_timeline.html",
        build=lambda: _context(request, job, wanted, before, found),
        tag=f"{job.seq}-{job.posting.version}",
        jobs=live,
    )


def _context(
    request: HttpRequest,
    job: Job,
    wanted: Wanted,
    before: int | None,
    found: Found,
) -> dict[str, Any]:
    page = _page(job.id, wanted, before)
    last = page.rows[-1].event.seq if page.rows else None
    about = wanted.application_id
    search = request.GET.get("name", "").strip()
    return {
        "job": job,
        "tab": "timeline",
        "told": tell(page.rows),
        "wanted": wanted,
        "about": about and names_of([about]).get(about, "somebody"),
        "kinds": [(event.value, label) for event, label in EVENT_FILTERS.items()],
        "search": search,
        "found": found.rows,
        "found_more": found.next is not None,
        "is_nobody": bool(search) and not found.rows and found.next is None,
        "shown": SHOWN,
        "most_counted": MOST_COUNTED,
        "is_long": job.seq >= LONG_LOG,
        "prepared": PREPARED.items(),
        "kept_days": FILE_KEPT_DAYS,
        "head_hash": bytes(job.chain_head).hex(),
        "next_url": _address(job.id, request, before=last) if page.more else "",
        "first_url": _address(job.id, request, before=None) if before else "",
        "plain_url": reverse("timeline", args=[job.id]),
    }


def _page(job_id: UUID, wanted: Wanted, before: int | None) -> Page[Tree]:
    if wanted:
        return some_of(job_id, wanted, before=before, limit=PAGE)
    return trees_of(job_id, before=before, limit=PAGE)


def _wanted(request: HttpRequest) -> Wanted:
    kind = request.GET.get("event", "")
    return Wanted(
        event=EventType(kind) if kind in EventType.__members__ else None,
        application_id=as_id(request.GET.get("application")),
        cause_seq=whole(request.GET.get("cause")),
    )


def _named(request: HttpRequest, job: Job) -> Found:
    """Who in this line has the name that was typed."""
    name = request.GET.get("name", "").strip()[:200]
    if not name or "\x00" in name:
        return Found([], None)
    return find_by_name(job.company_id, name, job_id=job.id, limit=NAMESAKES)


def _address(job_id: UUID, request: HttpRequest, **changed: object) -> str:
    """This page's address with some parameters changed; None takes one away."""
    kept = {name: request.GET.get(name) for name in ("event", "application", "cause")}
    query = {name: value for name, value in (kept | changed).items() if value}
    address = reverse("timeline", args=[job_id])
    return f"{address}?{urlencode(query)}" if query else address


def whole(text: str | None) -> int | None:
    """A seq that stands in an address; None for anything that is none."""
    if text and text.isascii() and text.isdigit() and len(text) < 100:
        return min(int(text), MOST_SEQ)
    return None


def as_id(text: str | None) -> UUID | None:
    """An id that stands in an address; None for anything that is none."""
    try:
        return UUID(text) if text else None
    except ValueError:
        return None
