import django.db.models.deletion
import django.db.models.functions.datetime
from django.db import migrations, models
from uuid_utils.compat import uuid7


class Migration(migrations.Migration):

    dependencies = [
        ('applicants', '0005_emails'),
        ('jobs', '0010_scope_of_portals'),
        ('pipeline', '0015_reinstated'),
    ]

    operations = [
        migrations.CreateModel(
            name='PortalToken',
            fields=[
                ('id', models.UUIDField(default=uuid7, editable=False, primary_key=True, serialize=False)),
                ('digest', models.BinaryField(max_length=32, unique=True)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('expires_at', models.DateTimeField()),
                ('applicant', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='portal_tokens', to='applicants.applicant')),
                ('key', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='portal_tokens', to='jobs.apikey')),
            ],
            options={
                'indexes': [
                    models.Index(models.F('key'), models.F('applicant'), models.F('id'), name='portal_token_of_key'),
                    models.Index(models.F('expires_at'), name='portal_token_expiry'),
                ],
            },
        ),
    ]
