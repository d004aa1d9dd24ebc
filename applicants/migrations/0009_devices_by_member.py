from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    atomic = False

    dependencies = [
        ("applicants", "0008_devices_of_members"),
    ]

    operations = [
        # What a build that was cut off has left behind.
        migrations.RunSQL("DROP INDEX CONCURRENTLY IF EXISTS device_user", migrations.RunSQL.noop),
        AddIndexConcurrently(
            model_name="device",
            index=models.Index(
                fields=["user"], condition=models.Q(("user__isnull", False)), name="device_user"
            ),
        ),
    ]
