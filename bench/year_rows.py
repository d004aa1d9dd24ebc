"""The rows of `year.py`: jobs made once, by the services or at random, and copied by SQL.

Each copy has ids, people and times of its own. Hashes are of the right size, but form no chain.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from uuid import UUID

import harness
import long_log

CLOSED_LOGS = (200, 600, 1_200, 2_000)  # events before the job is closed
OPEN, DAYS, JOB_DAYS = 0, 365, 30
PEOPLE_OF_OPEN_JOB, SEATS = 40, 5
JOBS_AT_ONCE = 500
WRITERS = 2  # connections, when the indexes are made afterwards

# The indexes of some tables without the primary keys: how to drop and to make each.
INDEXES = """
SELECT CASE WHEN k.conname IS NULL THEN 'DROP INDEX ' || quote_ident(i.relname)
            ELSE format('ALTER TABLE %s DROP CONSTRAINT %I', x.indrelid::regclass, k.conname) END,
       CASE WHEN k.conname IS NULL THEN pg_get_indexdef(x.indexrelid)
            ELSE format('ALTER TABLE %s ADD CONSTRAINT %I %s', x.indrelid::regclass, k.conname,
                        pg_get_constraintdef(k.oid)) END
FROM pg_index x JOIN pg_class i ON i.oid = x.indexrelid
LEFT JOIN pg_constraint k ON k.conindid = x.indexrelid AND k.conrelid = x.indrelid
WHERE x.indrelid = ANY ('{{{tables}}}'::regclass[])
  AND NOT x.indisprimary
"""

SETUP = """
CREATE FUNCTION bench_id(at timestamptz, salt text) RETURNS uuid STABLE PARALLEL SAFE LANGUAGE sql
    AS $$SELECT (lpad(to_hex((extract(epoch FROM at) * 1000)::bigint), 12, '0')
         || substr(md5(salt), 1, 20))::uuid$$;
CREATE TABLE bench_now AS SELECT now();
CREATE TABLE bench_log (template int, app int, app_off interval, off interval, LIKE pipeline_event);
CREATE TABLE bench_apps (template int, app int, off interval, ended interval,
    LIKE pipeline_application);
CREATE TABLE bench_jobs (n int PRIMARY KEY, template int, start timestamptz, id uuid,
    company_id uuid, source uuid);
CREATE TABLE bench_companies AS
    SELECT n, gen_random_uuid() AS id FROM generate_series(0, {companies} - 1) n;
ALTER TABLE bench_companies ADD PRIMARY KEY (n);
INSERT INTO jobs_company SELECT (jsonb_populate_record(c, jsonb_build_object('id', b.id))).*
    FROM (SELECT id FROM jobs_company LIMIT 1) one JOIN jobs_company c ON c.id = one.id,
    bench_companies b;
INSERT INTO applicants_applicant (id, email, name, created_at)
    SELECT md5('person' || n)::uuid, n || '@year.example', 'Person ' || n, now()
    FROM generate_series(0, {people} - 1) n ORDER BY 1
"""

# Keep a job as a template, with its times after its first event stretched.
KEEP = """
WITH log AS (SELECT min(at) AS first FROM pipeline_event WHERE job_id = '{job}')
INSERT INTO bench_apps SELECT {template}, row_number() OVER (ORDER BY a.applied_at, a.id),
    (a.applied_at - log.first) * {scale}, (a.ended_at - log.first) * {scale}, a.*
FROM pipeline_application a, log WHERE a.job_id = '{job}';
WITH log AS (SELECT min(at) AS first FROM pipeline_event WHERE job_id = '{job}')
INSERT INTO bench_log SELECT {template}, a.app, a.off,
    CASE WHEN e.seq > 2 THEN (e.at - log.first) * {scale} ELSE '0' END, e.*
