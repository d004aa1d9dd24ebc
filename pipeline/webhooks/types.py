"""Types of webhooks: one for each kind of event in the log, some for tasks, and the test. Pure."""

from __future__ import annotations

from pipeline.domain.states import EventType

TEST = "webhook.test"

# The meaning of each type, for people.
_OF_EVENTS = {
    EventType.APPLIED: "A person applied, or the company submitted them",
    EventType.VERIFIED: "A person proved their address",
    EventType.PROMOTED: "A person was offered a seat",
    EventType.ACKNOWLEDGED: "A person confirmed the seat",
    EventType.DEADLINE_EXTENDED: "A person got more time to confirm",
    EventType.DECAYED: "A person missed the deadline and is back in line",
    EventType.LAPSED: "A person missed the last deadline, or never proved the address",
    EventType.REINSTATED: "The company gave back a place that a miss or a decision had cost",
    EventType.PLACED: "A person got their place in line by the draw",
    EventType.DEFERRED: "A person asked for no seat before a time, or cancelled that request",
    EventType.PREACCEPTED: "A person accepted a seat in advance, or took that back",
    EventType.PASS_ASKED: "A person asked to pass their next turn, or took that back",
    EventType.PASSED: "A person passed a turn and keeps their place",
    EventType.WITHDRAWN: "A person left",
    EventType.REMOVED: "The company removed, rejected or hired a person",
    EventType.CLOSED_OUT: "A person was released because the job closed",
    EventType.CONTESTED: "A person asked the company to look again at how the application ended",
    EventType.CONTEST_ANSWERED: "The company answered the request, or the person was erased",
    EventType.JOB_CREATED: "A job was created",
    EventType.JOB_OPENED: "A job opened",
    EventType.JOB_PAUSED: "A job was paused",
    EventType.JOB_RESUMED: "A job was resumed",
    EventType.JOB_CLOSED: "A job closed",
    EventType.CAPACITY_CHANGED: "A job’s number of seats changed",
    EventType.POLICY_CHANGED: "A job’s rules changed",
    EventType.CLOCK_ADVANCED: "The clock of a sandbox was moved forward",
    EventType.DRAWN: "The order of a job’s line was drawn by lot",
}
_OF_TASKS = {
    "task.started": "A task began an attempt",
    "task.succeeded": "A task succeeded",
    "task.failed": "An attempt of a task failed",
    "task.ended": "A task ended, with any result",
}


_ALSO_OF_JOBS = ("CAPACITY_CHANGED", "POLICY_CHANGED", "CLOCK_ADVANCED", "DRAWN")


def webhook_type_of(event: str) -> str:
    """Return the type of a kind of event in the log, like `job.opened` or `application.applied`."""
    of_job = event.startswith("JOB_") or event in _ALSO_OF_JOBS
    return f"{'job' if of_job else 'application'}.{event.removeprefix('JOB_').lower()}"


# Every type that an endpoint can ask for, in the order in which they are shown, with its meaning.
TYPES: dict[str, str] = {
    webhook_type_of(event): about for event, about in _OF_EVENTS.items()
} | _OF_TASKS

# The types of an event of the engine, by its kind.
TYPES_OF_TASK_EVENT: dict[str, tuple[str, ...]] = {
    "started": ("task.started",),
    "succeeded": ("task.succeeded", "task.ended"),
    "failed": ("task.failed",),
    "dead": ("task.ended",),
    "cancelled": ("task.ended",),
    "discarded": ("task.ended",),
}
