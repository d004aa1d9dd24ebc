"""Refusals by the rules of the line, with their data.

Their HTTP form is in `pipeline.api.problem_types`.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from django.utils.translation import gettext

# What a move does to an application, where it is not the verb with "ed".
_PARTICIPLES = {
    "ANSWER_CONTEST": "looked at again",
    "ASK_PASS": "passed",
    "ASK_QUESTION": "asked one more question",
    "CHANGE_ANSWERS": "answered differently",
    "CLOSE_OUT": "closed out",
    "DEFER": "deferred",
    "MOVE_AHEAD": "moved ahead",
    "NOTE_GROUP": "confirmed for a group or declined",
    "VERIFY": "verified",
    "WITHDRAW": "withdrawn",
}


def _(message: str) -> str:
    """Mark a text for translation. Django's own mark needs settings, which come later."""
    return message


class LineError(Exception):
    """Refusal by the rules of the line. `facts` holds its data by name."""

    message = "The line refuses this."

    def __init__(self, **facts: Any) -> None:
        super().__init__(gettext(self.message).format(**facts))
        self.facts = facts

    def __reduce__(self) -> tuple[Any, ...]:
        """Have a copy in another process made from the facts."""
        return partial(type(self), **self.facts), ()


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
        "The waiting imports and download files of your company already use {used} of {limit} "
        "bytes. Wait until imports have ended or files have expired."
    )


class UploadNotFound(LineError):
    message = _("There is no such upload. Choose the file again.")


class AttachmentNotFound(LineError):
    message = _("There is no such file.")


class UploadExpired(LineError):
    message = _("This upload has expired. Choose the file again.")


class UploadNotReady(LineError):
    message = _("The file “{name}” has not arrived completely yet. Send its content first.")


class UploadRefused(LineError):
    message = _("The malware scan refused the file “{name}”. Choose another one.")


class AttachmentTooLarge(LineError):
    message = _("A file can have at most {megabytes} MB. Choose a smaller one.")


class FileKindRefused(LineError):
    message = "{why}"


class TooManyAttachments(LineError):
    message = _("An application can have {limit} files. Remove one first.")


class TooManyUploads(LineError):
    message = _("{limit} of your uploads wait for an application. Use or remove one first.")


class AttachmentsFixed(LineError):
    message = _("Files can be changed only while you wait in line.")


class AttachmentAnswers(LineError):
    message = _(
        "This file answers a question of the job, so it stays. To replace it, change your answers: "
        "the company then sees which file is newer."
    )


class AttachmentsAway(LineError):
    message = _(
        "The file could not be stored, and nothing else is lost. Try again in a few minutes."
    )


class AttachmentsUnreadable(LineError):
    message = _(
        "The file cannot be read at the moment, and it is not lost. Try again in a few minutes."
    )


class AttachmentsFull(LineError):
    message = _(
        "The files of this company’s applicants already use {used} of {limit} bytes. Apply without"
        " this file, or ask the company to make room."
    )


class ScheduleNotFound(LineError):
    message = "There is no such schedule."


class TaskTypeNotFound(LineError):
    message = "There is no such type of background work."


class PlannedSeatsNotFound(LineError):
    message = "There are no such planned seats: they were cancelled, or all have opened."


class PlanRefused(LineError):
    message = "{why}"


class DrawRefused(LineError):
    message = "{why}"


class DatesRefused(LineError):
    message = "{why}"


class LastPosition(LineError):
    message = _(
        "This fills the last position of the job. Decide whether the job closes, or goes on with"
        " one position more."
    )


class PositionsFilled(LineError):
    message = _(
        "All positions of this job are filled ({positions:,}). Raise the number of positions to"
        " hire more people."
    )


class PositionsBelowHired(LineError):
    message = _(
        "This job has hired {hired:,} already, so it cannot have {positions:,} to fill. Enter"
        " {hired:,} or more."
    )


class TooManyPlannedSeats(LineError):
    message = "A job can have {limit} plans for its seats. Cancel one that is not needed."


class WebhookNotFound(LineError):
    message = "There is no such webhook endpoint."


class WebhookDeliveryNotFound(LineError):
    message = "There is no such delivery."


class WebhookUrlRefused(LineError):
    message = "{why}"


class WebhookAlreadyMade(LineError):
    message = (
        "This request has already added an endpoint, whose secret cannot be shown again. To add"
        " another one, send the form again; over the API, use another Idempotency-Key."
    )


