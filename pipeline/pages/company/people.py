"""Search among the company's applicants, and the page of one of them."""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime
from typing import Any
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from jobs.models import Job
from pipeline.domain.errors import JobNotFound
from pipeline.domain.permissions import Action
from pipeline.pages.access import Member, current_member, for_members, require_access
from pipeline.pages.event_rows import event_rows_of_person
from pipeline.pages.page_urls import page_id_in_url, page_place_in_url, page_url_with
from pipeline.pages.time_limit import time_limited
from pipeline.selectors.applications import applications_of
from pipeline.selectors.jobs import read_job
from pipeline.selectors.pages import encode_cursor
from pipeline.selectors.people import (
    BEFORE_ALL,
    NamePlace,
    people_with_address,
    person_known_to,
    recently_applied_people,
    search_by_name,
)
from pipeline.selectors.timelines import TimelineMoment, lacks_events_of_person, timeline_of_person
from pipeline.wording.english import isolated

FOUND_SHOWN = 25
APPLICATIONS_SHOWN = 50
EVENTS_SHOWN = 50
LONGEST_SEARCH = 254


@for_members()
@time_limited
def people(request: HttpRequest) -> HttpResponse:
    """Search the company's applicants by name or whole address, or list the latest ones."""
    member = require_access(current_member(request), Action.READ_COMPANY)
    search = request.GET.get("q", "").replace("\0", "").strip()[:LONGEST_SEARCH]
    job = _job_of_people_search(request, member)
    context: dict[str, Any] = {
        "search": search,
        "by_address": "@" in search,
        "job": job,
        "clock_of": member.company,
    }
    if "@" in search:
        context["found"] = [
            seen
            for person in people_with_address(member.company.id, search)
            for seen in applications_of(
                person.id, company_id=member.company.id, after=None, limit=FOUND_SHOWN
            ).rows
            if job is None or seen.application.job_id == job.id
        ]
    elif search:
        name = page_place_in_url(request, "after", str, UUID)
        behind = NamePlace(*name) if name else BEFORE_ALL
        found = search_by_name(
            member.company.id,
            search,
            job_id=job.id if job else None,
            after=behind,
            limit=FOUND_SHOWN,
        )
        context["found"] = found.rows
        if found.next:
            context["next_url"] = page_url_with(request, after=encode_cursor(*found.next))
        if "after" in request.GET:
            context["first_url"] = page_url_with(request, after=None)
    else:
        context["found"] = recently_applied_people(member.company.id, limit=FOUND_SHOWN)
    return render(request, "company/people.html", context)


def _job_of_people_search(request: HttpRequest, member: Member) -> Job | None:
    """Return the job in the URL to which a search is limited; None for all jobs."""
    job_id = page_id_in_url(request, "job")
    with suppress(JobNotFound):
        job = read_job(job_id) if job_id else None
        return job if job and job.company_id == member.company.id else None
    return None


@for_members()
@time_limited
def person_page(request: HttpRequest, applicant_id: UUID) -> HttpResponse:
    """Show one person's applications to this company, and their events."""
    member = require_access(current_member(request), Action.READ_COMPANY)
    company_id = member.company.id
    known = person_known_to(company_id, applicant_id)
    here = page_id_in_url(request, "applications")
    theirs = applications_of(
        applicant_id, company_id=company_id, after=here, limit=APPLICATIONS_SHOWN
    )
    moment = page_place_in_url(request, "events", datetime, UUID, int)
    behind = TimelineMoment(*moment) if moment else None
    events = timeline_of_person(
        applicant_id, company_id=company_id, after=behind, limit=EVENTS_SHOWN
    )
    urls = {}
    if theirs.more:
        last = str(theirs.rows[-1].application.id)
        urls["applications_next"] = page_url_with(request, applications=last)
    if "applications" in request.GET:
        urls["applications_first"] = page_url_with(request, applications=None)
    if events.more:
        event = events.rows[-1]
        place = encode_cursor(event.at, event.job_id, event.seq)
        urls["events_next"] = page_url_with(request, events=place)
    if "events" in request.GET:
        urls["events_first"] = page_url_with(request, events=None)
    titles = {seen.application.job_id: seen.job_title for seen in theirs.rows}
    context = {
        "known": known,
        "clock_of": member.company,
        "applications": theirs.rows,
        "events": [
            (row, " · ".join(filter(None, (row.title, isolated(titles.get(row.event.job_id, ""))))))
            for row in event_rows_of_person(events.rows)
        ],
        "now": theirs.rows[0].now if theirs.rows else None,
        "lacks_events": lacks_events_of_person(applicant_id, company_id=company_id),
        **urls,
    }
    return render(request, "company/person.html", context)
