"""Search for pages, jobs and people by name, as a page and in a dialog; the page of shortcuts."""

from __future__ import annotations

from typing import NamedTuple

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext
from django.views.decorators.http import require_safe

from applicants.texts import folded_name
from pipeline.domain.permissions import Action
from pipeline.pages.access import current_member, for_members, require_permission
from pipeline.pages.limits import time_limited
from pipeline.pages.navigation import all_places
from pipeline.selectors.applications import SeenApplication
from pipeline.selectors.jobs import read_company_jobs
from pipeline.selectors.people import search_names
from pipeline.wording.events import label_status

# People shown, and those among whom names come before answers.
MOST_OF_A_KIND, MOST_LOOKED_AT = 8, 50
LONGEST_SEARCH, LEAST_LETTERS_OF_A_NAME = 100, 2

# The shortcuts besides those that go to places; `static/js/palette.js` acts on them.
SHORTCUTS = (
    (gettext_lazy("Ctrl K or ⌘ K"), gettext_lazy("Find a page, a job or a person")),
    ("/", gettext_lazy("Go to the search field of the page")),
    ("c", gettext_lazy("Create a job, if your role allows it")),
    (
        "j, k",
        gettext_lazy("Next and previous person in a list, or on the page of an application"),
    ),
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
    ("u", gettext_lazy("Undo the last decision, while it can be undone")),
    ("x", gettext_lazy("Tick the person in the list that has the focus")),
    ("?", gettext_lazy("Show this page")),
)


class Found(NamedTuple):
    """Link that leads somewhere, and what it is."""

    url: str
    label: str
    kind: str


@require_safe
@for_members(Action.READ_JOBS)
@time_limited
def search(request: HttpRequest) -> HttpResponse:
    """List the pages, jobs and people whose names match; for `?fragment=1` only the list."""
    member = require_permission(current_member(request), Action.READ_JOBS)
    search = request.GET.get("q", "").replace("\0", "").strip()[:LONGEST_SEARCH]
    company_id, wanted = member.company.id, folded_name(search)
    pages = [
        Found(place.url, str(place.label), pgettext("of a site", "Page"))
        for place in all_places(member)
        if wanted in folded_name(str(place.label))
    ]
    jobs = read_company_jobs(
        company_id,
        status=None,
        search=search,
        among=member.jobs_allowing(Action.READ_APPLICATION),
        after=None,
        limit=MOST_OF_A_KIND,
    ).rows
    places = [
        Found(reverse("board", args=[job.id]), job.posting.title, pgettext("label", "Job"))
        for job in jobs
    ]
    if len(search) >= LEAST_LETTERS_OF_A_NAME and member.may(Action.READ_COMPANY):
        found = search_names(company_id, search, limit=MOST_LOOKED_AT).rows
        found.sort(key=lambda seen: not _is_name(seen.application.name, wanted))
        places += [_found_person(seen) for seen in found[:MOST_OF_A_KIND]]
    context = {"search": search, "places": [*pages, *places]}
    is_fragment = request.GET.get("fragment") == "1"
    response = render(request, f"company/{'_go' if is_fragment else 'go'}.html", context)
    response["Cache-Control"] = "private, no-cache"
    return response


def _is_name(name: str, wanted: str) -> bool:
    """Tell whether a name has all the words that are wanted; otherwise an answer of theirs does."""
    return all(each in folded_name(name) for each in wanted.split())


def _found_person(seen: SeenApplication) -> Found:
    row = seen.application
    status = label_status(row.outcome or row.status)
    return Found(
        reverse("application", args=[row.id]),
        row.name,
        _("%(status)s, %(title)s") % {"status": status, "title": seen.job_title},
    )


@require_safe
@for_members(Action.READ_JOBS)
def shortcuts(request: HttpRequest) -> HttpResponse:
    """List the keyboard shortcuts, with a button that turns single-key shortcuts off."""
    member = require_permission(current_member(request), Action.READ_JOBS)
    goes = [
        (f"g {place.key}", _("Go to: %(place)s") % {"place": place.label})
        for place in all_places(member)
        if place.key
    ]
    return render(request, "company/shortcuts.html", {"shortcuts": [*goes, *SHORTCUTS]})
