"""Search among the company's applicants, and the page of one of them."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from pipeline.domain.permissions import Action
from pipeline.pages import event_rows, page_urls
from pipeline.pages.access import chosen_job, current_member, for_members, require_permission
from pipeline.pages.limits import time_limited
from pipeline.selectors import applications
from pipeline.selectors.pages import encode_cursor
from pipeline.selectors.people import (
    BEFORE_ALL,
    NamePlace,
    address_holders,
    read_known_person,
    recent_applications,
    search_names,
)
from pipeline.selectors.timelines import TimelineMoment, lacks_events, read_person_events
from pipeline.wording.english import isolated

FOUND_SHOWN = 25
APPLICATIONS_SHOWN = 50
EVENTS_SHOWN = 50
LONGEST_SEARCH = 254


@for_members()
@time_limited
def index(request: HttpRequest) -> HttpResponse:
    """Search the company's applicants by name or whole address, or list the latest ones."""
    member = require_permission(current_member(request), Action.READ_COMPANY)
    search = request.GET.get("q", "").replace("\0", "").strip()[:LONGEST_SEARCH]
    job = chosen_job(request, member)
    context: dict[str, Any] = {
        "search": search,
        "by_address": "@" in search,
        "job": job,
        "clock_of": member.company,
    }
    if "@" in search:
        context["found"] = [
            seen
            for person in address_holders(member.company.id, search)
            for seen in applications.read_person(
                person.id, company_id=member.company.id, after=None, limit=FOUND_SHOWN
            ).rows
            if job is None or seen.application.job_id == job.id
        ]
    elif search:
        name = page_urls.read_place(request, "after", str, UUID)
        behind = NamePlace(*name) if name else BEFORE_ALL
        found = search_names(
            member.company.id,
            search,
            job_id=job.id if job else None,
            after=behind,
            limit=FOUND_SHOWN,
        )
        context["found"] = found.rows
        if found.next:
            context["next_url"] = page_urls.change_query(request, after=encode_cursor(*found.next))
        if "after" in request.GET:
            context["first_url"] = page_urls.change_query(request, after=None)
    else:
        context["found"] = recent_applications(member.company.id, limit=FOUND_SHOWN)
    return render(request, "company/people.html", context)


@for_members()
@time_limited
def person_page(request: HttpRequest, applicant_id: UUID) -> HttpResponse:
    """Show one person's applications to this company, and their events."""
    member = require_permission(current_member(request), Action.READ_COMPANY)
    company_id = member.company.id
    known = read_known_person(company_id, applicant_id)
    here = page_urls.read_id(request, "applications")
    theirs = applications.read_person(
        applicant_id, company_id=company_id, after=here, limit=APPLICATIONS_SHOWN
    )
    moment = page_urls.read_place(request, "events", datetime, UUID, int)
    behind = TimelineMoment(*moment) if moment else None
    events = read_person_events(
        applicant_id, company_id=company_id, after=behind, limit=EVENTS_SHOWN
    )
    urls = {}
    if theirs.more:
        last = str(theirs.rows[-1].application.id)
        urls["applications_next"] = page_urls.change_query(request, applications=last)
    if "applications" in request.GET:
        urls["applications_first"] = page_urls.change_query(request, applications=None)
    if events.more:
        event = events.rows[-1]
        place = encode_cursor(event.at, event.job_id, event.seq)
        urls["events_next"] = page_urls.change_query(request, events=place)
    if "events" in request.GET:
        urls["events_first"] = page_urls.change_query(request, events=None)
    titles = {seen.application.job_id: seen.job_title for seen in theirs.rows}
    context = {
        "known": known,
        "clock_of": member.company,
        "applications": theirs.rows,
        "events": [
            (row, " · ".join(filter(None, (row.title, isolated(titles.get(row.event.job_id, ""))))))
            for row in event_rows.describe_person(events.rows)
        ],
        "now": theirs.rows[0].now if theirs.rows else None,
        "lacks_events": lacks_events(applicant_id, company_id=company_id),
        **urls,
    }
    return render(request, "company/person.html", context)
