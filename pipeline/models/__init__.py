"""Models of the pipeline. Other packages import them from here."""

from pipeline.models.annotations import (
    LABEL_LENGTH,
    TAG_LENGTH,
    TEXT_LENGTH,
    URL_LENGTH,
    VIEW_NAME_LENGTH,
    VIEW_QUERY_LENGTH,
    ApplicationAssignee,
    ApplicationLink,
    ApplicationNote,
    ApplicationTag,
    SavedView,
)
from pipeline.models.changes import Change, ChangeKind
from pipeline.models.contests import Contest
from pipeline.models.decisions import (
    NOTE_LENGTH,
    DecisionItem,
    DecisionNote,
    PendingDecision,
)
from pipeline.models.emails import Email, EmailState
from pipeline.models.forecasts import ForecastStatement, JobForecast, LastWhatIf
from pipeline.models.integrations import ClockAdvance, PortalToken, RequestRecord
from pipeline.models.job_templates import BY_LOT, TEMPLATE_NAME_LENGTH, JobTemplate
from pipeline.models.line import (
    FOUND_BY_KIND,
    Application,
    ApplicationRow,
    Event,
    Standing,
)
from pipeline.models.planned_seats import MOST_TIMES, ZONE_LENGTH, PlannedSeats
from pipeline.models.references import (
    EXTERNAL_ID_LENGTH,
    METADATA_KEY_LENGTH,
    METADATA_KEYS,
    METADATA_VALUE_LENGTH,
    ApplicationReference,
    JobReference,
    Reference,
)
from pipeline.models.removed_logs import RemovedLog
from pipeline.models.upkeep import (
    Heartbeat,
    IdempotencyRecord,
    NameWord,
    ReceiptKey,
    Throttle,
    WebServer,
)
from pipeline.models.webhooks import (
    WebhookAttempt,
    WebhookDelivery,
    WebhookEndpoint,
    WebhookTaskPlace,
)
from pipeline.models.work import (
    ImportedRow,
    ImportRefusal,
    ImportRun,
    Producer,
    StoredFile,
    StoredPart,
    WeeklyReport,
)

__all__ = [
    "BY_LOT",
    "EXTERNAL_ID_LENGTH",
    "FOUND_BY_KIND",
    "LABEL_LENGTH",
    "METADATA_KEYS",
    "METADATA_KEY_LENGTH",
    "METADATA_VALUE_LENGTH",
    "MOST_TIMES",
    "NOTE_LENGTH",
    "TAG_LENGTH",
    "TEMPLATE_NAME_LENGTH",
    "TEXT_LENGTH",
    "URL_LENGTH",
    "VIEW_NAME_LENGTH",
    "VIEW_QUERY_LENGTH",
    "ZONE_LENGTH",
    "Application",
    "ApplicationAssignee",
    "ApplicationLink",
    "ApplicationNote",
    "ApplicationReference",
    "ApplicationRow",
    "ApplicationTag",
    "Change",
    "ChangeKind",
    "ClockAdvance",
    "Contest",
    "DecisionItem",
    "DecisionNote",
    "Email",
    "EmailState",
    "Event",
    "ForecastStatement",
    "Heartbeat",
    "IdempotencyRecord",
    "ImportRefusal",
    "ImportRun",
    "ImportedRow",
    "JobForecast",
    "JobReference",
    "JobTemplate",
    "LastWhatIf",
    "NameWord",
    "PendingDecision",
    "PlannedSeats",
    "PortalToken",
    "Producer",
    "ReceiptKey",
    "Reference",
    "RemovedLog",
    "RequestRecord",
    "SavedView",
    "Standing",
    "StoredFile",
    "StoredPart",
    "Throttle",
    "WebServer",
    "WebhookAttempt",
    "WebhookDelivery",
    "WebhookEndpoint",
    "WebhookTaskPlace",
    "WeeklyReport",
]
