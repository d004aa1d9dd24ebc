"""Statements about deliveries, each with a name and a sentence. Time is the database's everywhere.

Runs share the work by endpoint: only the holder of its lease reads and records deliveries to it. A
statement that depends on the lease names it, and does nothing once it is lost.
"""

from __future__ import annotations

LEASE_SECONDS = 60

_IS_LEASED = (
    "EXISTS (SELECT FROM pipeline_webhookendpoint WHERE id = %(endpoint)s AND lease = %(run)s)"
)

# Lock a company's endpoints that are on, in one order. Each row also says if it is a sandbox.
LOCK_COMPANY = """
SELECT id, types, created_at,
       (SELECT sandbox_of_id IS NOT NULL FROM jobs_company WHERE id = %(company)s)
FROM pipeline_webhookendpoint
WHERE company_id = %(company)s AND is_active ORDER BY id FOR NO KEY UPDATE
"""

# Queue events for endpoints, each once, and make these due. Returns the number of new ones.
#
# The caller has locked them (`LOCK_COMPANY`), so that a run that gives one back has seen what is
# queued here, or this sees that it was given back.
QUEUE = """
WITH given AS MATERIALIZED (
    SELECT * FROM json_to_recordset(%(events)s::json) AS g(
        source text, type text, body text, endpoint_id uuid, id uuid)
), made AS (
    INSERT INTO pipeline_webhookdelivery (id, endpoint_id, source, type, body, state, attempts,
        earlier_attempts, last_error, next_attempt_at)
    SELECT id, endpoint_id, source, type, body, 'PENDING', 0, 0, '', statement_timestamp()
    FROM given ON CONFLICT (endpoint_id, source) DO NOTHING
    RETURNING endpoint_id
), due AS (
    UPDATE pipeline_webhookendpoint e
    SET next_due_at = least(e.next_due_at, greatest(statement_timestamp(), e.rests_until))
    WHERE e.id IN (SELECT endpoint_id FROM made)
)
SELECT count(*) FROM made
"""

# The locked ids are an array, which is made once. As the inner side of a nested loop they would be
# read again for each endpoint, and pass over those already taken: more than `most` would be leased.
_LEASE = f"""
{{which}}
UPDATE pipeline_webhookendpoint e
SET lease = %(run)s, leased_until = statement_timestamp() + interval '{LEASE_SECONDS} seconds'
WHERE e.id = ANY(ARRAY(
    SELECT id FROM pipeline_webhookendpoint
    WHERE next_due_at <= statement_timestamp()
      AND (leased_until IS NULL OR leased_until <= statement_timestamp()) {{among}}
    ORDER BY next_due_at LIMIT %(most)s FOR NO KEY UPDATE SKIP LOCKED))
RETURNING e.id, e.company_id, e.url, e.is_active, e.secret, e.failures,
          e.last_success_at,
          CASE WHEN e.old_secret_until > statement_timestamp() THEN e.old_secret END
"""

# Take endpoints that are due, those that have been due for longest first.
LEASE = _LEASE.format(which="", among="")

# The same for companies of which the run has no endpoint: one endpoint of each.
LEASE_OTHERS = _LEASE.format(
    which="""
WITH first AS MATERIALIZED (
    SELECT DISTINCT ON (company_id) id FROM (
        SELECT id, company_id, next_due_at FROM pipeline_webhookendpoint
        WHERE next_due_at <= statement_timestamp()
          AND (leased_until IS NULL OR leased_until <= statement_timestamp())
          AND company_id <> ALL(%(present)s)
        ORDER BY next_due_at LIMIT %(reach)s) due
    ORDER BY company_id, next_due_at
)""",
    among="AND id = ANY(ARRAY(SELECT id FROM first))",
)

# Keep the leases. Returns the endpoints that this run still has, whether they are still switched
# on, and their present address and secrets.
RENEW = f"""
UPDATE pipeline_webhookendpoint e
SET leased_until = statement_timestamp() + interval '{LEASE_SECONDS} seconds'
WHERE e.id = ANY(%(endpoints)s) AND e.lease = %(run)s
RETURNING e.id, e.company_id, e.url, e.is_active, e.secret, e.failures,
          e.last_success_at,
          CASE WHEN e.old_secret_until > statement_timestamp() THEN e.old_secret END
"""

