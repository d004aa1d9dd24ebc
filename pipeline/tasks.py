"""Task handlers of this app, imported here so that the engine registers their types."""

from pipeline.audit import task as audit
from pipeline.decisions import task as decisions
from pipeline.exports import task as exports
from pipeline.forecast import task as forecast
from pipeline.imports import task as imports
from pipeline.maintenance import task as maintenance
from pipeline.notifications import company_task as company_emails
from pipeline.notifications import task as emails
from pipeline.privacy import task as privacy
from pipeline.push import task as push
from pipeline.reports import task as reports
from pipeline.webhooks import task as webhooks
from pipeline.whatif import task as whatif

__all__ = [
    "audit",
    "company_emails",
    "decisions",
    "emails",
    "exports",
    "forecast",
    "imports",
    "maintenance",
    "privacy",
    "push",
    "reports",
    "webhooks",
    "whatif",
]
