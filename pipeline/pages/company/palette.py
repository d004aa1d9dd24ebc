"""Search for pages, jobs and people by name, as a page and in a dialog; the page of shortcuts."""

from __future__ import annotations

from typing import NamedTuple

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_safe

from pipeline.domain.permissions import Action
from pipeline.pages.access import current_member, for_members, require_permission
from pipeline.pages.limits import time_limited
from pipeline.selectors.jobs import read_company_jobs
from pipeline.selectors.people import search_names

MOST_OF_A_KIND = 8
LONGEST_SEARCH, LEAST_LETTERS_OF_A_NAME = 100, 2

# The pages that can be gone to: the name of the URL, the label, and who may open it.
PAGES = (
    ("company_jobs", "Jobs", Action.READ_COMPANY),
    ("new_job", "Create a job", Action.CREATE_JOB),
    ("job_templates", "Job templates", Action.CREATE_JOB),
    ("people", "People", Action.READ_COMPANY),
    ("work", "Work", Action.READ_COMPANY),
    ("dead_letters", "Dead letters", Action.READ_COMPANY),
    ("work_types", "Task types", Action.READ_COMPANY),
    ("schedules", "Schedules", Action.READ_COMPANY),
    ("team", "Team", Action.READ_COMPANY),
    ("api_keys", "API keys", Action.MANAGE_KEYS),
    ("webhooks", "Webhooks", Action.MANAGE_WEBHOOKS),
    ("system", "System", Action.READ_COMPANY),
    ("account", "Your account", Action.READ_COMPANY),
    ("shortcuts", "Keyboard shortcuts", Action.READ_COMPANY),
)

# The shortcuts, in the order of their page; `static/js/palette.js` acts on them.
SHORTCUTS = (
    ("Ctrl K or ⌘ K", "Find a page, a job or a person"),
    ("/", "Go to the search field of the page"),
    ("g j", "Go to the jobs"),
    ("g p", "Go to the people"),
    ("g w", "Go to the background work"),
    ("c", "Create a job, if your role allows it"),
    ("j, k", "Next and previous person in a list, or on the page of an application"),
    (
        "h, r",
        gettext_lazy(
            "On the page of an application: go to Hire or Reject, and press Enter to decide"
        ),
    ),
    (
        "s, n",
        gettext_lazy("On the page of an application: go to your first score, or to a new note"),
    ),
    ("x", "Tick the person in the list that has the focus"),
    ("?", "Show this page"),
)


class Place(NamedTuple):
    """Link that leads somewhere, and what it is."""

    url: str
    label: str
    kind: str


@require_safe
@for_members()
@time_limited
def search(request: HttpRequest) -> HttpResponse:
    """List the pages, jobs and people whose names match; for `?fragment=1` only the list."""
    member = require_permission(current_member(request), Action.READ_COMPANY)
    search = request.GET.get("q", "").replace("\0", "").strip()[:LONGEST_SEARCH]
    company_id, wanted = member.company.id, search.lower()
    pages = [
        Place(reverse(name), label, "Page")
        for name, label, action in PAGES
        if member.may(action) and wanted in label.lower()
    ]
    jobs = read_company_jobs(
        company_id, status=None, search=search, after=None, limit=MOST_OF_A_KIND
    ).rows
    places = [Place(reverse("board", args=[job.id]), job.posting.title, "Job") for job in jobs]
    if len(search) >= LEAST_LETTERS_OF_A_NAME:
        found = search_names(company_id, search, limit=MOST_OF_A_KIND).rows
        places += [
            Place(
                reverse("application", args=[seen.application.id]),
                seen.application.name,
                seen.job_title,
            )
            for seen in found
        ]
    context = {"search": search, "places": [*pages, *places]}
    is_fragment = request.GET.get("fragment") == "1"
    response = render(request, f"company/{'_go' if is_fragment else 'go'}.html", context)
    response["Cache-Control"] = "private, no-cache"
    return response


@require_safe
@for_members()
def shortcuts(request: HttpRequest) -> HttpResponse:
    """List the keyboard shortcuts, with a button that turns single-key shortcuts off."""
    return render(request, "company/shortcuts.html", {"shortcuts": SHORTCUTS})
