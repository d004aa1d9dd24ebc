from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):

    atomic = False

    dependencies = [
        ('tasks', '0005_owners'),
    ]

    operations = [
        # What a build that was cut off has left behind.
        migrations.RunSQL('DROP INDEX CONCURRENTLY IF EXISTS tasks_failing', migrations.RunSQL.noop),
        AddIndexConcurrently(
            model_name='task',
            index=models.Index(condition=models.Q(('attempt__gt', 0), ('parked', False), ('status', 'PENDING')), fields=['type', 'attempt'], name='tasks_failing'),
        ),
    ]
