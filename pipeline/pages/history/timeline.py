"""Timeline of a job: its log for people, newest first."""

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
from pipeline.pages.event_rows import event_rows_of_job
from pipeline.pages.live_page import live_page
from pipeline.pages.page_urls import page_id_in_url, page_seq_in_url
from pipeline.pages.time_limit import time_limited
from pipeline.selectors.event_trees import (
    MOST_COUNTED,
    SHOWN,
    EventTree,
    Wanted,
    event_trees_of,
    names_in_event_trees,
    wanted_event_trees_of,
)
from pipeline.selectors.page import Page
from pipeline.selectors.search import Found, search_by_name
from pipeline.wording.event_words import EVENT_FILTERS

PAGE = 25
NAMESAKES = 10  # people with a matching name who are offered as choices
# Files that can be prepared in the background.
PREPARED = {
    "log.jsonl": "Prepare the log (JSON lines)",
    "log.csv": "Prepare the log (CSV)",
    "applications.csv": "Prepare all applications (CSV)",
    "applications.jsonl": "Prepare all applications (JSON lines)",
}


@require_safe
@for_members()
@time_limited
def timeline(request: HttpRequest, job_id: UUID) -> HttpResponse:
    """Show a job's log; its newest page keeps itself up to date."""
    _, job = own_job(request, job_id)
    name = request.GET.get("name", "").strip()[:200]
    found = Found([], None)
    if name and "\x00" not in name:
        found = search_by_name(job.company_id, name, job_id=job.id, limit=NAMESAKES)
    if len(found.rows) == 1 and not found.next:
        return redirect(_timeline_url(job.id, request, application=found.rows[0].application.id))
    kind = request.GET.get("event", "")
    wanted = Wanted(
        event=EventType(kind) if kind in EventType.__members__ else None,
        application_id=page_id_in_url(request, "application"),
        cause_seq=page_seq_in_url(request, "cause"),
    )
    before = page_seq_in_url(request, "before")
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
        page = wanted_event_trees_of(job.id, wanted, before=before, limit=PAGE)
    else:
        page = event_trees_of(job.id, before=before, limit=PAGE)
    last = page.rows[-1].event.seq if page.rows else None
    about = wanted.application_id
    if about:
        heading = f"Events about {names_in_event_trees([about]).get(about, 'one person')}"
    elif wanted.cause_seq:
        heading = f"Events caused by event {wanted.cause_seq}"
    else:
        heading = f"Events: {EVENT_FILTERS[wanted.event]}" if wanted.event else "All events"
    search = request.GET.get("name", "").strip()
    return {
        "job": job,
        "tab": "timeline",
        "rows": event_rows_of_job(page.rows),
        "heading": heading,
        "wanted": wanted,
        "about": about,
        "filters": [(event.value, label) for event, label in EVENT_FILTERS.items()],
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
        "next_url": _timeline_url(job.id, request, before=last) if page.more else "",
        "first_url": _timeline_url(job.id, request, before=None) if before else "",
        "plain_url": reverse("timeline", args=[job.id]),
    }


def _timeline_url(job_id: UUID, request: HttpRequest, **changed: object) -> str:
    """Return this page's URL with some parameters changed. None removes one."""
    kept = {name: request.GET.get(name) for name in ("event", "application", "cause")}
    query = {name: value for name, value in (kept | changed).items() if value}
    address = reverse("timeline", args=[job_id])
    return f"{address}?{urlencode(query)}" if query else address
