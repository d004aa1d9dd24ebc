"""Storage settings that keep the visibility map fresh, so that positions are counted quickly."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("pipeline", "0001_initial")]

    operations = [
        migrations.RunSQL(
            "ALTER TABLE pipeline_application SET (autovacuum_vacuum_scale_factor = 0.02,"
            " autovacuum_analyze_scale_factor = 0.02)",
            "ALTER TABLE pipeline_application RESET (autovacuum_vacuum_scale_factor,"
            " autovacuum_analyze_scale_factor)",
        )
    ]
