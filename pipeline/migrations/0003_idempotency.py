from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("pipeline", "0002_storage")]

    operations = [
        migrations.CreateModel(
            name="IdempotencyRecord",
            fields=[
                ("id", models.BinaryField(max_length=32, primary_key=True, serialize=False)),
                ("fingerprint", models.BinaryField(max_length=32)),
                ("run", models.UUIDField()),
                ("created_at", models.DateTimeField()),
                ("leased_until", models.DateTimeField()),
                ("expires_at", models.DateTimeField()),
                ("released", models.BooleanField(default=False)),
                ("status", models.SmallIntegerField(null=True)),
                ("headers", models.JSONField(null=True)),
                ("body", models.BinaryField(null=True)),
            ],
            options={
                "indexes": [models.Index(models.F("expires_at"), name="idempotency_expiry")],
            },
        ),
    ]
