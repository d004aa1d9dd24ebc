import django.db.models.deletion
import django.db.models.functions.datetime
import uuid_utils.compat
from django.db import migrations, models

KINDS = (
    "APPLIED VERIFIED PROMOTED ACKNOWLEDGED DEADLINE_EXTENDED DECAYED LAPSED REINSTATED WITHDRAWN"
    " REMOVED CLOSED_OUT JOB_CREATED JOB_OPENED JOB_PAUSED JOB_RESUMED JOB_CLOSED CAPACITY_CHANGED"
    " POLICY_CHANGED CLOCK_ADVANCED"
).split()


class Migration(migrations.Migration):

    dependencies = [
        ("jobs", "0011_sandbox"),
        ("pipeline", "0020_references"),
    ]

    operations = [
        migrations.AlterField(
            model_name="event",
            name="event",
            field=models.CharField(max_length=20, choices=[(kind, kind) for kind in KINDS]),
        ),
        migrations.CreateModel(
            name="ClockAdvance",
            fields=[
                ("id", models.UUIDField(default=uuid_utils.compat.uuid7, editable=False, primary_key=True, serialize=False)),
                ("seconds", models.BigIntegerField()),
                ("clock_offset_seconds", models.BigIntegerField()),
                ("began_at", models.DateTimeField()),
                ("created_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ("company", models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name="clock_advances", to="jobs.company")),
            ],
        ),
    ]
