from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('pipeline', '0060_provisioning'),
    ]

    operations = [
        migrations.AddField(
            model_name='application',
            name='language',
            field=models.CharField(blank=True, db_default='', default='', max_length=16),
        ),
    ]
