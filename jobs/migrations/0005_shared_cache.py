"""The table of the shared cache, in which allauth counts against its rates.

As with the table of the other rates, losing it in a crash costs nothing, so it has no write-ahead
log.
"""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("jobs", "0004_last_txid")]

    operations = [
        migrations.RunSQL(
            """
            CREATE UNLOGGED TABLE IF NOT EXISTS shared_cache (
                cache_key varchar(255) PRIMARY KEY,
                value text NOT NULL,
                expires timestamp with time zone NOT NULL
            );
            CREATE INDEX IF NOT EXISTS shared_cache_expires ON shared_cache (expires);
            """,
            "DROP TABLE shared_cache",
        )
    ]
