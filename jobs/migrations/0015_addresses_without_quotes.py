from importlib import import_module

from django.db import migrations

spelling = import_module("jobs.migrations.0008_spelling_of_addresses")


class Migration(migrations.Migration):
    dependencies = [
        ("jobs", "0014_max_passes"),
        ("account", "0009_emailaddress_unique_primary_email"),
    ]

    operations = [
        # The same step again, with the rule as it is now.
        migrations.RunPython(spelling.write_in_one_spelling, migrations.RunPython.noop)
    ]
