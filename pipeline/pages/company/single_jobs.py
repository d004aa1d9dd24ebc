"""Pages of members who have single jobs: the list of these, and for interviewers who is in a seat.

They follow no stream: an interviewer would learn whenever something happens in the line.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from jobs.models import Job
from pipeline.domain.permissions import Action
from pipeline.domain.states import Status
from pipeline.pages import page_urls
from pipeline.pages.access import Member
from pipeline.selectors.job_applications import (
    ORDERS,
    USUAL_ORDER,
    ListPlace,
    WantedJobApplications,
    list_page,
)
from pipeline.selectors.jobs import read_company_jobs
from pipeline.selectors.pages import encode_cursor
from pipeline.selectors.scores import read_scored

JOBS_SHOWN, SEATS_SHOWN = 50, 50


def index(request: HttpRequest, member: Member) -> HttpResponse:
    """List the member's jobs, newest first, with the role on each and how many are in review."""
    page = read_company_jobs(
        member.company.id,
        status=None,
        search="",
        among=member.jobs_allowing(Action.READ_APPLICATION),
        after=page_urls.read_id(request, "after"),
        limit=JOBS_SHOWN,
    )
    context = {
        "member": member,
        "jobs": [(job, member.jobs[job.id].label) for job in page.rows],
        "may_answer": member.may_somewhere(Action.ANSWER_CONTEST),
        "next_url": page_urls.change_query(request, after=str(page.rows[-1].id))
        if page.more
        else "",
        "first_url": page_urls.change_query(request, after=None)
        if request.GET.get("after")
        else "",
    }
    return render(request, "company/single_jobs.html", context)


def show_seats(request: HttpRequest, job: Job, member: Member) -> HttpResponse:
    """List the people in the seats of a job, the latest applicant first."""
    place: Any = page_urls.read_place(request, "after", datetime, UUID)
    page = list_page(
        job.id,
        WantedJobApplications(status=Status.ACTIVE),
        order=ORDERS[USUAL_ORDER],
        after=ListPlace(*place) if place else None,
        limit=SEATS_SHOWN,
    )
    scored = read_scored([seen.application.id for seen in page.rows], member.user.id)
    context = {
        "member": member,
        "job": job,
        "rows": [(seen, seen.application.id in scored) for seen in page.rows],
        "next_url": page_urls.change_query(request, after=encode_cursor(*page.next))
        if page.next
        else "",
        "first_url": page_urls.change_query(request, after=None) if "after" in request.GET else "",
    }
    return render(request, "company/single_job.html", context)
