"""Rows that change their status several times: room on their pages, and vacuum that keeps up."""

from django.db import migrations

TABLES = {
    "tasks_task": "fillfactor = 80, autovacuum_vacuum_scale_factor = 0.01,"
    " autovacuum_vacuum_threshold = 1000, autovacuum_analyze_scale_factor = 0.02,"
    " autovacuum_vacuum_cost_delay = 1",
    "tasks_taskevent": "autovacuum_vacuum_insert_scale_factor = 0.05,"
    " autovacuum_analyze_scale_factor = 0.05",
    "tasks_tasktally": "fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05",
    "tasks_taskworker": "fillfactor = 50",
    "tasks_tasktype": "fillfactor = 50",
}


def _reset(options):
    return ", ".join(option.split("=")[0].strip() for option in options.split(","))


class Migration(migrations.Migration):
    dependencies = [("tasks", "0001_initial")]

    operations = [
        migrations.RunSQL(
            f"ALTER TABLE {table} SET ({options})", f"ALTER TABLE {table} RESET ({_reset(options)})"
        )
        for table, options in TABLES.items()
    ]
