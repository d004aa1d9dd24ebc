import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("jobs", "0023_company_privacy"),
    ]

    operations = [
        migrations.AlterField(
            model_name="membership",
            name="role",
            field=models.CharField(
                blank=True,
                choices=[("VIEWER", "Viewer"), ("RECRUITER", "Recruiter"), ("OWNER", "Owner")],
                max_length=10,
            ),
        ),
        migrations.CreateModel(
            name="JobMember",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "role",
                    models.CharField(
                        choices=[
                            ("INTERVIEWER", "Interviewer"),
                            ("HIRING_MANAGER", "Hiring manager"),
                        ],
                        max_length=14,
                    ),
                ),
                (
                    "job",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="members",
                        to="jobs.job",
                    ),
                ),
                (
                    "membership",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="job_members",
                        to="jobs.membership",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("membership", "job"), name="one_role_per_job"
                    )
                ],
            },
        ),
    ]
