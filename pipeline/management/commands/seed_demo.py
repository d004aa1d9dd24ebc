"""`manage.py seed_demo`: create the demo company."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand

from pipeline.config.demo_addresses import COMPANY, OWNER
from pipeline.management.demo import seed


class Command(BaseCommand):
    requires_system_checks = ("environment",)  # the other checks load every URL
    help = (
        "Create the demo: three companies, eight weeks of history, and a job to try out. "
        "Running it again changes nothing."
    )

    def handle(self, **_: Any) -> None:
        demo = seed.create_missing()
        self.stdout.write(
            f"Demo: {COMPANY}, company {demo.company_id}\n"
            f"The job that moves while `up` runs: {demo.job_id}\n"
            f"The job to try out: {demo.story_id}\n"
            f"API key: {demo.api_key}\n"
            f"Sign-in: {OWNER}, password {demo.password or '(the owner has chosen another one)'}"
        )
