from django.contrib.postgres.operations import AddIndexConcurrently, RemoveIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):

    atomic = False

    dependencies = [
        ('tasks', '0006_failing'),
    ]

    operations = [
        # What a build that was cut off has left behind.
        migrations.RunSQL('DROP INDEX CONCURRENTLY IF EXISTS tasks_leases', migrations.RunSQL.noop),
        AddIndexConcurrently(
            model_name='task',
            index=models.Index(condition=models.Q(('status__in', ['RUNNING', 'CANCELLING'])), fields=['type', 'lease_until'], name='tasks_leases'),
        ),
        RemoveIndexConcurrently(
            model_name='task',
            name='tasks_held',
        ),
    ]
