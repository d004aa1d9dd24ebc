from typing import Any

from django.apps import AppConfig
from django.conf import settings
from django.db.models.signals import post_migrate


class PipelineConfig(AppConfig):
    name = "pipeline"
    verbose_name = "The line"

    def ready(self) -> None:
        """Connect emails and live pages to changes, and the schedules to migrations.

        In tests, the fixtures do this.
        """
        from pipeline.audit import receipts
        from pipeline.config import checks, env  # noqa: F401  checks register themselves
        from pipeline.correspondence import emails as message_emails
        from pipeline.database import fatal_errors
        from pipeline.integrations.request_log import request_log
        from pipeline.live.announcer import start_announcing
        from pipeline.notifications import chats, devices, outbox, reviewers
        from pipeline.notifications.applicants import start_tracking_emails
        from pipeline.services import outage
        from pipeline.sources.views import view_log
        from pipeline.webhooks.queue import start_follow_up
        from tasks.registry import chores

        outbox.start()
        reviewers.start()
        devices.start()
        chats.start()
        start_tracking_emails()
        message_emails.start_tracking()
        if settings.EMAIL_BACKEND.startswith("anymail."):  # whose provider also receives emails
            from pipeline.correspondence import incoming

            incoming.start()
        start_follow_up()
        chores.extend((outage.watch_task_workers, receipts.record_key))
        if not env.TESTING:
            fatal_errors.install_hook()
            start_announcing()
            view_log.start()
            if env.REQUEST_LOG:
                request_log.start()
            post_migrate.connect(self.schedule_upkeep, sender=self, dispatch_uid="pipeline.upkeep")

    @staticmethod
    def schedule_upkeep(**_: Any) -> None:
        """Schedule the site's regular tasks in every migrated database."""
        from pipeline.attachments.tasks import ensure_tidying
        from pipeline.audit.task import ensure_anchoring, ensure_archiving
        from pipeline.careers.domains import ensure_rechecks
        from pipeline.figures.forecast import ensure_forecasting
        from pipeline.maintenance.expired_rows import ensure_expiry
        from pipeline.notifications.chat_delivery import ensure_upkeep as ensure_chat
        from pipeline.notifications.companies import ensure_company_tasks
        from pipeline.notifications.reviewers import ensure_targets
        from pipeline.privacy.retention import ensure_erasure as ensure_end_of_retention
        from pipeline.sign_on.providers import ensure_rechecks as ensure_sign_on_domains
        from pipeline.webhooks.task import ensure_upkeep

        ensure_expiry()
        ensure_tidying()
        ensure_anchoring()
        ensure_archiving()
        ensure_end_of_retention()
        ensure_company_tasks()
        ensure_targets()
        ensure_upkeep()
        ensure_forecasting()
        ensure_rechecks()
        ensure_sign_on_domains()
        ensure_chat()
