import uuid_utils.compat
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('jobs', '0019_undo'),
    ]

    operations = [
        migrations.CreateModel(
            name='CompanyRequest',
            fields=[
                ('id', models.UUIDField(default=uuid_utils.compat.uuid7, editable=False, primary_key=True, serialize=False)),
                ('company_name', models.CharField(max_length=200)),
                ('email', models.EmailField(max_length=254)),
                ('asked_at', models.DateTimeField(auto_now_add=True)),
                ('decided_at', models.DateTimeField(null=True)),
                ('is_approved', models.BooleanField(null=True)),
            ],
            options={
                'constraints': [models.CheckConstraint(condition=models.Q(models.Q(('decided_at__isnull', True), ('is_approved__isnull', True)), models.Q(('decided_at__isnull', False), ('is_approved__isnull', False)), _connector='OR'), name='company_request_decided_whole')],
            },
        ),
        migrations.AddField(
            model_name='user',
            name='name',
            field=models.CharField(blank=True, db_default='', default='', max_length=200),
        ),
    ]
