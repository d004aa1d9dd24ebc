"""Indexing of names after commits, not under the jobs' locks, and more kinds of indexed events."""

from django.db import migrations, models
from django.db.models import Q

LEARN_LATER = r"""
DROP TRIGGER names_told ON pipeline_application;
DROP FUNCTION pipeline_names_told();

CREATE FUNCTION pipeline_names_turn() RETURNS bigint IMMUTABLE LANGUAGE sql AS 'SELECT 7463002';

CREATE OR REPLACE FUNCTION pipeline_name_changed() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    company uuid := (SELECT company_id FROM jobs_job WHERE id = OLD.job_id);
BEGIN
    PERFORM pg_advisory_xact_lock(pipeline_names_turn());
    DELETE FROM pipeline_nameword
    WHERE company_id = company AND application_id = OLD.id
      AND word IN (SELECT pipeline_words(OLD.name));
    IF TG_OP = 'UPDATE' THEN
        INSERT INTO pipeline_nameword (company_id, word, application_id)
        SELECT company, word, NEW.id FROM pipeline_words(NEW.name) word;
    END IF;
    RETURN NULL;
END $$;

CREATE TABLE pipeline_nameplace (
    id smallint PRIMARY KEY, done bigint NOT NULL, seen bigint NOT NULL, seen_txid bigint NOT NULL
);
COMMENT ON TABLE pipeline_nameplace IS
    'One row: names are learned up to the event done; up to seen once all below seen_txid ended.';
INSERT INTO pipeline_nameplace (id, done, seen, seen_txid)
SELECT 1, coalesce(max(id), 0), coalesce(max(id), 0), 0 FROM pipeline_event;
"""
LEARN_AT_ONCE = r"""
DROP TABLE pipeline_nameplace;
CREATE FUNCTION pipeline_names_told() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO pipeline_nameword (company_id, word, application_id)
    SELECT job.company_id, word, told.id
    FROM told JOIN jobs_job job ON job.id = told.job_id, pipeline_words(told.name) word;
    RETURN NULL;
END $$;
CREATE TRIGGER names_told AFTER INSERT ON pipeline_application
    REFERENCING NEW TABLE AS told FOR EACH STATEMENT EXECUTE FUNCTION pipeline_names_told();
CREATE OR REPLACE FUNCTION pipeline_names_turn() RETURNS bigint IMMUTABLE LANGUAGE sql
AS 'SELECT 7463002';
"""


class Migration(migrations.Migration):
    dependencies = [("pipeline", "0006_recent_events_and_names")]

    operations = [
        migrations.RemoveIndex("event", "event_recent"),
        migrations.AddIndex(
            "event",
            models.Index(
                "job_id",
                "event",
                "at",
                name="event_recent",
                condition=Q(
                    event__in=[
                        "PROMOTED",
                        "ACKNOWLEDGED",
                        "DEADLINE_EXTENDED",
                        "DECAYED",
                        "LAPSED",
                        "WITHDRAWN",
                        "REMOVED",
                    ]
                ),
            ),
        ),
        migrations.RunSQL(LEARN_LATER, LEARN_AT_ONCE),
    ]
