"""Triggers that keep the log append-only, apart from the removal of a whole archived log."""

from __future__ import annotations

import pgtrigger

# Whether this transaction removes a job's log.
_IS_REMOVED_NOW = (
    "SELECT FROM pipeline_removedlog record"
    " WHERE record.job_id = {job} AND record.txid = txid_current()"
)

LOG_TRIGGERS = [
    pgtrigger.Trigger(
        name="append_only",
        when=pgtrigger.Before,
        operation=pgtrigger.Update | pgtrigger.Delete,
        func=f"""
        IF TG_OP = 'DELETE' AND EXISTS ({_IS_REMOVED_NOW.format(job="OLD.job_id")}) THEN
            RETURN OLD;
        END IF;
        RAISE EXCEPTION 'the log is append-only: UPDATE and DELETE are refused';
        """,
    ),
    pgtrigger.Trigger(
        name="only_a_whole_log",
        level=pgtrigger.Statement,
        when=pgtrigger.After,
        operation=pgtrigger.Delete,
        referencing=pgtrigger.Referencing(old="removed"),
        func=f"""
        IF EXISTS (
            SELECT FROM (SELECT job_id, count(*) AS events FROM removed GROUP BY job_id) gone
            JOIN jobs_job job ON job.id = gone.job_id
            WHERE job.status <> 'CLOSED' OR job.seq <> gone.events
                OR EXISTS (SELECT FROM pipeline_event WHERE job_id = gone.job_id)
                OR NOT EXISTS (
                    {_IS_REMOVED_NOW.format(job="gone.job_id")}
                    AND record.events = gone.events AND record.head = job.chain_head
                )
        ) THEN
            RAISE EXCEPTION 'the log is append-only: only a whole log is removed';
        END IF;
        RETURN NULL;
        """,  # noqa: S608  constants of ours
    ),
    pgtrigger.Trigger(
        name="no_truncate",
        level=pgtrigger.Statement,
        when=pgtrigger.Before,
        operation=pgtrigger.Truncate,
        func="RAISE EXCEPTION 'the log is append-only: TRUNCATE is refused';",
    ),
]

REMOVED_LOG_TRIGGERS = [
    pgtrigger.Protect(name="never_changed", operation=pgtrigger.Update),
    pgtrigger.Trigger(
        name="none_or_all",
        when=pgtrigger.After,
        operation=pgtrigger.Insert | pgtrigger.Delete,
        timing=pgtrigger.Deferred,
        func="""
        IF TG_OP = 'INSERT' THEN
            IF EXISTS (SELECT FROM pipeline_event WHERE job_id = NEW.job_id) THEN
                RAISE EXCEPTION 'the log of job % was not removed', NEW.job_id;
            END IF;
        ELSIF OLD.events <> (SELECT count(*) FROM pipeline_event WHERE job_id = OLD.job_id)
            OR NOT EXISTS (
                SELECT FROM pipeline_event
                WHERE job_id = OLD.job_id AND seq = OLD.events AND hash = OLD.head
            ) THEN
            RAISE EXCEPTION 'the log of job % was not put back', OLD.job_id;
        END IF;
        RETURN NULL;
        """,
    ),
]
