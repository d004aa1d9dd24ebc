import django.contrib.postgres.indexes
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('pipeline', '0016_portal_tokens'),
    ]

    operations = [
        migrations.CreateModel(
            name='RequestRecord',
            fields=[
                ('id', models.BigAutoField(primary_key=True, serialize=False)),
                ('key_id', models.UUIDField()),
                ('is_portal', models.BooleanField()),
                ('at', models.DateTimeField()),
                ('method', models.CharField(max_length=10)),
                ('path', models.CharField(max_length=200)),
                ('status', models.SmallIntegerField()),
                ('status_class', models.SmallIntegerField()),
                ('request_id', models.CharField(max_length=128)),
                ('duration_ms', models.IntegerField()),
            ],
            options={
                'indexes': [
                    models.Index(models.F('key_id'), models.F('id'), name='request_of_key'),
                    models.Index(models.F('key_id'), models.F('status_class'), models.F('id'), condition=models.Q(('status_class__gte', 4)), name='refused_request_of_key'),
                    django.contrib.postgres.indexes.BrinIndex(models.F('at'), name='request_at'),
                ],
            },
        ),
    ]
