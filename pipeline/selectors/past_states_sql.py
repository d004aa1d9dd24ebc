"""The statements behind past moments of a line: who stood where, and what differs between two."""

from __future__ import annotations

FROM_THE_START = """
SELECT e.application_id, e.to_status, e.at, e.data
FROM (SELECT application_id, max(seq * 2 + (to_status = 'INACTIVE')::int) AS code
      FROM pipeline_event
      WHERE job_id = %(job)s AND seq <= %(seq)s AND application_id IS NOT NULL
      GROUP BY application_id) last
JOIN pipeline_event e ON e.job_id = %(job)s AND e.seq = last.code / 2 AND e.seq <= %(seq)s
WHERE last.code %% 2 = 0
"""
"""Everybody who was in the line, by their last event."""

FROM_THE_END = """
SELECT e.application_id, e.to_status, e.at, e.data FROM (
    SELECT application_id FROM pipeline_event
    WHERE job_id = %(job)s AND seq > %(seq)s AND application_id IS NOT NULL
    GROUP BY application_id HAVING min(seq * 2 + (from_status IS NULL)::int) %% 2 = 0
    UNION SELECT id FROM pipeline_application WHERE job_id = %(job)s AND status = 'ACTIVE'
    UNION SELECT id FROM pipeline_application
    WHERE job_id = %(job)s AND status = 'PENDING_ACKNOWLEDGMENT'
    UNION (SELECT id FROM pipeline_application
           WHERE job_id = %(job)s AND status = 'WAITLIST' AND tie <= %(seq)s
             AND ticket >= (SELECT head_ticket FROM jobs_job WHERE id = %(job)s)
           ORDER BY ticket, tie LIMIT %(shown)s)
) candidate CROSS JOIN LATERAL (
    SELECT application_id, to_status, at, data FROM pipeline_event
    WHERE application_id = candidate.application_id AND seq <= %(seq)s ORDER BY seq DESC LIMIT 1
) e WHERE e.to_status <> 'INACTIVE'
"""
"""Who can be among the first of a list: whom something happened to since, though they were in the
line before; and of those to whom nothing did, the first as the line stands now. The log says how
each of them stood."""

PEOPLE = """
WITH stood AS ({stood}), ordered AS (
    SELECT *, row_number() OVER (
        PARTITION BY to_status ORDER BY
            CASE WHEN to_status = 'ACTIVE' THEN at END,
            CASE WHEN to_status = 'PENDING_ACKNOWLEDGMENT' THEN data ->> 'deadline' END,
            (data ->> 'ticket')::bigint, (data ->> 'tie')::bigint, application_id
    ) AS place FROM stood
)
SELECT to_status, application_id, place, (
    SELECT max(at) FROM pipeline_event own
    WHERE own.application_id = ordered.application_id AND own.seq <= %(seq)s
      AND own.event <> 'DEADLINE_EXTENDED'
), data
FROM ordered WHERE place <= %(shown)s ORDER BY to_status, place
"""

STOOD = """
SELECT told.application_id, b.to_status AS was, a.to_status AS now_is, a.outcome,
       CASE WHEN b.to_status = 'WAITLIST' THEN row_number() OVER (
           PARTITION BY b.to_status ORDER BY
           (b.data ->> 'ticket')::bigint, (b.data ->> 'tie')::bigint) END AS place_before,
       CASE WHEN a.to_status = 'WAITLIST' THEN row_number() OVER (
           PARTITION BY a.to_status ORDER BY
           (a.data ->> 'ticket')::bigint, (a.data ->> 'tie')::bigint) END AS place_after
FROM (
    SELECT application_id, max(seq) FILTER (WHERE seq <= %(earlier)s) AS before, max(seq) AS after
    FROM pipeline_event
    WHERE job_id = %(job)s AND seq <= %(later)s AND application_id IS NOT NULL
    GROUP BY application_id
) told
LEFT JOIN pipeline_event b
    ON b.job_id = %(job)s AND b.seq = told.before AND b.seq <= %(earlier)s
JOIN pipeline_event a ON a.job_id = %(job)s AND a.seq = told.after AND a.seq <= %(later)s
"""
_STATUSES = "ARRAY['WAITLIST', 'PENDING_ACKNOWLEDGMENT', 'ACTIVE', 'INACTIVE']"

TOUCHED = f"""
SELECT application_id, ({_STATUSES})[first %% 8] AS was, ({_STATUSES})[last %% 8] AS now_is,
       outcome, NULL::bigint AS place_before, NULL::bigint AS place_after
FROM (
    SELECT application_id, max(outcome) AS outcome,
           min(seq * 8 + coalesce(array_position({_STATUSES}, from_status::text), 0)) AS first,
           max(seq * 8 + array_position({_STATUSES}, to_status::text)) AS last
    FROM pipeline_event
    WHERE job_id = %(job)s AND seq > %(earlier)s AND seq <= %(later)s
      AND application_id IS NOT NULL
    GROUP BY application_id
) told
"""  # noqa: S608
"""Only to whom something happened in between, and without the places, for which the whole line
would have to be put in order."""

DIFFERENCES = """
WITH stood AS ({stood}), kinds AS (
    SELECT *, CASE
        WHEN was IS NULL AND now_is = 'INACTIVE' THEN 'passed'
        WHEN was IS NULL THEN 'joined'
        WHEN was = 'INACTIVE' OR was = now_is AND place_before IS NOT DISTINCT FROM place_after
            THEN NULL
        WHEN now_is = 'INACTIVE' THEN 'left'
        WHEN was = 'WAITLIST' AND now_is = 'WAITLIST' THEN 'moved'
        WHEN was = 'WAITLIST' THEN 'seated'
        WHEN now_is = 'WAITLIST' THEN 'lost'
        WHEN now_is = 'ACTIVE' THEN 'confirmed'
    END AS kind FROM stood
), counted AS (
    SELECT *, count(*) OVER (PARTITION BY kind) AS total, row_number() OVER (
        PARTITION BY kind ORDER BY place_after, place_before, application_id) AS place
    FROM kinds WHERE kind IS NOT NULL
)
SELECT kind, application_id, place_before, place_after, outcome, now_is, total
FROM counted WHERE place <= %(shown)s ORDER BY kind, place
"""
