"""Task handlers of this app, imported so that the engine's autodiscovery registers their types."""

from pipeline.audit import task as audit
from pipeline.exports import task as exports
from pipeline.imports import task as imports
from pipeline.maintenance import task as maintenance
from pipeline.privacy import task as privacy
from pipeline.reports import task as reports
from pipeline.webhooks import task as webhooks

__all__ = ["audit", "exports", "imports", "maintenance", "privacy", "reports", "webhooks"]
