"""SQL for applications as people see them, one constant per statement.

The statements are built only from constants in this module. All values are parameters.
"""

from __future__ import annotations

from pipeline.line.sql import APPLICATION, sql_people_ahead

_columns = ", ".join(f"seen.{name}" for name in APPLICATION)

# The number of people in line, as everyone sees it.
_WAITING = "job.waitlist_count - job.unverified_count"

# The time by the job's own clock: ahead of the database's only in a sandbox.
_NOW = "statement_timestamp() + make_interval(secs => job.clock_offset_seconds)"

# Whether a job's order is still to be drawn by lot. Until then nobody has a position.
_AWAITS_DRAW = "(job.draw_at IS NOT NULL AND job.drawn_at IS NULL)"

_SEEN = f"""
SELECT {_columns},
       job.company_id, posting.title, person.email, {_WAITING}, job.max_decays,
       {{position}}, {_NOW}, reference.external_id, reference.metadata, job.is_test
FROM {{source}} seen
JOIN jobs_job job ON job.id = seen.job_id
JOIN jobs_jobposting posting ON posting.job_id = seen.job_id
JOIN applicants_applicant person ON person.id = seen.applicant_id
LEFT JOIN pipeline_applicationreference reference ON reference.application_id = seen.id
"""  # noqa: S608

_EACH_BY_ITSELF = _SEEN.format(
    source="pipeline_application",
    position=f"CASE WHEN seen.status = 'WAITLIST' AND seen.verify_by IS NULL AND NOT {_AWAITS_DRAW}"
    f" THEN {sql_people_ahead('seen.ticket', 'seen.tie')} + 1 END",
)

# One application, with its position and its job's counters as of the same instant.
ONE = f"{_EACH_BY_ITSELF} WHERE seen.id = %(application)s"

# The application to which a company attached an id of its own.
ATTACHED = f"""
{_EACH_BY_ITSELF}
WHERE reference.company_id = %(company)s AND reference.external_id = %(external_id)s
"""

# A person's applications, newest first, to one company's jobs or to all.
OF_PERSON = f"""
{_EACH_BY_ITSELF}
WHERE seen.applicant_id = %(applicant)s
  AND CASE WHEN %(company)s::uuid IS NULL THEN NOT job.is_test
           ELSE job.company_id = %(company)s END
  AND (%(after)s::uuid IS NULL OR seen.id < %(after)s)
ORDER BY seen.id DESC LIMIT %(most)s
"""

# Applications of any source, without positions.
SEEN_UNPLACED = _SEEN.format(source="{source}", position="NULL::bigint")
_UNPLACED = SEEN_UNPLACED.format(source="pipeline_application")

# Some applications, unordered and without positions, which take long to count in long lines.
FOUND = f"{_UNPLACED} WHERE seen.id = ANY(%(applications)s::uuid[])"

# Active people of a job, longest first: at most as many as it has seats.
ACTIVE = f"""
{_UNPLACED}
WHERE seen.job_id = %(job)s AND seen.status = 'ACTIVE' ORDER BY seen.status_since, seen.id
"""

# People with an offered seat in a job, by deadline.
PENDING = f"""
{_UNPLACED}
WHERE seen.job_id = %(job)s AND seen.status = 'PENDING_ACKNOWLEDGMENT'
ORDER BY seen.acknowledge_by, seen.id
"""

# A page of people with a seat: first those who must acknowledge, by deadline; then the others,
# longest first.
SEATS = """
WITH page AS MATERIALIZED (
    SELECT * FROM (
        (SELECT *, 0 AS rank, acknowledge_by AS moment FROM pipeline_application
         WHERE job_id = %(job)s AND status = 'PENDING_ACKNOWLEDGMENT'
           AND (acknowledge_by, id) > (%(pending_at)s::timestamptz, %(pending_id)s)
         ORDER BY acknowledge_by, id LIMIT %(most)s)
        UNION ALL
        (SELECT *, 1, status_since FROM pipeline_application
         WHERE job_id = %(job)s AND status = 'ACTIVE'
           AND (status_since, id) > (%(active_at)s::timestamptz, %(active_id)s)
         ORDER BY status_since, id LIMIT %(most)s)
    ) seated ORDER BY rank, moment, id LIMIT %(most)s
)
{seen} ORDER BY seen.rank, seen.moment, seen.id
""".format(seen=SEEN_UNPLACED.format(source="page"))  # noqa: S608

# A page of the waitlist after a place. Only the first row's position is counted. Before a draw by
# lot it is not, and so nobody's position is known.
QUEUE = """
WITH page AS MATERIALIZED (
    SELECT * FROM pipeline_application
    WHERE job_id = %(job)s AND status = 'WAITLIST'
      AND ticket >= greatest(%(ticket)s, (SELECT head_ticket FROM jobs_job WHERE id = %(job)s))
      AND (ticket, tie) > (%(ticket)s, %(tie)s)
    ORDER BY ticket, tie LIMIT %(most)s
), before AS MATERIALIZED (
    SELECT {ahead} AS people
    FROM (SELECT ticket, tie FROM page ORDER BY ticket, tie LIMIT 1) first, jobs_job job
    WHERE job.id = %(job)s AND NOT {awaits_draw}
)
{seen} ORDER BY seen.ticket, seen.tie
""".format(  # noqa: S608
    ahead=sql_people_ahead("first.ticket", "first.tie"),
    awaits_draw=_AWAITS_DRAW,
    seen=_SEEN.format(
        source="page",
        position="CASE WHEN seen.verify_by IS NULL THEN (SELECT people FROM before)"
        " + count(*) FILTER (WHERE seen.verify_by IS NULL) OVER (ORDER BY seen.ticket, seen.tie)"
        " END",
    ),
)

# The data that the row of an application that was just changed lacks.
STANDING = f"""
SELECT {_WAITING}, job.max_decays,
       CASE WHEN NOT {_AWAITS_DRAW}
            THEN {sql_people_ahead("%(ticket)s::bigint", "%(tie)s::bigint")} + 1 END, {_NOW}
FROM jobs_job job WHERE job.id = %(job)s
"""  # noqa: S608
