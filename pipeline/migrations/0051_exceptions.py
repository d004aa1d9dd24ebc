from django.db import migrations, models
from django.db.models import deletion


class Migration(migrations.Migration):

    dependencies = [
        ('jobs', '0026_exceptions'),
        ('pipeline', '0050_sources_and_consents'),
    ]

    operations = [
        migrations.AlterField(
            model_name='event',
            name='event',
            field=models.CharField(choices=[('APPLIED', 'APPLIED'), ('VERIFIED', 'VERIFIED'), ('PROMOTED', 'PROMOTED'), ('ACKNOWLEDGED', 'ACKNOWLEDGED'), ('DEADLINE_EXTENDED', 'DEADLINE_EXTENDED'), ('DECAYED', 'DECAYED'), ('LAPSED', 'LAPSED'), ('REINSTATED', 'REINSTATED'), ('PLACED', 'PLACED'), ('MOVED_AHEAD', 'MOVED_AHEAD'), ('DEFERRED', 'DEFERRED'), ('PREACCEPTED', 'PREACCEPTED'), ('PASS_ASKED', 'PASS_ASKED'), ('PASSED', 'PASSED'), ('WITHDRAWN', 'WITHDRAWN'), ('REMOVED', 'REMOVED'), ('CLOSED_OUT', 'CLOSED_OUT'), ('CONTESTED', 'CONTESTED'), ('CONTEST_ANSWERED', 'CONTEST_ANSWERED'), ('ANSWERS_CHANGED', 'ANSWERS_CHANGED'), ('QUESTION_ASKED', 'QUESTION_ASKED'), ('JOB_CREATED', 'JOB_CREATED'), ('JOB_OPENED', 'JOB_OPENED'), ('JOB_PAUSED', 'JOB_PAUSED'), ('JOB_RESUMED', 'JOB_RESUMED'), ('JOB_CLOSED', 'JOB_CLOSED'), ('CAPACITY_CHANGED', 'CAPACITY_CHANGED'), ('POLICY_CHANGED', 'POLICY_CHANGED'), ('POSITIONS_CHANGED', 'POSITIONS_CHANGED'), ('DATES_CHANGED', 'DATES_CHANGED'), ('CLOCK_ADVANCED', 'CLOCK_ADVANCED'), ('DRAWN', 'DRAWN')], max_length=20),
        ),
        migrations.CreateModel(
            name='LineException',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('seq', models.BigIntegerField()),
                ('at', models.DateTimeField()),
                ('reason', models.CharField(choices=[('LEGAL_DUTY', 'LEGAL_DUTY'), ('OUR_ERROR', 'OUR_ERROR'), ('HARDSHIP', 'HARDSHIP'), ('OTHER', 'OTHER')], max_length=10)),
                ('text', models.CharField(blank=True, default='', max_length=500)),
                ('from_ticket', models.BigIntegerField()),
                ('from_tie', models.BigIntegerField()),
                ('people_passed', models.IntegerField()),
                ('application', models.ForeignKey(on_delete=deletion.PROTECT, related_name='exceptions', to='pipeline.application')),
                ('job', models.ForeignKey(db_index=False, on_delete=deletion.PROTECT, related_name='exceptions', to='jobs.job')),
            ],
            options={
                'constraints': [models.UniqueConstraint(models.F('job'), models.F('seq'), name='exception_of_event'), models.CheckConstraint(condition=models.Q(('people_passed__gt', 0)), name='exception_passes_someone')],
            },
        ),
    ]
