from typing import Any

from django.apps import AppConfig
from django.db.models.signals import post_migrate


class PipelineConfig(AppConfig):
    name = "pipeline"
    verbose_name = "The line"

    def ready(self) -> None:
        """Have every process that changes lines tell people by mail, and the live pages; and what
        is to be done regularly stand in the database from its migration on.

        Tests do so where they ask.
        """
        from pipeline.config import env
        from pipeline.live.announcer import start_announcing
        from pipeline.notifications.delivery import start_notifying

        start_notifying()
        if not env.TESTING:
            start_announcing()
            post_migrate.connect(_keep_upkeep, sender=self, dispatch_uid="pipeline.upkeep")


def _keep_upkeep(**_: Any) -> None:
    """Every database that was migrated has what is to be done regularly for the site."""
    from pipeline.maintenance.task import ensure_retention

    ensure_retention()
