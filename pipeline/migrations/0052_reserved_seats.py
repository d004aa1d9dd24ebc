import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('applicants', '0009_devices_by_member'),
        ('jobs', '0026_exceptions'),
        ('pipeline', '0051_exceptions'),
    ]

    operations = [
        migrations.CreateModel(
            name='GroupClaim',
            fields=[
                ('application', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='claim', serialize=False, to='pipeline.application')),
                ('state', models.CharField(choices=[('STATED', 'STATED'), ('CONFIRMED', 'CONFIRMED'), ('DECLINED', 'DECLINED')], max_length=9)),
                ('kind', models.CharField(max_length=16)),
                ('salt', models.BinaryField(max_length=32)),
                ('seq', models.BigIntegerField(null=True)),
                ('stated_at', models.DateTimeField()),
                ('decided_at', models.DateTimeField(null=True)),
            ],
        ),
        migrations.AddField(
            model_name='application',
            name='is_member',
            field=models.BooleanField(db_default=False, default=False),
        ),
        migrations.AddField(
            model_name='application',
            name='reserved_seat',
            field=models.BooleanField(db_default=False, default=False),
        ),
        migrations.AlterField(
            model_name='event',
            name='event',
            field=models.CharField(choices=[('APPLIED', 'APPLIED'), ('VERIFIED', 'VERIFIED'), ('PROMOTED', 'PROMOTED'), ('ACKNOWLEDGED', 'ACKNOWLEDGED'), ('DEADLINE_EXTENDED', 'DEADLINE_EXTENDED'), ('DECAYED', 'DECAYED'), ('LAPSED', 'LAPSED'), ('REINSTATED', 'REINSTATED'), ('PLACED', 'PLACED'), ('MOVED_AHEAD', 'MOVED_AHEAD'), ('DEFERRED', 'DEFERRED'), ('PREACCEPTED', 'PREACCEPTED'), ('PASS_ASKED', 'PASS_ASKED'), ('PASSED', 'PASSED'), ('WITHDRAWN', 'WITHDRAWN'), ('REMOVED', 'REMOVED'), ('CLOSED_OUT', 'CLOSED_OUT'), ('GROUP_NOTED', 'GROUP_NOTED'), ('CONTESTED', 'CONTESTED'), ('CONTEST_ANSWERED', 'CONTEST_ANSWERED'), ('ANSWERS_CHANGED', 'ANSWERS_CHANGED'), ('QUESTION_ASKED', 'QUESTION_ASKED'), ('JOB_CREATED', 'JOB_CREATED'), ('JOB_OPENED', 'JOB_OPENED'), ('JOB_PAUSED', 'JOB_PAUSED'), ('JOB_RESUMED', 'JOB_RESUMED'), ('JOB_CLOSED', 'JOB_CLOSED'), ('CAPACITY_CHANGED', 'CAPACITY_CHANGED'), ('POLICY_CHANGED', 'POLICY_CHANGED'), ('POSITIONS_CHANGED', 'POSITIONS_CHANGED'), ('DATES_CHANGED', 'DATES_CHANGED'), ('RESERVE_CHANGED', 'RESERVE_CHANGED'), ('CLOCK_ADVANCED', 'CLOCK_ADVANCED'), ('DRAWN', 'DRAWN')], max_length=20),
        ),
        migrations.AddConstraint(
            model_name='application',
            constraint=models.CheckConstraint(condition=models.Q(('reserved_seat', False), ('status__in', ['PENDING_ACKNOWLEDGMENT', 'ACTIVE']), _connector='OR'), name='reserved_while_seated'),
        ),
        migrations.AddField(
            model_name='groupclaim',
            name='job',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='jobs.job'),
        ),
    ]
