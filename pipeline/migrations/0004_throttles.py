"""Table of request counts without a write-ahead log, so that counting never waits for the disk."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("pipeline", "0003_idempotency")]

    operations = [
        migrations.CreateModel(
            name="Throttle",
            fields=[
                ("id", models.BinaryField(max_length=32, primary_key=True, serialize=False)),
                ("empty_at", models.DateTimeField()),
            ],
        ),
        migrations.RunSQL(
            "ALTER TABLE pipeline_throttle SET UNLOGGED;"
            " ALTER TABLE pipeline_throttle SET (fillfactor = 50)",
            "ALTER TABLE pipeline_throttle RESET (fillfactor);"
            " ALTER TABLE pipeline_throttle SET LOGGED",
        ),
    ]
