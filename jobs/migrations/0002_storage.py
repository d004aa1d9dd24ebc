"""The hot row is rewritten by every change of its line: leave room for heap-only updates."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("jobs", "0001_initial")]

    operations = [
        migrations.RunSQL(
            "ALTER TABLE jobs_job SET (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02)",
            "ALTER TABLE jobs_job RESET (fillfactor, autovacuum_vacuum_scale_factor)",
        )
    ]