FROM log, pipeline_event e LEFT JOIN bench_apps a ON a.id = e.application_id
WHERE e.job_id = '{job}'
"""

NEW_JOBS = """
INSERT INTO bench_jobs
SELECT made.n, template, start, bench_id(start, made.n || ':job'), c.id, source
FROM (SELECT n, (ARRAY[{templates}])[1 + n % {kinds}] AS template,
             (ARRAY[{sources}]::uuid[])[1 + n % {kinds}] AS source, {start} AS start
      FROM generate_series({first}, {last}) n, bench_now) made
JOIN bench_companies c ON c.n = made.n % {companies};
ANALYZE bench_jobs
"""

COPY_JOBS = """
INSERT INTO jobs_job SELECT (jsonb_populate_record(j, jsonb_build_object('id', b.id,
    'company_id', b.company_id, 'created_at', b.start, 'opened_at', b.start,
    'closed_at', CASE WHEN j.closed_at IS NOT NULL THEN b.start + interval '{days} days' END,
    'next_due_at', CASE WHEN j.closed_at IS NULL THEN now() + random() * interval '20 days' END
    ))).*
FROM bench_jobs b JOIN jobs_job j ON j.id = b.source WHERE b.n BETWEEN {first} AND {last};
INSERT INTO jobs_jobposting SELECT (jsonb_populate_record(p, jsonb_build_object('job_id', b.id))).*
FROM bench_jobs b JOIN jobs_jobposting p ON p.job_id = b.source
WHERE b.n BETWEEN {first} AND {last};
INSERT INTO pipeline_application (id, job_id, applicant_id, name, status, outcome, ticket, tie,
    decay_count, acknowledge_by, deadline_extended, applied_at, promoted_at, acknowledged_at,
    ended_at, status_since)
SELECT bench_id(b.start + a.off, b.n || ':' || a.app), b.id,
    md5('person' || (b.n::bigint * 7919 + a.app * 104729::bigint) % {people})::uuid,
    'Person ' || a.app, a.status, a.outcome, a.ticket, a.tie, a.decay_count, a.acknowledge_by,
    a.deadline_extended, b.start + a.off, b.start + a.off,
    CASE WHEN a.acknowledged_at IS NOT NULL THEN b.start + a.off END, b.start + a.ended,
    b.start + a.off
FROM bench_jobs b JOIN bench_apps a ON a.template = b.template
WHERE b.n BETWEEN {first} AND {last} ORDER BY b.n, a.app
"""

COPY_EVENTS = """
INSERT INTO pipeline_event (job_id, seq, application_id, event, from_status, to_status, outcome,
    actor_kind, cause_seq, policy_version, at, effective_at, data, prev_hash, hash, company_id,
    txid)
SELECT b.id, t.seq, CASE WHEN t.app > 0 THEN bench_id(b.start + t.app_off, b.n || ':' || t.app) END,
    t.event, t.from_status, t.to_status, t.outcome, t.actor_kind, t.cause_seq, t.policy_version,
    b.start + t.off, b.start + t.off, t.data, sha256((b.n || ':' || t.seq - 1)::bytea),
    sha256((b.n || ':' || t.seq)::bytea), b.company_id, (SELECT pipeline_feed_place())
FROM (SELECT now - interval '{age} days' AS since FROM bench_now) day
JOIN bench_jobs b ON b.start < since + interval '1 day'
    AND b.start > since - interval '{days} days' - interval '1 day'
JOIN bench_log t ON t.template = b.template
    AND t.off >= since - b.start AND t.off < since + interval '1 day' - b.start
