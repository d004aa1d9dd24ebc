"""Refusals by the rules of the line, with their data.

Their HTTP form is in `pipeline.api.problems`.
"""

from __future__ import annotations

from typing import Any


class LineError(Exception):
    """Refusal by the rules of the line. `facts` holds its data by name."""

    message = "The line refuses this."

    def __init__(self, **facts: Any) -> None:
        super().__init__(self.message.format(**facts))
        self.facts = facts


class JobNotFound(LineError):
    message = "There is no such job."


class ApplicationNotFound(LineError):
    message = "There is no such application."


class ApplicantNotFound(LineError):
    message = "There is no such applicant."


class StoredFileNotFound(LineError):
    message = "There is no such file."


class ImportFileRefused(LineError):
    message = "{what}"


class FilesFull(LineError):
    message = (
        "Your company's waiting imports and download files already use {used} of {limit} "
        "bytes. Wait until imports have ended or files have expired."
    )


class ScheduleNotFound(LineError):
    message = "There is no such schedule."


class TaskTypeNotFound(LineError):
    message = "There is no such type of background work."


class WebhookNotFound(LineError):
    message = "There is no such webhook endpoint."


class WebhookDeliveryNotFound(LineError):
    message = "There is no such delivery."


class WebhookUrlRefused(LineError):
    message = "{why}"


class WebhookAlreadyMade(LineError):
    message = (
        "An endpoint was already made with this request, and its secret is shown no more."
        " Send it again to add another endpoint."
    )


class TooManyWebhooks(LineError):
    message = "A company can have {limit} webhook endpoints. Delete one that is not needed."


class WebhookOff(LineError):
    message = "This endpoint is switched off. Switch it on first."


class AlreadyApplied(LineError):
    message = "This applicant already has a live application to this job."


class AlreadyDecided(LineError):
    message = "The company has already decided on this applicant. Only the company can add "
    "them again."


class JobNotOpen(LineError):
    message = "This job does not take applications because it is {status}."


class IllegalMove(LineError):
    message = "{move} is not possible from {status}."


class IllegalJobMove(LineError):
    message = "A job that is {status} does not allow this change ({verb})."


class AcknowledgmentExpired(LineError):
    message = "The deadline to acknowledge this seat has passed."


class StaleVersion(LineError):
    message = "The job has changed since you read it. Read it again."


class NoSuchMoment(LineError):
    message = "The job did not exist at that time or seq."


class FutureMoment(LineError):
    message = "That time is in the future."


class UnknownPlace(LineError):
    message = "The feed has no such place."


class LogReadersBusy(LineError):
    message = "Another of your company's long logs is being read. Try again when that has finished."


class VerifierBusy(LineError):
    message = "Other logs are being verified. Try again in a moment."
