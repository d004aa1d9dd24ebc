"""The statements of the hot path, each with a name and a sentence. Everything else uses the ORM.

Columns are listed here once; what a row becomes in Python stands with whoever runs the statement.
"""

from __future__ import annotations

from jobs.policies import POLICY_FIELDS
from pipeline.line.event_log import Entry
from pipeline.models import Application

# What a change reads of the job's row.
HOT = (
    "id company_id status capacity active_count pending_count waitlist_count next_ticket "
    "head_ticket seq chain_head next_due_at policy_version opened_at closed_at last_event_at "
    "last_txid"
).split() + list(POLICY_FIELDS)

# What a change writes of it.
WRITTEN = [name for name in HOT if name not in ("id", "company_id", "last_txid")]

APPLICATION: list[str] = [field.attname for field in Application._meta.concrete_fields]
CHANGING = [name for name in APPLICATION if name not in ("id", "job_id", "applicant_id", "name")]
ENTRY = list(Entry.__dataclass_fields__)

_hot = ", ".join(HOT)
_application = ", ".join(APPLICATION)

_LOCKED = f"""
WITH locked AS MATERIALIZED (
    SELECT {_hot} FROM jobs_job WHERE {{which}}
)
SELECT {_hot}, clock_timestamp() FROM locked
"""

# Lock a job by its id. The clock is read after the lock, in the same round trip.
LOCK_JOB = _LOCKED.format(which="id = %(job)s FOR NO KEY UPDATE")

# Lock the job of an application (which never changes, so the snapshot may be older).
LOCK_JOB_OF = _LOCKED.format(
    which="id = (SELECT job_id FROM pipeline_application WHERE id = %(application)s)"
    " FOR NO KEY UPDATE"
)

# Lock the job that has been due for longest, of those that no other worker has.
#
# The clock is a sub-select, so that the index stops at it: compared with a volatile function, every
# job that is due at some later time would be read.
LOCK_DUE_JOB = _LOCKED.format(
    which="next_due_at <= (SELECT clock_timestamp()) AND id <> ALL(%(except)s::uuid[])"
    " ORDER BY next_due_at LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED"
)

# One application; a statement of its own, so that its snapshot is newer than the lock.
READ_APPLICATION = f"SELECT {_application} FROM pipeline_application WHERE id = %(application)s"

# What a person has behind them at this job: live, decided, misses, the last cool-down's end, and
# their address; nobody can erase them before this change is committed.
READ_HISTORY = """
WITH person AS (
    SELECT email FROM applicants_applicant WHERE id = %(applicant)s FOR KEY SHARE
)
SELECT count(*) FILTER (WHERE status <> 'INACTIVE'),
       count(*) FILTER (WHERE outcome IN ('REJECTED', 'HIRED')),
       coalesce(max(decay_count), 0),
       max(eligible_at),
       (SELECT email FROM person)
FROM pipeline_application WHERE job_id = %(job)s AND applicant_id = %(applicant)s
"""

# The same of many people at once, each with their id; who has nothing behind them, too.
READ_HISTORIES = """
WITH people AS MATERIALIZED (
    SELECT id, email FROM applicants_applicant WHERE id = ANY(%(applicants)s) FOR KEY SHARE
)
SELECT people.id,
       count(*) FILTER (WHERE status <> 'INACTIVE'),
       count(*) FILTER (WHERE outcome IN ('REJECTED', 'HIRED')),
       coalesce(max(decay_count), 0),
       max(eligible_at),
       people.email
FROM people
LEFT JOIN pipeline_application past ON past.applicant_id = people.id AND past.job_id = %(job)s
GROUP BY people.id, people.email
"""

# Whose deadline has passed, in the order in which they are settled.
READ_DUE = f"""
SELECT {_application} FROM pipeline_application
WHERE job_id = %(job)s AND status = 'PENDING_ACKNOWLEDGMENT' AND acknowledge_by <= %(now)s
ORDER BY acknowledge_by, id
"""

# The first deadline that has not passed.
READ_NEXT_DEADLINE = """
SELECT min(acknowledge_by) FROM pipeline_application
WHERE job_id = %(job)s AND status = 'PENDING_ACKNOWLEDGMENT' AND acknowledge_by > %(now)s
"""

# The first eligible people in line, and the first ticket passed over for its cool-down.
READ_NEXT_IN_LINE = f"""
WITH next AS MATERIALIZED (
    SELECT {_application} FROM pipeline_application
    WHERE job_id = %(job)s AND status = 'WAITLIST' AND ticket >= %(head)s
      AND (eligible_at IS NULL OR eligible_at <= %(now)s)
    ORDER BY ticket, tie LIMIT %(seats)s
)
SELECT {_application}, (
    SELECT min(ticket) FROM pipeline_application
    WHERE job_id = %(job)s AND status = 'WAITLIST' AND eligible_at > %(now)s
      AND ticket BETWEEN %(head)s AND (SELECT max(ticket) FROM next)
) FROM next ORDER BY ticket, tie
"""

# When the first waiting person's cool-down ends.
READ_NEXT_COOLDOWN = """
SELECT min(eligible_at) FROM pipeline_application
WHERE job_id = %(job)s AND status = 'WAITLIST' AND eligible_at > %(now)s
"""

# Who holds a seat on offer, by deadline.
READ_PENDING = f"""
SELECT {_application} FROM pipeline_application
WHERE job_id = %(job)s AND status = 'PENDING_ACKNOWLEDGMENT'
ORDER BY acknowledge_by, id LIMIT %(most)s
"""

# Who waits, in order, in a cool-down or not.
READ_WAITING = f"""
SELECT {_application} FROM pipeline_application
WHERE job_id = %(job)s AND status = 'WAITLIST' AND ticket >= %(head)s
ORDER BY ticket, tie LIMIT %(most)s
"""

_recordset = "json_populate_recordset(NULL::{table}, %({rows})s)"


def _insert(table: str, columns: list[str], rows: str) -> str:
    names = ", ".join(columns)
    source = _recordset.format(table=table, rows=rows)
    return f"INSERT INTO {table} ({names}) SELECT {names} FROM {source}"


# Write the applications that a change let in.
CREATE = _insert("pipeline_application", APPLICATION, "created")

# Write the applications that a change moved.
CHANGE = "UPDATE pipeline_application a SET {columns} FROM {source} n WHERE a.id = n.id".format(
    columns=", ".join(f"{name} = n.{name}" for name in CHANGING),
    source=_recordset.format(table="pipeline_application", rows="changed"),
)

# Append a change's events to the log, each with its place in the feed.
#
# A transaction can have got its number before it waited for the lock, and so a lower one than those
# whose changes came before its own: then it takes over the number of the event before it.
APPEND = """
INSERT INTO pipeline_event ({names}, company_id, txid)
SELECT {names},
       %(company_id)s,
       (SELECT greatest(pipeline_feed_place(), %(last_txid)s))
FROM {source}
""".format(names=", ".join(ENTRY), source=_recordset.format(table="pipeline_event", rows="entries"))

# Write back the hot row; an event takes its place in the feed along (see APPEND).
WRITE_JOB = """
UPDATE jobs_job SET {columns}, last_txid = CASE WHEN seq < %(seq)s
    THEN greatest(pipeline_feed_place(), last_txid) ELSE last_txid END
WHERE id = %(id)s
""".format(columns=", ".join(f"{name} = %({name})s" for name in WRITTEN))

# Wake the decay workers: something becomes due before they would look again by themselves.
NOTIFY_DUE = "SELECT pg_notify('line_due', '')"
