from django.db import migrations, models

KINDS = (
    "APPLIED VERIFIED PROMOTED ACKNOWLEDGED DEADLINE_EXTENDED DECAYED LAPSED REINSTATED DEFERRED"
    " WITHDRAWN REMOVED CLOSED_OUT JOB_CREATED JOB_OPENED JOB_PAUSED JOB_RESUMED JOB_CLOSED"
    " CAPACITY_CHANGED POLICY_CHANGED CLOCK_ADVANCED"
).split()
FOUND_BY_KIND = (
    "VERIFIED PROMOTED ACKNOWLEDGED DEADLINE_EXTENDED DECAYED LAPSED REINSTATED DEFERRED WITHDRAWN"
    " REMOVED"
).split()


class Migration(migrations.Migration):

    dependencies = [
        ("pipeline", "0029_job_templates"),
    ]

    operations = [
        migrations.AddField(
            model_name="application",
            name="not_before",
            field=models.DateTimeField(null=True),
        ),
        migrations.AddConstraint(
            model_name="application",
            constraint=models.CheckConstraint(
                condition=models.Q(("not_before__isnull", True), ("status", "WAITLIST"), _connector="OR"),
                name="deferred_while_waiting",
            ),
        ),
        migrations.AddIndex(
            model_name="application",
            index=models.Index(
                models.F("job"),
                models.F("not_before"),
                condition=models.Q(("not_before__isnull", False), ("status", "WAITLIST")),
                name="waitlist_deferred",
            ),
        ),
        migrations.RemoveIndex(model_name="event", name="event_recent"),
        migrations.AlterField(
            model_name="event",
            name="event",
            field=models.CharField(max_length=20, choices=[(kind, kind) for kind in KINDS]),
        ),
        migrations.AddIndex(
            model_name="event",
            index=models.Index(
                models.F("job_id"),
                models.F("event"),
                models.F("at"),
                condition=models.Q(("event__in", FOUND_BY_KIND)),
                name="event_recent",
            ),
        ),
    ]
