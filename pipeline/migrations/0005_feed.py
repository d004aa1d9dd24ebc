"""Order of the feed of a company's events.

The two functions hold the offset of the feed's transaction ids from this cluster's: 0, until
`manage.py restart_feed` has run after a restore into a cluster that counts from a lower number.
"""

from django.db import migrations, models
from django.db.models import Func

FUNCTIONS = """
CREATE FUNCTION pipeline_feed_place() RETURNS bigint STABLE LANGUAGE sql
    AS 'SELECT pg_current_xact_id()::text::bigint + 0';
CREATE FUNCTION pipeline_feed_horizon() RETURNS bigint STABLE LANGUAGE sql
    AS 'SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint + 0';
"""
NO_FUNCTIONS = """
DROP FUNCTION pipeline_feed_place();
DROP FUNCTION pipeline_feed_horizon();
"""

# The company of a job never changes, and it is not part of what a row's hash covers.
NAME_COMPANIES = """
ALTER TABLE pipeline_event DISABLE TRIGGER pgtrigger_append_only_bafdd;
UPDATE pipeline_event SET company_id = job.company_id
    FROM jobs_job job WHERE job.id = pipeline_event.job_id;
ALTER TABLE pipeline_event ENABLE TRIGGER pgtrigger_append_only_bafdd;
"""


class Migration(migrations.Migration):
    dependencies = [("pipeline", "0004_throttles")]

    operations = [
        migrations.RunSQL(FUNCTIONS, NO_FUNCTIONS),
        migrations.AddField(
            model_name="event",
            name="txid",
            field=models.BigIntegerField(db_default=Func(function="pipeline_feed_place")),
        ),
        migrations.AddField(
            model_name="event", name="company_id", field=models.UUIDField(null=True)
        ),
        migrations.RunSQL(NAME_COMPANIES, migrations.RunSQL.noop),
        migrations.AlterField(
            model_name="event", name="company_id", field=models.UUIDField()
        ),
        migrations.AddIndex(
            model_name="event",
            index=models.Index("company_id", "txid", "id", name="event_feed"),
        ),
    ]
