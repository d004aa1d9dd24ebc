"""Finding one's own applicants, and what this company knows of one of them."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone

from pipeline.domain.permissions import Action
from pipeline.models import Event
from pipeline.pages.access import current_member, for_members, require
from pipeline.pages.company.event_rows import Told, told
from pipeline.pages.paging import id_in, place_in, url_with
from pipeline.pages.time_limit import reads_for_a_while
from pipeline.selectors.applications import Seen, applications_of
from pipeline.selectors.paging import encode_cursor
from pipeline.selectors.people import (
    applicant_known_to,
    applicants_with_address,
    lately_applied,
)
from pipeline.selectors.search import BEFORE_ALL, NamePlace, find_by_name
from pipeline.selectors.timelines import Moment, timeline_of_person

FOUND_SHOWN = 25
APPLICATIONS_SHOWN = 50
EVENTS_SHOWN = 50
LONGEST_SEARCH = 254


@for_members()
@reads_for_a_while
def people(request: HttpRequest) -> HttpResponse:
    """Search among the company's own applicants, by name or by whole address; without a search,
    who applied last."""
    member = require(current_member(request), Action.READ_COMPANY)
    search = request.GET.get("q", "").replace("\0", "").strip()[:LONGEST_SEARCH]
    context: dict[str, Any] = {"search": search, "by_address": "@" in search}
    if "@" in search:
        context["found"] = _with_address(member.company.id, search)
    elif search:
        name = place_in(request, "after", str, UUID)
        behind = NamePlace(*name) if name else BEFORE_ALL
        found = find_by_name(member.company.id, search, after=behind, limit=FOUND_SHOWN)
        context["found"] = found.rows
        if found.next:
            context["next_url"] = url_with(request, after=encode_cursor(*found.next))
        if "after" in request.GET:
            context["first_url"] = url_with(request, after=None)
    else:
        context["found"] = lately_applied(member.company.id, limit=FOUND_SHOWN)
    return render(request, "company/people.html", context)


def _with_address(company_id: UUID, address: str) -> list[Seen]:
    return [
        seen
        for person in applicants_with_address(company_id, address)
        for seen in applications_of(
            person.id, company_id=company_id, after=None, limit=FOUND_SHOWN
        ).rows
    ]


@for_members()
@reads_for_a_while
def person(request: HttpRequest, applicant_id: UUID) -> HttpResponse:
    """One person as this company was told of them: applications here, and what happened."""
    member = require(current_member(request), Action.READ_COMPANY)
    company_id = member.company.id
    known = applicant_known_to(company_id, applicant_id)
    here = id_in(request, "applications")
    theirs = applications_of(
        applicant_id, company_id=company_id, after=here, limit=APPLICATIONS_SHOWN
    )
    moment = place_in(request, "events", datetime, UUID, int)
    behind = Moment(*moment) if moment else None
    events = timeline_of_person(
        applicant_id, company_id=company_id, after=behind, limit=EVENTS_SHOWN
    )
    context = {
        "known": known,
        "applications": theirs.rows,
        "events": _with_titles(events.rows, theirs.rows),
        "now": theirs.rows[0].now if theirs.rows else None,
        **_pages(request, theirs, events),
    }
    return render(request, "company/person.html", context)


def _with_titles(events: list[Event], theirs: list[Seen]) -> list[tuple[Told, str]]:
    """Each event in words, with the title of the job it happened in, if that is on the page."""
    titles = {seen.application.job_id: seen.job_title for seen in theirs}
    zone = timezone.get_current_timezone()
    return [(one, titles.get(one.event.job_id, "")) for one in told(events, zone)]


def _pages(request: HttpRequest, theirs: Any, events: Any) -> dict[str, str]:
    urls = {}
    if theirs.more:
        last = str(theirs.rows[-1].application.id)
        urls["applications_next"] = url_with(request, applications=last)
    if "applications" in request.GET:
        urls["applications_first"] = url_with(request, applications=None)
    if events.more:
        event = events.rows[-1]
        place = encode_cursor(event.at, event.job_id, event.seq)
        urls["events_next"] = url_with(request, events=place)
    if "events" in request.GET:
        urls["events_first"] = url_with(request, events=None)
    return urls
