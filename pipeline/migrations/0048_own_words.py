import django.db.models.deletion
import django.db.models.functions.datetime
import uuid_utils.compat
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("jobs", "0021_open_jobs"),
        ("pipeline", "0047_messages"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Letterhead",
            fields=[
                ("company", models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name="letterhead", serialize=False, to="jobs.company")),
                ("sender_name", models.CharField(blank=True, max_length=80)),
                ("reply_address", models.EmailField(blank=True, max_length=254)),
                ("has_texts", models.BooleanField(default=False)),
                ("version", models.IntegerField(default=0)),
                ("changed_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ("changed_by", models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name="+", to=settings.AUTH_USER_MODEL)),
            ],
        ),
        migrations.CreateModel(
            name="CompanyText",
            fields=[
                ("id", models.UUIDField(default=uuid_utils.compat.uuid7, editable=False, primary_key=True, serialize=False)),
                ("kind", models.CharField(max_length=30)),
                ("language", models.CharField(max_length=12)),
                ("version", models.IntegerField()),
                ("parts", models.JSONField(default=dict)),
                ("changed_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ("changed_by", models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name="+", to=settings.AUTH_USER_MODEL)),
                ("company", models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name="+", to="jobs.company")),
            ],
            options={
                "constraints": [models.UniqueConstraint(models.F("company"), models.F("language"), models.F("kind"), models.F("version"), name="one_text_per_version")],
            },
        ),
        migrations.CreateModel(
            name="DecisionText",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("seq", models.BigIntegerField()),
                ("text", models.TextField()),
                ("application", models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name="decision_texts", to="pipeline.application")),
            ],
            options={
                "constraints": [models.UniqueConstraint(models.F("application"), models.F("seq"), name="text_of_event")],
            },
        ),
        migrations.AddField(
            model_name="pendingdecision",
            name="text",
            field=models.CharField(blank=True, db_default="", default="", max_length=1000),
        ),
    ]