# The next due deliveries to an endpoint of the run, except for those that the run has read.
READ_DUE = f"""
SELECT id, body, attempts, earlier_attempts, round_started_at FROM pipeline_webhookdelivery
WHERE endpoint_id = %(endpoint)s AND state = 'PENDING'
  AND next_attempt_at <= statement_timestamp() AND id <> ALL(%(held)s) AND {_IS_LEASED}
ORDER BY next_attempt_at, id LIMIT %(most)s
"""

# The oldest due delivery to an endpoint at which everything fails: one that is tried until its
# attempts are used up, and not each of a long queue once.
READ_OLDEST = f"""
WITH due AS MATERIALIZED (
    SELECT id FROM pipeline_webhookdelivery
    WHERE endpoint_id = %(endpoint)s AND state = 'PENDING'
      AND next_attempt_at <= statement_timestamp() AND id <> ALL(%(held)s) AND {_IS_LEASED}
)
SELECT id, body, attempts, earlier_attempts, round_started_at FROM pipeline_webhookdelivery
WHERE id = (SELECT id FROM due ORDER BY id LIMIT %(most)s)
"""

# Record attempts: the state of each delivery, and the log. Returns the endpoints that this run
# still had; attempts at others are not recorded, and are made again.
RECORD = """
WITH given AS MATERIALIZED (
    SELECT * FROM json_to_recordset(%(attempts)s::json) AS g(
        id uuid, endpoint_id uuid, number int, at timestamptz, duration_ms int, state text,
        delay_seconds float8, error text, detail text, status int, request_headers jsonb,
        response_headers jsonb, response_body text)
), health AS MATERIALIZED (
    SELECT * FROM json_to_recordset(%(health)s::json) AS h(
        id uuid, failures int, succeeded boolean, rest_seconds float8)
), ours AS (
    UPDATE pipeline_webhookendpoint e SET failures = h.failures,
        last_success_at = CASE WHEN h.succeeded THEN statement_timestamp()
                               ELSE e.last_success_at END,
        rests_until = statement_timestamp() + h.rest_seconds * interval '1 second'
    FROM health h WHERE e.id = h.id AND e.lease = %(run)s
    RETURNING e.id
), moved AS (
    UPDATE pipeline_webhookdelivery d SET state = g.state, attempts = g.number,
        last_status = g.status, last_error = g.error,
        next_attempt_at = statement_timestamp() + g.delay_seconds * interval '1 second',
        finished_at = CASE WHEN g.state <> 'PENDING' THEN statement_timestamp() END
    FROM given g JOIN ours ON ours.id = g.endpoint_id
    WHERE d.id = g.id AND d.state = 'PENDING'
    RETURNING d.id
), logged AS (
    INSERT INTO pipeline_webhookattempt (delivery_id, number, at, duration_ms, request_headers,
        error, detail, status, response_headers, response_body)
    SELECT g.id, g.number, g.at, g.duration_ms, g.request_headers, g.error, g.detail, g.status,
           g.response_headers, g.response_body
    FROM given g JOIN moved USING (id)
)
SELECT id FROM ours
"""

# End deliveries that wait for an endpoint that is off, some at a time.
FAIL_WAITING = """
UPDATE pipeline_webhookdelivery
SET state = 'FAILED', last_error = 'ENDPOINT_OFF', next_attempt_at = NULL,
    finished_at = statement_timestamp()
WHERE id IN (SELECT id FROM pipeline_webhookdelivery
             WHERE endpoint_id = %(endpoint)s AND state = 'PENDING' LIMIT %(most)s)
"""

# Lock an endpoint that this run has, before it is given back.
LOCK_LEASED = """
SELECT id FROM pipeline_webhookendpoint WHERE id = %(endpoint)s AND lease = %(run)s
FOR NO KEY UPDATE
"""

# Give an endpoint back. It is due when its next delivery is, but not while it rests. A statement of
# its own after the lock, so that it sees all that was queued before.
RELEASE = """
UPDATE pipeline_webhookendpoint e SET lease = NULL, leased_until = NULL, next_due_at = (
    SELECT greatest(d.next_attempt_at, e.rests_until) FROM pipeline_webhookdelivery d
    WHERE d.endpoint_id = e.id AND d.state = 'PENDING' ORDER BY d.next_attempt_at LIMIT 1)
WHERE e.id = %(endpoint)s
"""

# The time at which the next endpoint becomes due, or is free of a run that has died.
NEXT_DUE = """
SELECT min(greatest(next_due_at, leased_until)) FROM pipeline_webhookendpoint
WHERE next_due_at IS NOT NULL
"""