WHERE b.n BETWEEN {first} AND {last} AND b.n % {writers} = {writer} ORDER BY b.start + t.off
"""


def make_open_jobs(companies: int, people: int, *, indexes_after: bool) -> None:
    """Make a job by the services, and copy it to each company; make the people of all jobs."""
    from pipeline.domain.states import Actor, ActorKind
    from pipeline.services.joining import apply

    job = UUID(harness.make_job(capacity=SEATS))
    harness.make_people(PEOPLE_OF_OPEN_JOB)
    for (person,) in harness.execute("SELECT id FROM bench_people"):
        apply(job_id=job, applicant_id=person, name="Bench", actor=Actor(ActorKind.COMPANY))
    with _without_indexes("applicants_applicant") if indexes_after else nullcontext():
        harness.execute(SETUP.format(companies=companies, people=people))
    harness.execute(
        KEEP.format(template=OPEN, job=job, scale=1),
        "CREATE INDEX ON bench_log (template, off)",
        "CREATE INDEX ON bench_apps (template)",
        "ANALYZE bench_log, bench_apps",
    )
    jobs = {"first": 0, "last": companies - 1, "days": JOB_DAYS}
    start = "now - interval '1 hour'"
    harness.execute(
        NEW_JOBS.format(
            templates=OPEN, sources=f"'{job}'", kinds=1, start=start, companies=companies, **jobs
        ),
        COPY_JOBS.format(people=people, **jobs),
        COPY_EVENTS.format(age=1, writers=1, writer=0, **jobs),
        "VACUUM ANALYZE",
    )


def make_year(
    events: int, companies: int, people: int, *, indexes_after: bool
) -> tuple[int, float]:
    """Add closed jobs with about this many events; return all events' number and the seconds."""
    sources = []
    for template, size in enumerate(CLOSED_LOGS, start=1):
        job = long_log.make(size, closes=True)
        scale = JOB_DAYS * 86_400 / (long_log.STEP.total_seconds() * size)
        harness.execute(KEEP.format(template=template, job=job.id, scale=scale))
        sources.append(f"'{job.id}'")
    harness.execute("ANALYZE bench_log, bench_apps")
    [(mean,)] = harness.execute(
        f"SELECT count(*) / {len(CLOSED_LOGS)} FROM bench_log WHERE template > 0"
    )
    count = max(len(CLOSED_LOGS), events // mean)
    end = companies + count
    began = time.monotonic()
    harness.execute(
        NEW_JOBS.format(
            first=companies,
            last=end - 1,
            templates=", ".join(str(n + 1) for n in range(len(sources))),
            sources=", ".join(sources),
            kinds=len(sources),
            companies=companies,
            start=f"now - interval '{DAYS + JOB_DAYS + 2} days'"
            f" + interval '{DAYS} days' * (n - {companies}) / {count}",
        )
    )
    large = "pipeline_event", "pipeline_application"
    with _without_indexes(*large) if indexes_after else nullcontext():
        _copy_jobs(companies, end, people, writers=WRITERS if indexes_after else 1)
    took = time.monotonic() - began
    [(written,)] = harness.execute("SELECT count(*) FROM pipeline_event")
    return written, took


def _copy_jobs(first: int, end: int, people: int, *, writers: int) -> None:
    """Write the jobs with their applications, then all events, the oldest day first."""
    jobs = {"people": people, "days": JOB_DAYS}
    batches = [
        COPY_JOBS.format(first=start, last=min(start + JOBS_AT_ONCE, end) - 1, **jobs)
        for start in range(first, end, JOBS_AT_ONCE)
    ]
    span = {"first": first, "last": end - 1, "days": JOB_DAYS, "writers": writers}
    with ThreadPoolExecutor(writers, initializer=_check_no_references) as pool:
        list(pool.map(harness.execute, batches))
        for age in range(DAYS + JOB_DAYS + 3, 0, -1):
            shares = [COPY_EVENTS.format(age=age, writer=n, **span) for n in range(writers)]
            list(pool.map(harness.execute, shares))


def _check_no_references() -> None:
    """Let a writer's connection look up no foreign keys: each row is a copy of a good one."""
    harness.execute("SET session_replication_role = replica")


@contextmanager
def _without_indexes(*tables: str) -> Iterator[None]:
    """Drop the indexes of these tables, and make them again at the end."""
    found = harness.execute(INDEXES.format(tables=",".join(tables)))
    harness.execute(*[drop for drop, _ in found])
    yield
    harness.execute("SET maintenance_work_mem = '1GB'", *[make for _, make in found])
