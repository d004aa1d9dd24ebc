"""Filters of a job's applications, as in the URL of the page."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import inf
from time import monotonic
from typing import Any
from uuid import UUID

from django.http import HttpRequest, QueryDict
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from jobs.models import Job
from pipeline.domain.states import ActorKind, Outcome, Status
from pipeline.models import TAG_LENGTH
from pipeline.review.annotations import normalised_tag
from pipeline.review.decisions import MOST_PEOPLE
from pipeline.selectors import job_applications
from pipeline.selectors.ageing import overdue_since
from pipeline.selectors.applications import FOUND, SeenApplication
from pipeline.selectors.job_applications import (
    ORDERS,
    USUAL_ORDER,
    ListedPage,
    ListOrder,
    ListPlace,
    ReviewFilter,
    WantedJobApplications,
)
from pipeline.selectors.people import NamePlace
from pipeline.sources.origin import clean, read_filter
from pipeline.wording.events import label_status

LONGEST_SEARCH = 100
MISSES_DIGITS = 3
PAGE = 50
# How many pages are read for a file or a decision on everyone shown.
MOST_PAGES = 400
# How long a decision on everyone shown searches for them.
LONGEST_SEARCH_SECONDS = 10.0

LIVE = [status for status in Status if status is not Status.INACTIVE]
ENDED = "ENDED"
STATES = [*LIVE, ENDED, *Outcome]
SOURCE_CHOICES = [
    (ActorKind.APPLICANT.value, gettext_lazy("Applied themselves")),
    (ActorKind.COMPANY.value, gettext_lazy("Added by your company")),
]
ORDER_CHOICES = [
    (USUAL_ORDER, gettext_lazy("Newest first")),
    ("applied_at", gettext_lazy("Oldest first")),
    ("-ended_at", gettext_lazy("Ended last first")),
]
NAMES = (
    *("q", "state", "misses", "cooling", "review", "tag", "assignee", "source", "came_from"),
    "order",
)


def state_choices() -> list[tuple[str, str]]:
    """Return the states to choose from with their labels."""
    ended = _("Ended, for any reason")
    return [(str(each), ended if each == ENDED else label_status(each)) for each in STATES]


class UnusableFilters(ValueError):
    """Filters in a form that cannot choose anyone; says why and what to do."""


@dataclass(frozen=True, slots=True)
class ListedFilters:
    """Filters that were chosen. Invalid values are left out."""

    given: dict[str, str]
    filters: WantedJobApplications

    @classmethod
    def of(cls, query: QueryDict) -> ListedFilters:
        """Read filters from a URL's query."""
        given = {name: query.get(name, "").replace("\0", "").strip() for name in NAMES}
        given["q"] = given["q"][:LONGEST_SEARCH].rstrip()
        given["tag"] = normalised_tag(given["tag"])[:TAG_LENGTH].rstrip()
        given["came_from"] = clean(given["came_from"].lower())
        given["cooling"] = "1" if given["cooling"] == "1" else ""
        given["review"] = given["review"] if given["review"] == ReviewFilter.OVERDUE else ""
        state = given["state"] if given["state"] in STATES else ""
        source = given["source"] if given["source"] in dict(SOURCE_CHOICES) else ""
        misses = given["misses"] if given["misses"].isdecimal() else ""
        kept = given | {"state": state, "source": source, "misses": misses[:MISSES_DIGITS]}
        try:
            assignee = UUID(given["assignee"])
            kept["assignee"] = str(assignee)
        except ValueError:
            assignee, kept["assignee"] = None, ""
        if kept["order"] not in dict(ORDER_CHOICES):
            kept["order"] = ""
        ended = state == ENDED or state in Outcome.__members__
        filters = WantedJobApplications(
            status=Status.INACTIVE if ended else Status(state) if state else None,
            outcome=Outcome(state) if state in Outcome.__members__ else None,
            min_decay_count=int(kept["misses"]) if kept["misses"] else None,
            tag=kept["tag"] or None,
            assignee=assignee,
            cooling=bool(kept["cooling"]),
            source=ActorKind(source) if source else None,
            came_from=read_filter(kept["came_from"]) if kept["came_from"] else None,
        )
        return cls({name: value for name, value in kept.items() if value}, filters)

    @classmethod
    def exactly(cls, text: str) -> ListedFilters:
        """Read filters that were written by `query`.

        Raises UnusableFilters if any part would be ignored, cut or read differently, or if there
        are no filters: nobody may be found whom the member did not mean.
        """
        chosen = cls.of(QueryDict(text))
        if not text or chosen.query != text:
            raise UnusableFilters(
                _("Nobody is chosen: the filters could not be read. Choose them again.")
            )
        return chosen

    @property
    def query(self) -> str:
        """Return the filters as the query of a URL, however long."""
        query = QueryDict(mutable=True)
        query.update(self.given)
        return query.urlencode()

    @property
    def order(self) -> ListOrder:
        """Return the order of the list without a search."""
        return ORDERS[self.given.get("order", USUAL_ORDER)]

    def wanted(self, job: Job) -> WantedJobApplications:
        """Return the conditions for a job's applications."""
        if "review" not in self.given:
            return self.filters
        since = overdue_since(job.review_clock, job.company_id)
        return replace(self.filters, in_review_since=since)

    def page(self, job: Job, after: Any, *, limit: int = PAGE) -> ListedPage:
        """Return a page of the job's applications, by name if there is a search."""
        filters = self.wanted(job)
        if search := self.given.get("q"):
            behind = after if isinstance(after, NamePlace) else None
            return job_applications.search_page(
                job.company_id, job.id, search, filters, after=behind, limit=limit
            )
        place = after if isinstance(after, ListPlace) else None
        return job_applications.list_page(
            job.id, filters, order=self.order, after=place, limit=limit
        )

    def everyone(self, job: Job, *, most: int, seconds: float = inf) -> Iterator[SeenApplication]:
        """Yield all of the job's applications that match, up to `most`.

        Raises UnusableFilters if not all are found within `seconds`.
        """
        after: Any = None
        started = monotonic()
        for _page in range(MOST_PAGES):
            page = self.page(job, after, limit=min(most, 200))
            yield from page.rows[:most]
            most -= len(page.rows)
            after = page.next
            if after is None or most <= 0:
                return
            if monotonic() - started > seconds:
                raise UnusableFilters(
                    _("Nobody is chosen: the search took too long. Choose other filters.")
                )


def chosen_people(request: HttpRequest, job: Job) -> list[SeenApplication]:
    """Return the job's people whom the form names, or all who match its filters.

    In its order, at most MOST_PEOPLE. Raises UnusableFilters.
    """
    if "all" in request.POST:
        chosen = ListedFilters.exactly(request.POST.get("query", ""))
        return list(chosen.everyone(job, most=MOST_PEOPLE, seconds=LONGEST_SEARCH_SECONDS))
    ids: dict[UUID, None] = {}
    for text in ",".join(request.POST.getlist("who")).split(",")[:MOST_PEOPLE]:
        try:
            ids[UUID(text)] = None
        except ValueError:
            continue
    found = FOUND.all(applications=list(ids)) if ids else []
    seen = {each.application.id: each for each in found if each.application.job_id == job.id}
    return [seen[each] for each in ids if each in seen]
