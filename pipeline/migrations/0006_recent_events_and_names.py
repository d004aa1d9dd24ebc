"""Index of a job's recent events, and search of a company's applicants by name."""

from django.db import migrations, models
from django.db.models import Q

WORDS = r"""
CREATE FUNCTION pipeline_words(name text) RETURNS SETOF text IMMUTABLE LANGUAGE sql AS $$
    SELECT DISTINCT word FROM regexp_split_to_table(lower(name), '\s+') word WHERE word <> ''
$$;

CREATE FUNCTION pipeline_names_told() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO pipeline_nameword (company_id, word, application_id)
    SELECT job.company_id, word, told.id
    FROM told JOIN jobs_job job ON job.id = told.job_id, pipeline_words(told.name) word;
    RETURN NULL;
END $$;

CREATE FUNCTION pipeline_name_changed() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    company uuid := (SELECT company_id FROM jobs_job WHERE id = OLD.job_id);
BEGIN
    DELETE FROM pipeline_nameword
    WHERE company_id = company AND application_id = OLD.id
      AND word IN (SELECT pipeline_words(OLD.name));
    IF TG_OP = 'UPDATE' THEN
        INSERT INTO pipeline_nameword (company_id, word, application_id)
        SELECT company, word, NEW.id FROM pipeline_words(NEW.name) word;
    END IF;
    RETURN NULL;
END $$;

CREATE TRIGGER names_told AFTER INSERT ON pipeline_application
    REFERENCING NEW TABLE AS told FOR EACH STATEMENT EXECUTE FUNCTION pipeline_names_told();
CREATE TRIGGER name_changed AFTER UPDATE OF name ON pipeline_application
    FOR EACH ROW WHEN (OLD.name IS DISTINCT FROM NEW.name)
    EXECUTE FUNCTION pipeline_name_changed();
CREATE TRIGGER name_gone AFTER DELETE ON pipeline_application
    FOR EACH ROW EXECUTE FUNCTION pipeline_name_changed();

INSERT INTO pipeline_nameword (company_id, word, application_id)
SELECT job.company_id, word, told.id
FROM pipeline_application told JOIN jobs_job job ON job.id = told.job_id,
     pipeline_words(told.name) word;
"""
NO_WORDS = """
DROP TRIGGER names_told ON pipeline_application;
DROP TRIGGER name_changed ON pipeline_application;
DROP TRIGGER name_gone ON pipeline_application;
DROP FUNCTION pipeline_names_told();
DROP FUNCTION pipeline_name_changed();
DROP FUNCTION pipeline_words(text);
"""


class Migration(migrations.Migration):
    dependencies = [("pipeline", "0005_feed")]

    operations = [
        migrations.AddIndex(
            model_name="event",
            index=models.Index(
                "job_id",
                "event",
                "at",
                name="event_recent",
                condition=Q(event__in=["PROMOTED", "ACKNOWLEDGED", "DECAYED", "LAPSED"]),
            ),
        ),
        migrations.CreateModel(
            name="NameWord",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("company_id", models.UUIDField()),
                ("word", models.TextField(db_collation="C")),
                ("application_id", models.UUIDField()),
            ],
            options={
                "indexes": [
                    models.Index("company_id", "word", "application_id", name="name_word")
                ],
            },
        ),
        migrations.RunSQL(WORDS, NO_WORDS),
    ]
