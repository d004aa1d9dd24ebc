from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("pipeline", "0045_positions")]

    operations = [
        migrations.AddField(
            model_name="importrefusal",
            name="answers",
            field=models.JSONField(null=True),
        ),
    ]
