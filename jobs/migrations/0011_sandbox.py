import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('jobs', '0010_scope_of_portals'),
    ]

    operations = [
        migrations.AddField(
            model_name='company',
            name='sandbox_of',
            field=models.OneToOneField(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='sandbox', to='jobs.company'),
        ),
        migrations.AddField(
            model_name='company',
            name='clock_offset_seconds',
            field=models.BigIntegerField(db_default=0, default=0),
        ),
        migrations.AddConstraint(
            model_name='company',
            constraint=models.CheckConstraint(condition=models.Q(('clock_offset_seconds', 0), models.Q(('clock_offset_seconds__gt', 0), ('sandbox_of__isnull', False)), _connector='OR'), name='company_clock_only_in_sandbox'),
        ),
        migrations.AlterField(
            model_name='apikey',
            name='hint',
            field=models.CharField(max_length=20),
        ),
        migrations.AddField(
            model_name='job',
            name='is_test',
            field=models.BooleanField(db_default=False, default=False),
        ),
        migrations.AddField(
            model_name='job',
            name='clock_offset_seconds',
            field=models.BigIntegerField(db_default=0, default=0),
        ),
        migrations.AddConstraint(
            model_name='job',
            constraint=models.CheckConstraint(condition=models.Q(('clock_offset_seconds', 0), models.Q(('clock_offset_seconds__gt', 0), ('is_test', True)), _connector='OR'), name='job_clock_only_in_sandbox'),
        ),
    ]
