from django.db import migrations

from applicants.addresses import normal_address


def write_in_one_spelling(apps, editor):
    """Give staff accounts the spelling by which they are now looked for, where nobody else has it."""
    User = apps.get_model("jobs", "User")
    EmailAddress = apps.get_model("account", "EmailAddress")
    for model in (User, EmailAddress):
        for row in model.objects.all():
            email = normal_address(row.email)
            others = User.objects.filter(email=email).exclude(id=getattr(row, "user_id", row.id))
            is_taken = others.exists() or EmailAddress.objects.filter(email=email).exists()
            if email != row.email and not is_taken:
                model.objects.filter(id=row.id).update(email=email)


class Migration(migrations.Migration):
    dependencies = [
        ("jobs", "0007_second_step_expiry_retention"),
        ("account", "0009_emailaddress_unique_primary_email"),
    ]

    operations = [migrations.RunPython(write_in_one_spelling, migrations.RunPython.noop)]
