"""Finding a company's own applicants by name: bounded, however many there are."""

from __future__ import annotations

from typing import NamedTuple
from uuid import UUID

from django.db import connection

from pipeline.selectors.applications import SeenApplication, read_seen_applications
from pipeline.selectors.paging import Page
from pipeline.selectors.sql import FOUND

# How many names that begin with the longest word are looked at for one page.
CANDIDATES = 1_000


class NamePlace(NamedTuple):
    """A place in the list of what was found: behind that word of that application."""

    word: str
    application_id: UUID


BEFORE_ALL = NamePlace("", UUID(int=0))


class Found(NamedTuple):
    """A page of what was found, and behind which place the next one begins; None if it is the last.

    The page may be shorter than asked for although there is a next one.
    """

    rows: list[SeenApplication]
    next: NamePlace | None


# The applications with a word of the name that begins like the longest word that was searched for,
# and whether for each other word there is one, too. A word begins with what sorts between it and it
# with the highest character behind it, byte by byte.
_MATCHES = """
WITH term AS MATERIALIZED (
    SELECT term, row_number() OVER (ORDER BY length(term) DESC, term) AS place
    FROM pipeline_words(%(search)s) term LIMIT 5
), longest AS (
    SELECT term, greatest(term, %(word)s COLLATE "C") AS first,
           CASE WHEN term <= %(word)s COLLATE "C" THEN %(application)s ELSE %(lowest)s END AS behind
    FROM term WHERE place = 1
), candidate AS MATERIALIZED (
    SELECT word, application_id FROM pipeline_nameword
    WHERE company_id = %(company)s
      AND (word, application_id) > ((SELECT first FROM longest), (SELECT behind FROM longest))
      AND word < (SELECT term || U&'\\+10FFFF' FROM longest)
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


def find_by_name(
    company_id: UUID,
    search: str,
    *,
    job_id: UUID | None = None,
    after: NamePlace = BEFORE_ALL,
    limit: int,
) -> Found:
    """Applications of a company under names whose words begin with all words of the search.

    With a job, only those to it. In whatever case they are written. In the order of the words
    found; in two queries.
    """
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
        looked_at = [(NamePlace(word, id_), fits) for word, id_, fits in cursor.fetchall()]
    fitting = Page.cut([place for place, fits in looked_at if fits], limit)
    behind = looked_at[-1][0] if len(looked_at) == CANDIDATES else None
    if fitting.more:
        behind = fitting.rows[-1]
    ids = list(dict.fromkeys(place.application_id for place in fitting.rows))
    rows = read_seen_applications(FOUND, applications=ids) if ids else []
    seen = {row.application.id: row for row in rows}
    return Found([seen[id_] for id_ in ids], behind)
