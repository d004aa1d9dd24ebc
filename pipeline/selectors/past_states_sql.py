"""SQL for past moments of a line: everyone's place, and the differences between two moments.

All of it rests on one fold: an application's last event says where it stands. EVERYBODY reads the
whole line. PEOPLE orders it in the database and reads the first of each list.
"""

from __future__ import annotations

# The aggregates over all events of one application, besides its last event.
_TIMES = """
    min(at) AS applied_at,
    max(at) FILTER (WHERE event NOT IN (
        'DEADLINE_EXTENDED', 'VERIFIED', 'DEFERRED', 'PREACCEPTED', 'PASS_ASKED', 'PLACED',
        'CONTESTED', 'CONTEST_ANSWERED'))
        AS status_since,
    max(at) FILTER (WHERE to_status = 'PENDING_ACKNOWLEDGMENT' AND event <> 'DEADLINE_EXTENDED')
        AS promoted_at,
    max(at) FILTER (WHERE event = 'ACKNOWLEDGED') AS acknowledged_at
"""

# The columns of a place, in the order that `past_states._past_place_of` expects.
_PLACE = (
    "application_id, to_status, event = 'DEADLINE_EXTENDED' AS is_extended, data,"
    " applied_at, status_since, promoted_at, acknowledged_at"
)

# Every live application after event `seq`.
EVERYBODY = f"""
WITH folded AS (
    SELECT application_id, max(seq) AS seq, {_TIMES}
    FROM pipeline_event
    WHERE job_id = %(job)s AND seq <= %(seq)s AND application_id IS NOT NULL
    GROUP BY application_id
)
SELECT {_PLACE} FROM folded JOIN pipeline_event USING (application_id, seq)
WHERE job_id = %(job)s AND to_status <> 'INACTIVE'
"""  # noqa: S608

# The same with the positions of verified people, and only a stretch of the waitlist.
STRETCH = f"""
WITH live AS ({EVERYBODY}), ordered AS (
    SELECT *, row_number() OVER line AS place,
           CASE WHEN to_status = 'WAITLIST' AND data ->> 'verify_by' IS NULL
                THEN count(*) FILTER (WHERE data ->> 'verify_by' IS NULL) OVER line END AS position
    FROM live WINDOW line AS (
        PARTITION BY to_status ORDER BY (data ->> 'ticket')::bigint, (data ->> 'tie')::bigint
    )
)
SELECT application_id, to_status, is_extended, data, applied_at, status_since, promoted_at,
       acknowledged_at, position
FROM ordered
WHERE (to_status <> 'WAITLIST' AND %(after)s = 0)
   OR (to_status = 'WAITLIST' AND place > %(after)s AND place <= %(after)s + %(limit)s)
ORDER BY place
"""  # noqa: S608

# The last event recorded by a time: `at` never decreases, so a binary search finds it.
SEQ_AT = """
WITH RECURSIVE search AS (
    SELECT 0::bigint AS low, seq AS high FROM jobs_job WHERE id = %(job)s
    UNION ALL
    SELECT CASE WHEN later THEN low ELSE middle END, CASE WHEN later THEN middle - 1 ELSE high END
    FROM (
        SELECT low, high, (low + high + 1) / 2 AS middle,
               (SELECT at FROM pipeline_event
                WHERE job_id = %(job)s AND pipeline_event.seq = (low + high + 1) / 2) > %(as_of)s
               AS later
        FROM search WHERE low < high
    ) step
)
SELECT low, %(as_of)s > clock_timestamp() + make_interval(
    secs => (SELECT clock_offset_seconds FROM jobs_job WHERE id = %(job)s))
FROM search WHERE low >= high
"""

# The last events of everyone who was in the line, read from the log's beginning.
FROM_THE_START = """
SELECT e.application_id, e.to_status, e.at, e.event, e.data
FROM (SELECT application_id, max(seq * 2 + (to_status = 'INACTIVE')::int) AS code
      FROM pipeline_event
      WHERE job_id = %(job)s AND seq <= %(seq)s AND application_id IS NOT NULL
      GROUP BY application_id) last
JOIN pipeline_event e ON e.job_id = %(job)s AND e.seq = last.code / 2 AND e.seq <= %(seq)s
WHERE last.code %% 2 = 0
"""

# The same for everyone who may be among the first of a list, read from the log's end.
#
# These are the people in the line at that moment who have later events, and the first people of the
# current line, who have none. The log says where each of them stood.
FROM_THE_END = """
SELECT e.application_id, e.to_status, e.at, e.event, e.data FROM (
    SELECT application_id FROM pipeline_event
    WHERE job_id = %(job)s AND seq > %(seq)s AND application_id IS NOT NULL
    GROUP BY application_id HAVING min(seq * 2 + (from_status IS NULL)::int) %% 2 = 0
    UNION SELECT id FROM pipeline_application WHERE job_id = %(job)s AND status = 'ACTIVE'
    UNION SELECT id FROM pipeline_application
    WHERE job_id = %(job)s AND status = 'PENDING_ACKNOWLEDGMENT'
    UNION (SELECT id FROM pipeline_application now_waiting
           WHERE job_id = %(job)s AND status = 'WAITLIST' AND tie <= %(seq)s
             AND NOT EXISTS (SELECT FROM pipeline_event back
                             WHERE back.application_id = now_waiting.id AND back.seq > %(seq)s
                               AND back.event IN ('REINSTATED', 'PASSED'))
             AND ticket >= (SELECT head_ticket FROM jobs_job WHERE id = %(job)s)
           ORDER BY ticket, tie LIMIT %(shown)s)
) candidate CROSS JOIN LATERAL (
    SELECT application_id, to_status, at, event, data FROM pipeline_event
    WHERE application_id = candidate.application_id AND seq <= %(seq)s ORDER BY seq DESC LIMIT 1
) e WHERE e.to_status <> 'INACTIVE'
"""

