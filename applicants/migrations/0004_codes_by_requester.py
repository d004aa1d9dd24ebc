"""Codes by address and requester. Those sent in the last minutes are void: they are asked for again."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("applicants", "0003_random_ids")]

    operations = [
        migrations.DeleteModel("SignInCode"),
        migrations.CreateModel(
            name="SignInCode",
            fields=[
                (
                    "request",
                    models.BinaryField(max_length=32, primary_key=True, serialize=False),
                ),
                ("address", models.BinaryField(max_length=32)),
                ("network", models.BinaryField(max_length=32)),
                ("digest", models.BinaryField(max_length=32)),
                ("tries_left", models.SmallIntegerField()),
                ("expires_at", models.DateTimeField()),
                ("sent", models.SmallIntegerField()),
                ("counted_until", models.DateTimeField()),
            ],
            options={
                "indexes": [
                    models.Index("counted_until", name="code_expiry"),
                    models.Index("address", name="code_address"),
                ],
            },
        ),
    ]
