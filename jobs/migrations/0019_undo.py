from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("jobs", "0018_positions"),
    ]

    operations = [
        migrations.AddField(
            model_name="company",
            name="undo_hiring_seconds",
            field=models.IntegerField(null=True),
        ),
        migrations.AddField(
            model_name="company",
            name="undo_removal_seconds",
            field=models.IntegerField(null=True),
        ),
        migrations.AddConstraint(
            model_name="company",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("undo_removal_seconds__range", (10, 3600)),
                    ("undo_hiring_seconds__range", (10, 3600)),
                ),
                name="company_undo_in_range",
            ),
        ),
    ]
