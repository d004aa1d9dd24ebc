from typing import Any

from django.apps import AppConfig
from django.db.models.signals import post_migrate


class PipelineConfig(AppConfig):
    name = "pipeline"
    verbose_name = "The line"

    def ready(self) -> None:
        """Connect emails and live pages to changes, and the schedules to migrations.

        In tests, the fixtures do this.
        """
        from pipeline.audit.receipts import record_receipt_key_as_chore
        from pipeline.config import checks, env  # noqa: F401  checks register themselves
        from pipeline.database.fatal_errors import install_fatal_error_hook
        from pipeline.integrations.request_log import start_request_log
        from pipeline.live.announcer import start_announcing
        from pipeline.notifications.applicants import start_tracking_emails
        from pipeline.notifications.outbox import start_outbox
        from pipeline.services.outage import watch_for_outage_as_chore
        from pipeline.webhooks.queue import start_webhook_follow_up
        from tasks.registry import chores

        start_outbox()
        start_tracking_emails()
        start_webhook_follow_up()
        chores.extend((watch_for_outage_as_chore, record_receipt_key_as_chore))
        if not env.TESTING:
            install_fatal_error_hook()
            start_announcing()
            if env.REQUEST_LOG:
                start_request_log()
            post_migrate.connect(self.schedule_upkeep, sender=self, dispatch_uid="pipeline.upkeep")

    @staticmethod
    def schedule_upkeep(**_: Any) -> None:
        """Schedule the site's regular tasks in every migrated database."""
        from pipeline.audit.task import ensure_anchoring_task, ensure_archiving_task
        from pipeline.figures.forecast import ensure_forecast_task
        from pipeline.maintenance.task import ensure_maintenance_task
        from pipeline.notifications.companies import ensure_company_tasks
        from pipeline.privacy.retention import ensure_privacy_task as ensure_end_of_retention
        from pipeline.webhooks.task import ensure_webhook_tasks

        ensure_maintenance_task()
        ensure_anchoring_task()
        ensure_archiving_task()
        ensure_end_of_retention()
        ensure_company_tasks()
        ensure_webhook_tasks()
        ensure_forecast_task()
