from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):

    atomic = False

    dependencies = [
        ('jobs', '0020_companies_begin'),
    ]

    operations = [
        # What a build that was cut off has left behind.
        migrations.RunSQL('DROP INDEX CONCURRENTLY IF EXISTS job_open', migrations.RunSQL.noop),
        AddIndexConcurrently(
            model_name='job',
            index=models.Index(condition=models.Q(('status', 'OPEN')), fields=['company', 'id'], name='job_open'),
        ),
    ]