class WebhookAlreadyRotated(LineError):
    message = (
        "This request has already made a new secret, which cannot be shown again. If it is lost,"
        " rotate again with another Idempotency-Key."
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


class ExternalIdTaken(LineError):
    message = "Another {kind} of the company has the external_id {external_id!r}."


class JobNotOpen(LineError):
    message = "This job does not take applications because it is {status}."


class CameBeforeOpening(LineError):
    message = "Your place is from before this job took applications. Try again in a moment."


class FormChanged(LineError):
    message = _(
        "The questions of this job have changed meanwhile: they are now version {form_version}. "
        "Read them again, and check the answers."
    )


class ConsentsChanged(LineError):
    message = _(
        "The company has changed its privacy notice or consents since you read them. Read them"
        " again."
    )


class ConsentMissing(LineError):
    message = _("The company needs your agreement to this before you can apply.")


class RequirementNotMet(LineError):
    message = "{refusal}"


class AnswersNotChangeable(LineError):
    message = "{why}"


class QuestionNotAskable(LineError):
    message = "{why}"


class FurtherQuestionNotFound(LineError):
    message = _("There is no such open question.")


class DrawFull(LineError):
    message = (
        "{limit:,} people already take part in the draw by lot, and it takes no more. Apply after"
        " the draw."
    )


class DrawFullOfUnverified(DrawFull):
    message = (
        "Too many people in the draw by lot have not verified their email address yet, so no more"
        " of them can join now. Sign in with your address first, then apply."
    )


class MessagesNotPossible(LineError):
    message = _(
        "You can write to this person once they have proved their email address. Until then it may "
        "be someone else’s."
    )


class TooManyMessages(LineError):
    message = _(
        "That is enough messages for now: {limit} in a day is the most. Write again later, or say "
        "more in one message."
    )

    @property
    def wait(self) -> float:
        """Return the seconds to wait."""
        return float(self.facts["wait_seconds"])


class IllegalMove(LineError):
    message = "An application that is {status} cannot be {done}."

    def __init__(self, *, move: str, status: str | None) -> None:
        regular = move.lower().removesuffix("e") + "ed"
        super().__init__(done=_PARTICIPLES.get(move, regular), status=status or "new")
        self.facts = {"move": move, "status": status}


class DecisionTooLate(LineError):
    message = "This decision has already taken effect, so it cannot be undone."


class ImportUndoTooLate(LineError):
    message = "This import can no longer be undone: it is still running, or ended too long ago."


class TooManyAnnotations(LineError):
    message = "An application can have {limit} {things}. Remove one first."


class AssigneeNotFound(LineError):
    message = "This account is not a member of the company."


class MentionNotFound(LineError):
    message = _("You can mention only members of the company.")


class TooManyCriteria(LineError):
    message = _("A job can have {limit} criteria. Remove one first.")


class CriteriaChanged(LineError):
    message = _(
        "The criteria of this job are not those that you gave marks by. Read them again, and give"
        " one mark by each."
    )


class ReviewOver(LineError):
    message = _("Scores can be given and changed only while the person is in review.")


class PersonErased(LineError):
    message = "The data of this person was erased, so nothing can be attached to the application."


class NotReinstatable(LineError):
    message = "{why}"


class NotContestable(LineError):
    message = "{why}"


class AlreadyContested(LineError):
    message = "You have already asked the company to look at this again. You can ask only once."


class ContestTooLate(LineError):
    message = "It is too late to ask. You could do so for {days} days after the application ended."


class ContestNotFound(LineError):
    message = "There is no such request to look again."


class ContestAnswered(LineError):
    message = "This request to look again has already been answered."


class NotDeferrable(LineError):
    message = "{why}"


class NotPreacceptable(LineError):
    message = "{why}"


class NotPassable(LineError):
    message = "{why}"


class NotExtendable(LineError):
    message = "{why}"


class ReserveRefused(LineError):
    message = "{why}"


class NotMovable(LineError):
    message = "{why}"


class EmailNotRepeatable(LineError):
    message = "{why}"


class EmailNotFound(LineError):
    message = "There is no such email."


class EmailRepeatedTooSoon(LineError):
    message = "Emails to this person have just been resent. Wait a minute, then try again."

    @property
    def wait(self) -> float:
        """Return the seconds to wait."""
        return float(self.facts["wait_seconds"])


class IllegalJobMove(LineError):
    message = "A job that is {status} does not allow this change ({verb})."


class AcknowledgmentExpired(LineError):
    message = "The deadline to acknowledge this seat has passed."


class NotASandbox(LineError):
    message = "Only a sandbox has a clock that moves, and can be reset. Use one of its own keys."


class ClockMoving(LineError):
    message = (
        "The clock of this sandbox is still moving: deadlines before its time are being settled."
        " Try again in a moment."
    )


class ClockAtItsEnd(LineError):
    message = (
        "The clock of a sandbox can be at most {limit_days} days ahead. It is {days} days ahead"
        " now."
    )


class TooManyAdvances(LineError):
    message = "You have already moved this clock {limit} times, which is the limit."


class SandboxFull(LineError):
    message = "{why}"


class StaleVersion(LineError):
    message = "The job has changed since you read it. Read it again."


class NoSuchMoment(LineError):
    message = "The job did not exist at that time or seq."


class FutureMoment(LineError):
    message = "That time is in the future."


class UnknownPlace(LineError):
    message = "The feed has no such place."


class ReceiptNotReady(LineError):
    message = (
        "This line has a long history. {done:,} of {events:,} events are read for the receipt."
        " Ask for it again to continue."
    )


class LogReadersBusy(LineError):
    message = "Another long log of your company is being read. Try again when that has finished."


class VerifierBusy(LineError):
    message = "Other logs are being verified. Try again in a moment."


class LogArchived(LineError):
    message = (
        "The log of this job was moved to the archive on {on}. Whoever runs the site can put it "
        "back."
    )
