"""`manage.py migrate`: Django's command, run as the role that owns the tables."""

from __future__ import annotations

from typing import Any

from django.core.management.commands import migrate

from pipeline.database.roles import in_migrating_role


class Command(migrate.Command):
    def handle(self, *args: Any, **options: Any) -> None:
        """Migrate as the role in MIGRATION_DATABASE_URL, then grant the application its rights."""
        with in_migrating_role():
            super().handle(*args, **options)
