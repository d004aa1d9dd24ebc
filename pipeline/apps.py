from typing import Any

from django.apps import AppConfig
from django.db.models.signals import post_migrate


class PipelineConfig(AppConfig):
    name = "pipeline"
    verbose_name = "The line"

    def ready(self) -> None:
        """Connect emails and live pages to committed changes, and the schedule to migrations.

        In tests the fixtures do it.
        """
        from pipeline.config import checks, env  # noqa: F401  checks register themselves
        from pipeline.live.announcer import start_announcing
        from pipeline.notifications.delivery import start_notifying
        from pipeline.webhooks.follow_up import start_queueing_webhooks

        start_notifying()
        start_queueing_webhooks()
        if not env.TESTING:
            start_announcing()
            post_migrate.connect(
                ensure_upkeep_after_migrate, sender=self, dispatch_uid="pipeline.upkeep"
            )


def ensure_upkeep_after_migrate(**_: Any) -> None:
    """Every database that was migrated has what is to be done regularly for the site."""
    from pipeline.audit.task import ensure_anchoring_task
    from pipeline.maintenance.task import ensure_maintenance_task
    from pipeline.privacy.task import ensure_privacy_task as ensure_end_of_retention
    from pipeline.webhooks.task import ensure_webhooks_tasks

    ensure_maintenance_task()
    ensure_anchoring_task()
    ensure_end_of_retention()
    ensure_webhooks_tasks()
