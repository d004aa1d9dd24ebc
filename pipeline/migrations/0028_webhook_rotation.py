import django.contrib.postgres.fields
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('pipeline', '0025_planned_seats'),
    ]

    operations = [
        migrations.AddField(
            model_name='webhookendpoint',
            name='rotated_at',
            field=models.DateTimeField(null=True),
        ),
        migrations.AddField(
            model_name='webhookendpoint',
            name='rotation_ids',
            field=django.contrib.postgres.fields.ArrayField(base_field=models.UUIDField(), db_default=[], default=list, size=None),
        ),
    ]
