"""Refusals, each a named fact with its data. HTTP lives in `pipeline.api.problems`."""

from __future__ import annotations

from typing import Any


class LineError(Exception):
    """Refusal by the rules of the line. `facts` is its data, by name."""

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
        "Your company's waiting imports and its files to download already take {used} of the"
        " {limit} bytes that they may. Wait until imports have ended, or files have expired."
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


class TooManyWebhooks(LineError):
    message = "A company can have {limit} webhook endpoints. Delete one that is not needed."


class WebhookOff(LineError):
    message = "This endpoint is switched off. Switch it on first."


class AlreadyApplied(LineError):
    message = "This applicant already has a live application to this job."


class AlreadyDecided(LineError):
    message = "The company has decided on this applicant; only the company can add them again."


class JobNotOpen(LineError):
    message = "This job takes no applications: it is {status}."


class IllegalMove(LineError):
    message = "{move} is not possible from {status}."


class IllegalJobMove(LineError):
    message = "A job that is {status} cannot be changed in this way ({verb})."


class AcknowledgmentExpired(LineError):
    message = "The time to acknowledge this seat has run out."


class StaleVersion(LineError):
    message = "The job has changed since you read it; read it again."


class NoSuchMoment(LineError):
    message = "The job did not exist at that time or sequence number."


class FutureMoment(LineError):
    message = "That lies in the future."


class UnknownPlace(LineError):
    message = "The feed has no such place."


class LogReadersBusy(LineError):
    message = "Another long log of your company is being read; try again when that has ended."


class VerifierBusy(LineError):
    message = "Other logs are being verified; try again in a moment."
