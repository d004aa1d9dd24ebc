"""Upkeep of the name search index: one row per word of each applicant's name, per company.

Also of the answers to questions that the company has made searchable.

A worker updates it every few seconds, after the applications are committed: under a job's lock, it
would slow down everyone who applies.
"""

from __future__ import annotations

from django.db import connection, transaction
from django.db.models import Func, TextField
from django.db.models.expressions import Combinable

# Events per batch.
BATCH = 20_000

# Only one process updates at a time, and none while a name is changed or erased: that takes the
# same lock, so that no word is added afterwards from an older snapshot.
_TURN = "SELECT pg_try_advisory_xact_lock(pipeline_names_turn())"

# Events get their ids before their transactions commit. So a range counts as done only after it was
# read again once all transactions running at the first read had ended.
_LEARN = """
WITH place AS (
    SELECT coalesce(max(done), 0) AS done,
           coalesce(max(seen) FILTER (
               WHERE pg_snapshot_xmin(pg_current_snapshot())::text::bigint >= seen_txid), 0)
           AS complete
    FROM pipeline_nameplace
), looked_at AS MATERIALIZED (
    SELECT id, application_id, company_id, event, data ? 'answers' AS answers FROM pipeline_event
    WHERE id > (SELECT done FROM place) ORDER BY id LIMIT %(batch)s
), told AS MATERIALIZED (
    SELECT DISTINCT looked_at.company_id, word, person.id
    FROM looked_at JOIN pipeline_application person ON person.id = looked_at.application_id,
         pipeline_words(person.name) word
    WHERE looked_at.event = 'APPLIED'
    UNION
    SELECT looked_at.company_id, word, given.application_id
    FROM looked_at JOIN pipeline_givenanswers given USING (application_id),
         pipeline_words(given.searched) word
    WHERE looked_at.answers AND given.searched <> ''
), learned AS (
    INSERT INTO pipeline_nameword (company_id, word, application_id)
    SELECT company_id, word, id FROM told WHERE NOT EXISTS (
        SELECT FROM pipeline_nameword known WHERE known.company_id = told.company_id
          AND known.word = told.word COLLATE "C" AND known.application_id = told.id)
)
INSERT INTO pipeline_nameplace (id, done, seen, seen_txid)
SELECT 1, greatest(done, least(complete, last)), greatest(done, last),
       pg_snapshot_xmax(pg_current_snapshot())::text::bigint
FROM place, (SELECT max(id) AS last FROM looked_at) looked
ON CONFLICT (id) DO UPDATE
    SET done = excluded.done, seen = excluded.seen, seen_txid = excluded.seen_txid
RETURNING (SELECT count(*) FROM looked_at)
"""


def update() -> bool:
    """Index the names of new applications. Returns True if there may be more to do."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(_TURN)
        if not cursor.fetchone()[0]:
            return False
        cursor.execute(_LEARN, {"batch": BATCH})
        return cursor.fetchone()[0] == BATCH


def folded(text: Combinable) -> Func:
    """Return a text as searches compare it: without case, accents, apostrophes and joiners."""
    return Func(text, function="pipeline_folded", output_field=TextField())
