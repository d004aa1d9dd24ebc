from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):

    atomic = False

    dependencies = [
        ('pipeline', '0052_reserved_seats'),
    ]

    operations = [
        # What a build that was cut off has left behind.
        migrations.RunSQL('DROP INDEX CONCURRENTLY IF EXISTS waitlist_members', migrations.RunSQL.noop),
        AddIndexConcurrently(
            model_name='application',
            index=models.Index(models.F('job'), models.F('ticket'), models.F('tie'), condition=models.Q(('is_member', True), ('status', 'WAITLIST')), name='waitlist_members'),
        ),
    ]
