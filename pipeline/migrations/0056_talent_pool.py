import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('jobs', '0028_keys_of_jobs'),
        ('pipeline', '0055_names_of_all_scripts'),
    ]

    operations = [
        migrations.AddField(
            model_name='agreement',
            name='ends_at',
            field=models.DateTimeField(null=True),
        ),
        migrations.AddField(
            model_name='applicationmessage',
            name='about_job',
            field=models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='jobs.job'),
        ),
        migrations.AddField(
            model_name='consentversion',
            name='months',
            field=models.SmallIntegerField(null=True),
        ),
        migrations.AlterField(
            model_name='consentversion',
            name='kind',
            field=models.CharField(choices=[('NOTICE', 'Notice'), ('CONSENT', 'Consent'), ('POOL', 'Pool')], max_length=7),
        ),
        migrations.AddConstraint(
            model_name='consentversion',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('is_required', False), ('kind', 'POOL'), ('months__isnull', False), ('months__range', (1, 24))), models.Q(models.Q(('kind', 'POOL'), _negated=True), ('months__isnull', True)), _connector='OR'), name='consent_pool_is_free_and_ends'),
        ),
    ]