# The first people of each list, in order, with the positions of verified people. `stood` is
# FROM_THE_START or FROM_THE_END, whichever reads less of the log.
PEOPLE = f"""
WITH stood AS ({{stood}}), ordered AS (
    SELECT *, row_number() OVER line AS place,
           CASE WHEN to_status = 'WAITLIST' AND data ->> 'verify_by' IS NULL
                THEN count(*) FILTER (WHERE data ->> 'verify_by' IS NULL) OVER line END AS position
    FROM stood WINDOW line AS (
        PARTITION BY to_status ORDER BY
            CASE WHEN to_status = 'ACTIVE' THEN at END,
            CASE WHEN to_status = 'PENDING_ACKNOWLEDGMENT' THEN data ->> 'deadline' END,
            (data ->> 'ticket')::bigint, (data ->> 'tie')::bigint, application_id
    )
)
SELECT {_PLACE}, position
FROM ordered CROSS JOIN LATERAL (
    SELECT {_TIMES} FROM pipeline_event own
    WHERE own.application_id = ordered.application_id AND own.seq <= %(seq)s
) folded
WHERE place <= %(shown)s ORDER BY to_status, place
"""  # noqa: S608


def _past_position_sql(event: str) -> str:
    """Return SQL for the position that an event's row gives among verified waiting people."""
    waits = f"{event}.to_status = 'WAITLIST' AND {event}.data ->> 'verify_by' IS NULL"
    return f"""CASE WHEN {waits} THEN count(*) FILTER (WHERE {waits}) OVER (
           ORDER BY ({event}.data ->> 'ticket')::bigint, ({event}.data ->> 'tie')::bigint) END"""


# The status and place of everyone at two moments.
STOOD = f"""
SELECT last_seqs.application_id, b.to_status AS was, a.to_status AS now_is, a.outcome,
       {_past_position_sql("b")} AS place_before,
       {_past_position_sql("a")} AS place_after
FROM (
    SELECT application_id, max(seq) FILTER (WHERE seq <= %(earlier)s) AS before, max(seq) AS after
    FROM pipeline_event
    WHERE job_id = %(job)s AND seq <= %(later)s AND application_id IS NOT NULL
    GROUP BY application_id
) last_seqs
LEFT JOIN pipeline_event b
    ON b.job_id = %(job)s AND b.seq = last_seqs.before AND b.seq <= %(earlier)s
JOIN pipeline_event a ON a.job_id = %(job)s AND a.seq = last_seqs.after AND a.seq <= %(later)s
"""  # noqa: S608
_STATUSES = "ARRAY['WAITLIST', 'PENDING_ACKNOWLEDGMENT', 'ACTIVE', 'INACTIVE']"

# The same only for people with an event in between, and without places, which would require
# ordering the whole line.
TOUCHED = f"""
SELECT application_id, ({_STATUSES})[first %% 8] AS was, ({_STATUSES})[last %% 8] AS now_is,
       outcome, NULL::bigint AS place_before, NULL::bigint AS place_after
FROM (
    SELECT application_id, (array_agg(outcome ORDER BY seq DESC))[1] AS outcome,
           min(seq * 8 + coalesce(array_position({_STATUSES}, from_status::text), 0)) AS first,
           max(seq * 8 + array_position({_STATUSES}, to_status::text)) AS last
    FROM pipeline_event
    WHERE job_id = %(job)s AND seq > %(earlier)s AND seq <= %(later)s
      AND application_id IS NOT NULL
    GROUP BY application_id
) span
"""  # noqa: S608

# The kinds of differences, with the first people and the total of each. Before a draw by lot nobody
# has a place, so what looks like one moves nobody.
DIFFERENCES = """
WITH stood AS ({stood}), kinds AS (
    SELECT *, CASE
        WHEN was IS NULL AND now_is = 'INACTIVE' THEN 'passed'
        WHEN was IS NULL THEN 'joined'
        WHEN was = 'INACTIVE' AND now_is <> 'INACTIVE' THEN 'returned'
        WHEN was = now_is AND place_after IS NULL THEN NULL
        WHEN now_is = 'INACTIVE' THEN 'left'
        WHEN was = now_is AND place_before IS NULL THEN 'verified'
        WHEN was = now_is AND %(places_after)s AND NOT %(places_before)s THEN 'drawn'
        WHEN was = now_is AND (NOT %(places_after)s OR place_before = place_after) THEN NULL
        WHEN was = now_is THEN 'moved'
        WHEN was = 'WAITLIST' THEN 'seated'
        WHEN now_is = 'WAITLIST' THEN 'lost'
        WHEN now_is = 'ACTIVE' THEN 'confirmed'
    END AS kind,
    CASE WHEN %(places_before)s THEN place_before END AS shown_before,
    CASE WHEN %(places_after)s THEN place_after END AS shown_after
    FROM stood
), counted AS (
    SELECT *, count(*) OVER (PARTITION BY kind) AS total, row_number() OVER (
        PARTITION BY kind ORDER BY shown_after, shown_before, application_id) AS place
    FROM kinds WHERE kind IS NOT NULL
)
SELECT kind, application_id, shown_before, shown_after, outcome, now_is, total
FROM counted WHERE place <= %(shown)s ORDER BY kind, place
"""
