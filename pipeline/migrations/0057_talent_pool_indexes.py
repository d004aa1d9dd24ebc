from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):

    atomic = False

    dependencies = [
        ('pipeline', '0056_talent_pool'),
    ]

    operations = [
        # What builds that were cut off have left behind.
        migrations.RunSQL('DROP INDEX CONCURRENTLY IF EXISTS agreement_of_pool', migrations.RunSQL.noop),
        AddIndexConcurrently(
            model_name='agreement',
            index=models.Index(models.F('version'), models.F('application'), condition=models.Q(('ends_at__isnull', False), ('withdrawn_at', None)), name='agreement_of_pool'),
        ),
        migrations.RunSQL('DROP INDEX CONCURRENTLY IF EXISTS message_about_job', migrations.RunSQL.noop),
        AddIndexConcurrently(
            model_name='applicationmessage',
            index=models.Index(models.F('about_job'), models.F('application'), condition=models.Q(('about_job__isnull', False)), name='message_about_job'),
        ),
    ]
