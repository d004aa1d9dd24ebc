"""`manage.py migrate`: Django's command, run as the role that owns the tables."""

from __future__ import annotations

from typing import Any

from django.core.management.commands import migrate

from pipeline.database import roles


class Command(migrate.Command):
    def execute(self, *args: Any, **options: Any) -> Any:
        """Migrate as the role in MIGRATION_DATABASE_URL, then grant the application its rights.

        The checks before it connect too, and the application's role may not exist yet.
        """
        with roles.migrating():
            return super().execute(*args, **options)
