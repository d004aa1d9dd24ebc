"""Task handlers of this app, imported here so that the engine registers their types."""

from pipeline.attachments import tasks as attachments
from pipeline.audit import task as audit
from pipeline.careers import domains
from pipeline.correspondence import tasks as correspondence
from pipeline.figures import forecast, reports
from pipeline.figures.whatif import run as whatif
from pipeline.files import exports
from pipeline.files.imports import tasks as imports
from pipeline.maintenance import expired_rows as maintenance
from pipeline.notifications import chat_delivery, push, reviewers, sign_up
from pipeline.notifications import companies as company_emails
from pipeline.notifications import outbox as emails
from pipeline.privacy import retention as privacy
from pipeline.provisioning import roles as provisioning
from pipeline.review import decisions
from pipeline.sign_on import providers as sign_on
from pipeline.webhooks import task as webhooks

__all__ = [
    "attachments",
    "audit",
    "chat_delivery",
    "company_emails",
    "correspondence",
    "decisions",
    "domains",
    "emails",
    "exports",
    "forecast",
    "imports",
    "maintenance",
    "privacy",
    "provisioning",
    "push",
    "reports",
    "reviewers",
    "sign_on",
    "sign_up",
    "webhooks",
    "whatif",
]
