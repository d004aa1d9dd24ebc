"""Very many people in one line, written straight into the tables, for tests of long lines.

Only counters and hashes of the log's last row are right: such a line can be read, but not
verified.
"""

from __future__ import annotations

from uuid import UUID

from django.db import connection

_PEOPLE = """
INSERT INTO applicants_applicant (id, email, name, created_at)
SELECT gen_random_uuid(), 'crowd' || gen_random_uuid() || '@example.org', 'Crowd ' || n, now()
FROM generate_series(1, %(people)s) n
"""

_APPLICATIONS = """
INSERT INTO pipeline_application (id, job_id, applicant_id, name, status, ticket, tie, decay_count,
                                  deadline_extended, applied_at, status_since)
SELECT gen_random_uuid(), %(job)s, id, name, 'WAITLIST', job.next_ticket + place, job.seq + place,
       0, false, now(), now()
FROM (SELECT id, name, row_number() OVER (ORDER BY email) AS place
      FROM applicants_applicant WHERE email LIKE 'crowd%%' ORDER BY email LIMIT %(people)s) person,
     (SELECT next_ticket, seq FROM jobs_job WHERE id = %(job)s) job
"""

_EVENTS = """
INSERT INTO pipeline_event (job_id, seq, application_id, event, to_status, actor_kind, actor_id,
                            policy_version, at, effective_at, data, prev_hash, hash, company_id)
SELECT a.job_id, a.tie, a.id, 'APPLIED', 'WAITLIST', 'APPLICANT', a.applicant_id, 1,
       clock.now, clock.now,
       jsonb_build_object('ticket', a.ticket, 'tie', a.tie, 'decay_count', 0, 'active', 0,
                          'pending', 0, 'waiting', a.tie - job.seq, 'next_ticket', a.ticket + 1),
       sha256(a.tie::text::bytea), sha256(a.tie::text::bytea), job.company_id
FROM pipeline_application a JOIN jobs_job job ON job.id = a.job_id,
     (SELECT clock_timestamp() AS now) clock
WHERE a.job_id = %(job)s AND a.name LIKE 'Crowd %%'
"""

_JOB = """
UPDATE jobs_job SET seq = seq + %(people)s, next_ticket = next_ticket + %(people)s,
                    waitlist_count = waitlist_count + %(people)s, last_event_at = clock_timestamp()
WHERE id = %(job)s
"""


def crowd(job: UUID, people: int) -> None:
    """Let this many people apply to a job at once, and wait."""
    with connection.cursor() as cursor:
        for statement in (_PEOPLE, _APPLICATIONS, _EVENTS, _JOB):
            cursor.execute(statement, {"job": job, "people": people})
        cursor.execute("ANALYZE pipeline_event, pipeline_application, applicants_applicant")
