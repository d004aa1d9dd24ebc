"""Reads of applicants, and search for them by name."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, NamedTuple
from uuid import UUID

from django.db import connection
from django.db.models import Q, Subquery

from applicants.addresses import normal_address
from applicants.models import Applicant
from pipeline.domain.errors import ApplicantNotFound
from pipeline.domain.states import Outcome
from pipeline.models import Application
from pipeline.selectors.applications import FOUND, SeenApplication
from pipeline.selectors.pages import Page

# How many of a company's last events are searched for its latest applicants.
EVENTS_LOOKED_AT = 1_000


def read_person(applicant_id: UUID) -> Applicant:
    """Return a person, in one query. Raises ApplicantNotFound, also for erased people."""
    applicant = Applicant.objects.filter(id=applicant_id).first()
    if applicant is None or applicant.is_erased:
        raise ApplicantNotFound
    return applicant


def read_known_person(
    company_id: UUID, applicant_id: UUID, *, among: Collection[UUID] | None = None
) -> Applicant:
    """Return a person who has applied to one of a company's jobs, or of some, in one query.

    The name is the last one that this company was given, and `created_at` is when the person first
    applied to it, so it learns nothing about earlier activity elsewhere. Raises ApplicantNotFound,
    also for other companies' applicants.
    """
    of_jobs = Q() if among is None else Q(job_id__in=among)
    found = _visible_person(company_id, Q(applicant_id=applicant_id) & of_jobs)
    if found is None:
        raise ApplicantNotFound
    return found


def address_holders(company_id: UUID, email: str) -> list[Applicant]:
    """Return a company's applicants with an address, in any case: one person or none.

    In one query, under the last name that this company was given.
    """
    found = _visible_person(company_id, Q(applicant__email=normal_address(email)))
    return [found] if found else []


def _visible_person(company_id: UUID, who: Q) -> Applicant | None:
    theirs = Application.objects.filter(who, job__company_id=company_id)
    first = theirs.order_by("applied_at").values("applied_at")[:1]
    told = theirs.annotate(known_since=Subquery(first)).select_related("applicant")
    last = told.order_by("-id").first()
    if last is None:
        return None
    applicant = last.applicant
    applicant.name, applicant.created_at = last.name, last.known_since
    return applicant


def last_decided_application(job_id: UUID, email: str) -> Application | None:
    """Return the last application from an address that the company hired or rejected. One query."""
    theirs = Application.objects.filter(job_id=job_id, applicant__email=normal_address(email))
    last = theirs.order_by("-id").first()
    return last if last and last.outcome in (Outcome.HIRED, Outcome.REJECTED) else None


_LATELY_APPLIED = """
SELECT application_id FROM (
    SELECT application_id, event, txid, id FROM pipeline_event WHERE company_id = %(company)s
    ORDER BY txid DESC, id DESC LIMIT %(looked_at)s
) recent
WHERE event = 'APPLIED' ORDER BY txid DESC, id DESC LIMIT %(most)s
"""


def recent_applications(company_id: UUID, *, limit: int) -> list[SeenApplication]:
    """Return the latest applications to a company's jobs, newest first, in two queries.

    Only the company's last EVENTS_LOOKED_AT events are searched, so busy lines may yield fewer than
    `limit`.
    """
    values: dict[str, Any] = {"company": company_id, "looked_at": EVENTS_LOOKED_AT, "most": limit}
    with connection.cursor() as cursor:
        cursor.execute(_LATELY_APPLIED, values)
        ids = [application_id for (application_id,) in cursor.fetchall()]
    seen = {each.application.id: each for each in FOUND.all(applications=ids)}
    return [seen[application_id] for application_id in ids if application_id in seen]


def has_person_applied(applicant_id: UUID, job_id: UUID) -> bool:
    """Return True if a person has ever applied to a job, in one query."""
    return Application.objects.filter(applicant_id=applicant_id, job_id=job_id).exists()


# Search for a company's own applicants by name, bounded however many there are.


# How many names that begin with the rarest search word are checked at once, and how often at most
# for one page.
CANDIDATES = 1_000
LOOKS = 10


class NamePlace(NamedTuple):
    """Place in the list of matches: after this word of this application."""

    word: str
    application_id: UUID


BEFORE_ALL = NamePlace("", UUID(int=0))


class Found(NamedTuple):
    """A page of matches, and the place after which the next page starts; None on the last page.

    The page may be shorter than requested even if there is a next one.
    """

    rows: list[SeenApplication]
    next: NamePlace | None


# The applications with a word in the name that begins with the rarest search word, and whether the
# name also matches each other search word. A word begins with the term if it sorts, byte by byte,
# between the term and the term followed by the highest character. The next page continues with the
# term of the previous page, with which its place begins.
_MATCHES = """
WITH given AS MATERIALIZED (
    SELECT term FROM pipeline_words(%(search)s) term ORDER BY length(term) DESC, term LIMIT 5
), term AS MATERIALIZED (
    SELECT term, row_number() OVER (
        ORDER BY starts_with(%(word)s, term) DESC, seen, length(term) DESC, term
    ) AS place
    FROM given, LATERAL (
        SELECT count(*) AS seen FROM (
            SELECT FROM pipeline_nameword
            WHERE company_id = %(company)s AND word >= term COLLATE "C"
              AND word < (term || U&'\\+10FFFF') COLLATE "C"
            LIMIT %(candidates)s
        ) first_ones
    ) counted
), rarest AS (
    SELECT term, greatest(term, %(word)s COLLATE "C") AS first,
           CASE WHEN term <= %(word)s COLLATE "C" THEN %(application)s ELSE %(lowest)s END AS behind
    FROM term WHERE place = 1
), candidate AS MATERIALIZED (
    SELECT word, application_id FROM pipeline_nameword
    WHERE company_id = %(company)s
      AND (word, application_id) > ((SELECT first FROM rarest), (SELECT behind FROM rarest))
      AND word < (SELECT term || U&'\\+10FFFF' FROM rarest)
    ORDER BY word, application_id LIMIT %(candidates)s
)
SELECT word, application_id, NOT EXISTS (
    SELECT FROM term WHERE place > 1 AND NOT EXISTS (
        SELECT FROM pipeline_application person, pipeline_words(person.name || ' ' || (
            SELECT coalesce(string_agg(searched, ' '), '') FROM pipeline_givenanswers
            WHERE application_id = person.id)) theirs
        WHERE person.id = candidate.application_id AND starts_with(theirs, term.term)
    )
) AND (%(job)s::uuid IS NULL OR EXISTS (
    SELECT FROM pipeline_application person
    WHERE person.id = candidate.application_id AND person.job_id = %(job)s
))
FROM candidate ORDER BY word, application_id
"""


def search_names(
    company_id: UUID,
    search: str,
    *,
    job_id: UUID | None = None,
    after: NamePlace = BEFORE_ALL,
    limit: int,
) -> Found:
    """Return a company's applications whose name has words beginning with all search words.

    Answers to searchable questions count as parts of the name. With a job, only its applications.
    Case does not matter. In the order of the matched words, in two queries, or a few more where
    many names match only the rarest word.
    """
    matches: list[NamePlace] = []
    behind: NamePlace | None = after
    for _ in range(LOOKS):
        looked_at = _next_names(company_id, search, job_id, behind or BEFORE_ALL)
        matches += [place for place, fits in looked_at if fits]
        behind = looked_at[-1][0] if len(looked_at) == CANDIDATES else None
        if behind is None or len(matches) > limit:
            break
    fitting = Page.cut(matches, limit)
    if fitting.more:
        behind = fitting.rows[-1]
    ids = list(dict.fromkeys(place.application_id for place in fitting.rows))
    rows = FOUND.all(applications=ids) if ids else []
    seen = {row.application.id: row for row in rows}
    return Found([seen[id_] for id_ in ids], behind)


def _next_names(
    company_id: UUID, search: str, job_id: UUID | None, after: NamePlace
) -> list[tuple[NamePlace, bool]]:
    """Return the next names with the rarest search word, each with whether it has all words."""
    with connection.cursor() as cursor:
        cursor.execute(
            _MATCHES,
            {
                "search": search,
                "company": company_id,
                "job": job_id,
                "word": after.word,
                "application": after.application_id,
                "lowest": BEFORE_ALL.application_id,
                "candidates": CANDIDATES,
            },
        )
        return [(NamePlace(word, id_), fits) for word, id_, fits in cursor.fetchall()]
