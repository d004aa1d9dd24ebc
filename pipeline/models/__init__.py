"""Models of the pipeline. Other packages import them from here."""

from pipeline.models.emails import Email, EmailState
from pipeline.models.line import (
    FOUND_BY_KIND,
    NOTE_LENGTH,
    Application,
    ApplicationRow,
    DecisionNote,
    Event,
    NameWord,
    Standing,
)
from pipeline.models.upkeep import Heartbeat, IdempotencyRecord, Throttle
from pipeline.models.webhooks import (
    WebhookAttempt,
    WebhookDelivery,
    WebhookEndpoint,
    WebhookTaskPlace,
)
from pipeline.models.work import (
    ImportRefusal,
    ImportRun,
    Producer,
    StoredFile,
    StoredPart,
    WeeklyReport,
)

__all__ = [
    "FOUND_BY_KIND",
    "NOTE_LENGTH",
    "Application",
    "ApplicationRow",
    "DecisionNote",
    "Email",
    "EmailState",
    "Event",
    "Heartbeat",
    "IdempotencyRecord",
    "ImportRefusal",
    "ImportRun",
    "NameWord",
    "Producer",
    "Standing",
    "StoredFile",
    "StoredPart",
    "Throttle",
    "WebhookAttempt",
    "WebhookDelivery",
    "WebhookEndpoint",
    "WebhookTaskPlace",
    "WeeklyReport",
]
