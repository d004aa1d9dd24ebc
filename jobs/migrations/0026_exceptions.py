from django.db import migrations, models
from django.db.models import expressions


class Migration(migrations.Migration):

    dependencies = [
        ('jobs', '0025_activity_and_invitations'),
    ]

    operations = [
        migrations.AddField(
            model_name='job',
            name='exception_count',
            field=models.IntegerField(db_default=0, default=0),
        ),
        migrations.AddField(
            model_name='job',
            name='reserved_count',
            field=models.IntegerField(db_default=0, default=0),
        ),
        migrations.AddField(
            model_name='job',
            name='reserved_for',
            field=models.CharField(blank=True, db_default='', default='', max_length=16),
        ),
        migrations.AddField(
            model_name='job',
            name='reserved_seats',
            field=models.IntegerField(db_default=0, default=0),
        ),
        migrations.AddField(
            model_name='job',
            name='reserved_until',
            field=models.DateTimeField(null=True),
        ),
        migrations.AddConstraint(
            model_name='job',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('reserved_for', ''), ('reserved_seats', 0), ('reserved_until__isnull', True)), models.Q(('reserved_seats__range', (1, 10000)), models.Q(('reserved_for', ''), _negated=True)), _connector='OR'), name='job_reserve_is_whole'),
        ),
        migrations.AddConstraint(
            model_name='job',
            constraint=models.CheckConstraint(condition=models.Q(('reserved_count__gte', 0), ('reserved_count__lte', expressions.CombinedExpression(models.F('active_count'), '+', models.F('pending_count')))), name='job_reserved_among_seated'),
        ),
        migrations.AddField(
            model_name='jobposting',
            name='reserved_code',
            field=models.CharField(blank=True, db_default='', default='', max_length=60),
        ),
        migrations.AddField(
            model_name='jobposting',
            name='reserved_sentence',
            field=models.CharField(blank=True, db_default='', default='', max_length=300),
        ),
    ]
