from django.db import migrations

from applicants.addresses import normal_address


def write_without_quotes(apps, editor):
    """Give people the spelling by which they are now looked for, where nobody else has it.

    Domains stay: mail to straße.de went to strasse.de, whose owner has proved it.
    """
    Applicant = apps.get_model("applicants", "Applicant")
    for person in Applicant.objects.filter(email__startswith='"').order_by("created_at"):
        email = normal_address(person.email)
        if email != person.email and not Applicant.objects.filter(email=email).exists():
            Applicant.objects.filter(id=person.id).update(email=email)


class Migration(migrations.Migration):
    dependencies = [("applicants", "0006_devices")]

    operations = [migrations.RunPython(write_without_quotes, migrations.RunPython.noop)]
