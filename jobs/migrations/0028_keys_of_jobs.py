import django.contrib.postgres.fields
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('jobs', '0027_language'),
    ]

    operations = [
        migrations.AddField(
            model_name='apikey',
            name='job_ids',
            field=django.contrib.postgres.fields.ArrayField(base_field=models.UUIDField(), null=True, size=None),
        ),
        migrations.AddConstraint(
            model_name='apikey',
            constraint=models.CheckConstraint(condition=models.Q(('job_ids__isnull', True), ('job_ids__len__range', (1, 50)), _connector='OR'), name='api_key_limited_to_some_jobs'),
        ),
    ]
