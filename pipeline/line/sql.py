"""SQL of the hot path, one constant per statement. Everything else uses the ORM.

Columns are listed here once. The modules that run the statements turn rows into objects.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from jobs.policies import POLICY_FIELDS
from pipeline.line.event_log import LogEntry
from pipeline.models import Application, PlannedSeats
from tasks.sql.prepared import Parameters, PreparedStatement, prepared_row, run_prepared

# Round trips of the line's hot path: several prepared statements in each. While a job's lock is
# held, every round trip makes all other changes to that job wait. So BEGIN and the first reads
# travel with the lock, and COMMIT with the write.


Row = tuple[Any, ...]


def fetch_in_one_trip(*texts: str, parameters: Parameters, commit: bool = False) -> list[list[Row]]:
    """Fetch the rows of each statement in one round trip. Each sees what was committed before it.

    With `commit`, the round trip also commits; Django then finds nothing left to commit. Inside an
    outer transaction (a test's), there is only a savepoint, which is left to Django. Raises
    IntegrityError, and django.db.OperationalError if a lock is not obtained in time.
    """
    return run_prepared([_round_trip_statement(text) for text in texts], parameters, commit=commit)


@cache
def _round_trip_statement(text: str) -> PreparedStatement[Row]:
    """Return the statement, cached: texts are few, and built only from names in the code."""
    return PreparedStatement(text, prepared_row)


# Columns of the job's row that a change reads.
HOT = (
    "id company_id status capacity active_count pending_count waitlist_count unverified_count "
    "next_ticket head_ticket seq chain_head next_due_at policy_version opened_at closed_at "
    "last_event_at last_txid is_test clock_offset_seconds draw_at drawn_at"
).split() + list(POLICY_FIELDS)

# Columns of the job's row that a change writes.
WRITTEN = [name for name in HOT if name not in ("id", "company_id", "last_txid", "is_test")]

APPLICATION: list[str] = [field.attname for field in Application._meta.concrete_fields]
CHANGING = [name for name in APPLICATION if name not in ("id", "job_id", "applicant_id", "name")]
PLANNED: list[str] = [field.attname for field in PlannedSeats._meta.concrete_fields]
ENTRY = list(LogEntry.__dataclass_fields__)

_hot = ", ".join(HOT)
_application = ", ".join(APPLICATION)

_LOCKED = f"""
WITH locked AS MATERIALIZED (
    SELECT {_hot} FROM jobs_job WHERE {{which}}
)
SELECT {_hot}, clock_timestamp(){{more}} FROM locked
"""

# The types of webhooks that the company's endpoints want; `*` for an endpoint that wants all.
_WEBHOOK_TYPES = """
SELECT unnest(CASE WHEN hook.types = '{{}}' THEN '{{*}}' ELSE hook.types END)
FROM pipeline_webhookendpoint hook WHERE hook.is_active AND hook.company_id = {company}
"""

# Lock a job by its id. The clock is read after the lock, in the same round trip.
LOCK_JOB = _LOCKED.format(which="id = %(job)s FOR NO KEY UPDATE", more="")

LIMIT_LOCK_WAIT = "SELECT set_config('lock_timeout', %(lock_timeout)s, true)"  # until the commit

# Lock the job of an application. It never changes, so the snapshot may be older than the lock.
LOCK_JOB_OF = _LOCKED.format(
    which="id = (SELECT job_id FROM pipeline_application WHERE id = %(application)s)"
    " FOR NO KEY UPDATE",
    more="",
)

# Those of a locked job's company. A separate statement, so that its snapshot is newer than the
# lock: an endpoint that was created while a change waited gets it.
READ_WEBHOOK_TYPES = _WEBHOOK_TYPES.format(
    company="(SELECT company_id FROM jobs_job WHERE id = %(job)s)"
)
READ_WEBHOOK_TYPES_OF = _WEBHOOK_TYPES.format(
    company="(SELECT company_id FROM jobs_job WHERE id ="
    " (SELECT job_id FROM pipeline_application WHERE id = %(application)s))"
)

# Lock the job that has been due for longest among the unlocked ones.
#
# The clock is a sub-select so that the index scan stops there. A comparison with a volatile
# function would read every job that is due at any later time. It never waits, so its snapshot is
# new enough to read the types of webhooks too. Another statement would read the job again.
LOCK_DUE_JOB = _LOCKED.format(
    which="next_due_at <= (SELECT clock_timestamp()) AND id <> ALL(%(except)s::uuid[])"
    " ORDER BY next_due_at LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED",
    more=f", ARRAY({_WEBHOOK_TYPES.format(company='locked.company_id')})",
)

# The time zone of an application's person, by which quiet hours go, after its columns.
_zone = "(SELECT time_zone FROM applicants_applicant WHERE id = applicant_id)"

# One application. A separate statement, so that its snapshot is newer than the lock.
READ_APPLICATION = f"""
SELECT {_application}, {_zone} FROM pipeline_application WHERE id = %(application)s
"""

# The same, if it is one to a job, and some of a job by their ids. The job's key is compared by an
# expression: where most lines are short, PostgreSQL would go by an index of the whole line.
READ_APPLICATION_TO = f"{READ_APPLICATION} AND (job_id = %(job)s) IS TRUE"
READ_APPLICATIONS = f"""
SELECT {_application}, {_zone} FROM pipeline_application
WHERE id = ANY(%(applications)s::uuid[]) AND (job_id = %(job)s) IS TRUE
"""

# Create applicants for unknown addresses, in sorted order, so that two transactions with the same
# new addresses cannot deadlock.
MAKE_PEOPLE = """
INSERT INTO applicants_applicant (id, email, name, created_at)
SELECT id, email, '', statement_timestamp()
FROM unnest(%(new_ids)s::uuid[], %(emails)s::text[]) AS wanted (id, email) ORDER BY email
ON CONFLICT (email) DO NOTHING
"""

# Protect people from erasure before the job is locked: waiting here for a running erasure does not
# hold up everyone else at the job.
HOLD_PEOPLE = """
SELECT FROM applicants_applicant
WHERE id = ANY(%(applicants)s::uuid[]) OR email = ANY(%(emails)s::text[]) FOR KEY SHARE
"""
HOLD_PERSON_OF = """
SELECT FROM applicants_applicant
WHERE id = (SELECT applicant_id FROM pipeline_application WHERE id = %(application)s) FOR KEY SHARE
"""

# People by id or address, each with their history at this job, which may be empty: the live
# application, the unverified live one, a decided one, misses, end of the last cool-down; their time
# zone; passes, and the pass that began that cool-down. None of them can be erased before this
# change commits. A decision on a never verified application does not count, since someone else may
# have used the address; its misses are copies of earlier ones.
READ_PEOPLE = """
WITH people AS MATERIALIZED (
    SELECT id, email, time_zone FROM applicants_applicant
    WHERE id = ANY(%(applicants)s::uuid[]) OR email = ANY(%(emails)s::text[]) FOR KEY SHARE
)
SELECT people.id,
       people.email,
       (array_agg(past.id) FILTER (WHERE status <> 'INACTIVE'))[1],
       (array_agg(past.id) FILTER (WHERE status = 'WAITLIST' AND verify_by IS NOT NULL))[1],
       (array_agg(past.id) FILTER (WHERE outcome IN ('REJECTED', 'HIRED')
                                   AND verify_by IS NULL))[1],
       coalesce(max(decay_count) FILTER (WHERE verify_by IS NULL), 0),
       max(eligible_at) FILTER (WHERE verify_by IS NULL),
       people.time_zone,
       coalesce(max(passes_used) FILTER (WHERE verify_by IS NULL), 0),
       (array_agg(passed_at ORDER BY eligible_at DESC)
           FILTER (WHERE verify_by IS NULL AND eligible_at IS NOT NULL))[1]
FROM people
LEFT JOIN pipeline_application past ON past.applicant_id = people.id AND past.job_id = %(job)s
GROUP BY people.id, people.email, people.time_zone
"""

# Overdue applications, offered or unverified, in the order in which they are settled.
READ_DUE = f"""
SELECT * FROM (
    SELECT {_application} FROM pipeline_application
    WHERE job_id = %(job)s AND status = 'PENDING_ACKNOWLEDGMENT' AND acknowledge_by <= %(now)s
    UNION ALL
    SELECT {_application} FROM pipeline_application
    WHERE job_id = %(job)s AND status = 'WAITLIST' AND verify_by <= %(now)s
) overdue ORDER BY coalesce(acknowledge_by, verify_by), id
"""

# The next deadline to acknowledge or to verify, time of planned seats, or draw.
READ_NEXT_DEADLINE = """
SELECT least((
    SELECT min(acknowledge_by) FROM pipeline_application
    WHERE job_id = %(job)s AND status = 'PENDING_ACKNOWLEDGMENT' AND acknowledge_by > %(now)s
), (
    SELECT min(verify_by) FROM pipeline_application
    WHERE job_id = %(job)s AND status = 'WAITLIST' AND verify_by > %(now)s
), (
    SELECT min(next_at) FROM pipeline_plannedseats
    WHERE job_id = %(job)s AND next_at > %(now)s
), (
    SELECT draw_at FROM jobs_job
    WHERE id = %(job)s AND drawn_at IS NULL AND status <> 'DRAFT' AND draw_at > %(now)s
))
"""

# Planned changes of the number of seats whose time has come.
READ_DUE_SEATS = f"""
SELECT {", ".join(PLANNED)} FROM pipeline_plannedseats
WHERE job_id = %(job)s AND next_at <= %(now)s ORDER BY next_at, id
"""

_eligible = """(eligible_at IS NULL OR eligible_at <= %(now)s)
      AND (not_before IS NULL OR not_before <= %(now)s) AND verify_by IS NULL"""

# The first eligible people in line, and at most `passes` among them who pass their turn and take no
# seat; their time zones, and the first ticket that was skipped.
READ_NEXT_IN_LINE = f"""
WITH taking AS MATERIALIZED (
    SELECT {_application} FROM pipeline_application
    WHERE job_id = %(job)s AND status = 'WAITLIST' AND ticket >= %(head)s
      AND {_eligible} AND NOT pass_next
    ORDER BY ticket, tie LIMIT %(seats)s
), next AS MATERIALIZED (SELECT {_application} FROM taking UNION ALL (
    SELECT {_application} FROM pipeline_application
    WHERE job_id = %(job)s AND status = 'WAITLIST' AND {_eligible} AND pass_next
      AND ticket BETWEEN %(head)s AND (
          SELECT CASE WHEN count(*) < %(seats)s THEN {2**63 - 1} ELSE max(ticket) END FROM taking)
    ORDER BY ticket, tie LIMIT %(passes)s))
SELECT {_application}, {_zone}, (
    SELECT min(ticket) FROM pipeline_application
    WHERE job_id = %(job)s AND status = 'WAITLIST'
      AND (eligible_at > %(now)s OR not_before > %(now)s OR verify_by IS NOT NULL)
      AND ticket BETWEEN %(head)s AND (SELECT max(ticket) FROM next)
) FROM next ORDER BY ticket, tie
"""

# The earliest end of a cool-down or a deferral among verified people in line. Someone can be in
# both, so nobody may be eligible at that time; the next settlement then finds the later end.
READ_NEXT_HELD = """
SELECT least((
    SELECT min(eligible_at) FROM pipeline_application
    WHERE job_id = %(job)s AND status = 'WAITLIST' AND eligible_at > %(now)s
      AND verify_by IS NULL
), (
    SELECT min(not_before) FROM pipeline_application
    WHERE job_id = %(job)s AND status = 'WAITLIST' AND not_before > %(now)s
))
"""

# People with an offered seat, by deadline.
READ_PENDING = f"""
SELECT {_application} FROM pipeline_application
WHERE job_id = %(job)s AND status = 'PENDING_ACKNOWLEDGMENT'
ORDER BY acknowledge_by, id LIMIT %(most)s
"""

# People on the waitlist, in order, eligible or not.
READ_WAITING = f"""
SELECT {_application} FROM pipeline_application
WHERE job_id = %(job)s AND status = 'WAITLIST' AND ticket >= %(head)s
ORDER BY ticket, tie LIMIT %(most)s
"""

# Everyone on the waitlist.
READ_ALL_WAITING = f"""
SELECT {_application} FROM pipeline_application
WHERE job_id = %(job)s AND status = 'WAITLIST'
"""

_recordset = "json_populate_recordset(NULL::{table}, %({rows})s)"

CREATE = "INSERT INTO {table} ({names}) SELECT {names} FROM {source}".format(
    table="pipeline_application",
    names=_application,
    source=_recordset.format(table="pipeline_application", rows="created"),
)

# Update the applications that a change moved, all of the locked job (see READ_APPLICATION_TO).
CHANGE = """UPDATE pipeline_application a SET {columns} FROM {source} n
WHERE a.id = n.id AND (a.job_id = %(id)s::uuid) IS TRUE""".format(
    columns=", ".join(f"{name} = n.{name}" for name in CHANGING),
    source=_recordset.format(table="pipeline_application", rows="changed"),
)

# The same for a few rows, with a separate list of ids: the planner expects a hundred rows from the
# function that unpacks them, and for that many it would read a whole table of 20,000. With many
# ids, this would be quadratic.
FEW = 10
CHANGE_FEW = f"{CHANGE} AND a.id = ANY(%(changed_ids)s::uuid[])"

# Append a change's events to the log, each with its place in the feed.
#
# A transaction that got its number before it waited for the lock can have a lower number than the
# changes before its own. It then takes the number of the event before it.
APPEND = """
INSERT INTO pipeline_event ({names}, company_id, txid)
SELECT {names},
       %(company_id)s::uuid,
       (SELECT greatest(pipeline_feed_place(), %(last_txid)s))
FROM {source}
""".format(names=", ".join(ENTRY), source=_recordset.format(table="pipeline_event", rows="entries"))

# Write back the hot row, with the place in the feed of its last event (see APPEND).
WRITE_JOB = """
UPDATE jobs_job SET {columns}, last_txid = CASE WHEN seq < %(seq)s
    THEN greatest(pipeline_feed_place(), last_txid) ELSE last_txid END
WHERE id = %(id)s
""".format(columns=", ".join(f"{name} = %({name})s" for name in WRITTEN))


def sql_people_ahead(ticket: str, tie: str) -> str:
    """Return SQL that counts the verified people before a place in the line of `job`.

    It counts the nearer side, the people ahead or all the others, on the index of the waitlist's
    order. Each side also names its first ticket; otherwise the index would be read from the line's
    first ticket, past the entries of everyone who was promoted.
    """
    side = """(
        SELECT count(*) FROM pipeline_application other
        WHERE other.job_id = job.id AND other.status = 'WAITLIST'
          AND other.ticket >= {first} AND (other.ticket, other.tie) {which} ({ticket}, {tie})
    )"""
    ahead = side.format(first="job.head_ticket", which="<", ticket=ticket, tie=tie)
    behind = side.format(first=ticket, which=">=", ticket=ticket, tie=tie)
    return f"""
    CASE WHEN {ticket} - job.head_ticket <= job.next_ticket - {ticket}
         THEN {ahead} ELSE job.waitlist_count - {behind} END - (
        SELECT count(*) FROM pipeline_application other
        WHERE other.job_id = job.id AND other.status = 'WAITLIST' AND other.verify_by IS NOT NULL
          AND (other.ticket, other.tie) < ({ticket}, {tie})
    )
    """


# The positions of people who have just joined the waitlist.
READ_POSITIONS = f"""
SELECT joined.id, {sql_people_ahead("joined.ticket", "joined.tie")} + 1
FROM jobs_job job, unnest(%(joined)s::uuid[], %(tickets)s::bigint[], %(ties)s::bigint[])
    AS joined (id, ticket, tie)
WHERE job.id = %(job)s
"""

# Wake the decay workers for a job that becomes due before their next check.
NOTIFY_DUE = "SELECT pg_notify('line_due', '')"
