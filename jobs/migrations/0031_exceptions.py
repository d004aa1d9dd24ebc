from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('jobs', '0021_open_jobs'),
    ]

    operations = [
        migrations.AddField(
            model_name='job',
            name='exception_count',
            field=models.IntegerField(db_default=0, default=0),
        ),
    ]
