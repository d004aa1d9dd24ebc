"""What operators are shown: transactions of all roles, web servers by name, and receipts' keys."""

import django.db.models.functions.datetime
from django.db import migrations, models

# Runs as the owner of the tables, who sees sessions of other roles with pg_read_all_stats. The
# site's role does not get that right, because it shows everyone's statements, passwords included.
FUNCTION = """
CREATE FUNCTION pipeline_transactions() RETURNS TABLE (pid int, state text, began timestamptz)
    STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp LANGUAGE sql
    AS 'SELECT pid, state, xact_start FROM pg_stat_activity
        WHERE xact_start IS NOT NULL AND coalesce(datname, current_database()) = current_database()';
REVOKE ALL ON FUNCTION pipeline_transactions() FROM PUBLIC;
"""


class Migration(migrations.Migration):
    dependencies = [("pipeline", "0036_removed_logs")]

    operations = [
        migrations.RunSQL(FUNCTION, "DROP FUNCTION pipeline_transactions()"),
        migrations.CreateModel(
            name="ReceiptKey",
            fields=[
                ("id", models.CharField(max_length=16, primary_key=True, serialize=False)),
                ("public_key", models.BinaryField(max_length=32)),
                (
                    "used_since",
                    models.DateTimeField(db_default=django.db.models.functions.datetime.Now()),
                ),
            ],
        ),
        migrations.CreateModel(
            name="WebServer",
            fields=[
                ("name", models.CharField(max_length=100, primary_key=True, serialize=False)),
                ("version", models.CharField(max_length=60)),
                ("answered_at", models.DateTimeField()),
            ],
        ),
    ]
