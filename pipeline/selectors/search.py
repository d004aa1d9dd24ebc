"""Search for a company's own applicants by name, bounded however many there are."""

from __future__ import annotations

from typing import NamedTuple
from uuid import UUID

from django.db import connection

from pipeline.selectors.applications import SeenApplication, read_seen_applications
from pipeline.selectors.page import Page
from pipeline.selectors.sql import FOUND

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
        SELECT FROM pipeline_application person, pipeline_words(person.name) theirs
        WHERE person.id = candidate.application_id AND starts_with(theirs, term.term)
    )
) AND (%(job)s::uuid IS NULL OR EXISTS (
    SELECT FROM pipeline_application person
    WHERE person.id = candidate.application_id AND person.job_id = %(job)s
))
FROM candidate ORDER BY word, application_id
"""


def search_by_name(
    company_id: UUID,
    search: str,
    *,
    job_id: UUID | None = None,
    after: NamePlace = BEFORE_ALL,
    limit: int,
) -> Found:
    """Return a company's applications whose name has words beginning with all search words.

    With a job, only its applications. Case does not matter. In the order of the matched words, in
    two queries, or a few more where many names match only the rarest word.
    """
    matches: list[NamePlace] = []
    behind: NamePlace | None = after
    for _ in range(LOOKS):
        looked_at = _names_to_search(company_id, search, job_id, behind or BEFORE_ALL)
        matches += [place for place, fits in looked_at if fits]
        behind = looked_at[-1][0] if len(looked_at) == CANDIDATES else None
        if behind is None or len(matches) > limit:
            break
    fitting = Page.cut(matches, limit)
    if fitting.more:
        behind = fitting.rows[-1]
    ids = list(dict.fromkeys(place.application_id for place in fitting.rows))
    rows = read_seen_applications(FOUND, applications=ids) if ids else []
    seen = {row.application.id: row for row in rows}
    return Found([seen[id_] for id_ in ids], behind)


def _names_to_search(
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
