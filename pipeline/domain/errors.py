"""Refusals by the rules of the line, with their data.

Their HTTP form is in `pipeline.api.problem_types`.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from django.utils.formats import date_format
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext_lazy, pgettext

from pipeline.domain.amounts import Amount

if TYPE_CHECKING:
    from django.utils.functional import _StrPromise

# What cannot be done to an application, by the move. Translators: {status} is a code, like
# WAITLIST.
_CANNOT: dict[str, _StrPromise] = {
    "SEAT": _("An application that is {status} cannot be seated."),
    "OFFER": _("An application that is {status} cannot be offered."),
    "QUEUE": _("An application that is {status} cannot be queued."),
    "VERIFY": _("An application that is {status} cannot be verified."),
    "EXPIRE": _("An application that is {status} cannot be expired."),
    "PROMOTE": _("An application that is {status} cannot be promoted."),
    "ACKNOWLEDGE": _("An application that is {status} cannot be acknowledged."),
    "EXTEND": _("An application that is {status} cannot be extended."),
    "DECAY": _("An application that is {status} cannot be decayed."),
    "LAPSE": _("An application that is {status} cannot be lapsed."),
    "REINSTATE": _("An application that is {status} cannot be reinstated."),
    "PLACE": _("An application that is {status} cannot be placed."),
    "MOVE_AHEAD": _("An application that is {status} cannot be moved ahead."),
    "DEFER": _("An application that is {status} cannot be deferred."),
    "PREACCEPT": _("An application that is {status} cannot be preaccepted."),
    "ASK_PASS": _("An application that is {status} cannot be passed."),
    "PASS": _("An application that is {status} cannot be passed."),
    "WITHDRAW": _("An application that is {status} cannot be withdrawn."),
    "REMOVE": _("An application that is {status} cannot be removed."),
    "REJECT": _("An application that is {status} cannot be rejected."),
    "HIRE": _("An application that is {status} cannot be hired."),
    "CLOSE_OUT": _("An application that is {status} cannot be closed out."),
    "CONTEST": _("An application that is {status} cannot be contested."),
    "ANSWER_CONTEST": _("An application that is {status} cannot be looked at again."),
    "CHANGE_ANSWERS": _("An application that is {status} cannot be answered differently."),
    "ASK_QUESTION": _("An application that is {status} cannot be asked one more question."),
    "NOTE_GROUP": _("An application that is {status} cannot be confirmed for a group or declined."),
    "RENAME": _("An application that is {status} cannot be renamed."),
}


class LineError(Exception):
    """Refusal by the rules of the line. `facts` holds its data by name.

    Its text is made when it is read, in the reader's language. `why`: the reason, where the class
    has none; a lazy one has places for the other facts.
    """

    message: str | _StrPromise = _("The line refuses this.")

    def __init__(self, **facts: Any) -> None:
        super().__init__()
        self.facts = facts

    def __str__(self) -> str:
        shown = {
            name: Amount(value) if type(value) is int else value
            for name, value in self.facts.items()
        }
        text = self.facts.get("why", self.message)
        return str(text) if type(text) is str and "why" in shown else text.format(**shown)

    def __reduce__(self) -> tuple[Any, ...]:
        """Have a copy in another process made from the facts."""
        return partial(type(self), **self.facts), ()


class JobNotFound(LineError):
    message = _("There is no such job.")


class ApplicationNotFound(LineError):
    message = _("There is no such application.")


class ApplicantNotFound(LineError):
    message = _("There is no such applicant.")


class StoredFileNotFound(LineError):
    message = _("There is no such file.")


class ImportFileRefused(LineError):
    message = "{what}"


class FilesFull(LineError):
    message = _(
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
    message = ngettext_lazy(
        "An application can have {limit} file. Remove one first.",
        "An application can have {limit} files. Remove one first.",
        "limit",
    )


class TooManyUploads(LineError):
    message = ngettext_lazy(
        "{limit} of your uploads waits for an application. Use or remove one first.",
        "{limit} of your uploads wait for an application. Use or remove one first.",
        "limit",
    )


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
    message = _("There is no such schedule.")


class TaskTypeNotFound(LineError):
    message = _("There is no such type of background work.")


class PlannedSeatsNotFound(LineError):
    message = _("There are no such planned seats: they were cancelled, or all have opened.")


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
        "All positions of this job are filled ({positions}). Raise the number of positions to"
        " hire more people."
    )


class PositionsBelowHired(LineError):
    message = _(
        "This job has hired {hired} already, so it cannot have {positions} to fill. Enter {hired}"
        " or more."
    )


class TooManyPlannedSeats(LineError):
    message = ngettext_lazy(
        "A job can have {limit} plan for its seats. Cancel one that is not needed.",
        "A job can have {limit} plans for its seats. Cancel one that is not needed.",
        "limit",
    )


class WebhookNotFound(LineError):
    message = _("There is no such webhook endpoint.")


class WebhookDeliveryNotFound(LineError):
    message = _("There is no such delivery.")


class WebhookUrlRefused(LineError):
    message = "{why}"


class WebhookAlreadyMade(LineError):
    message = _(
        "This request has already added an endpoint, whose secret cannot be shown again. To add"
        " another one, send the form again; over the API, use another Idempotency-Key."
    )


class WebhookAlreadyRotated(LineError):
    message = _(
        "This request has already made a new secret, which cannot be shown again. If it is lost,"
        " rotate again with another Idempotency-Key."
    )


class TooManyWebhooks(LineError):
    message = ngettext_lazy(
        "A company can have {limit} webhook endpoint. Delete one that is not needed.",
        "A company can have {limit} webhook endpoints. Delete one that is not needed.",
        "limit",
    )


class WebhookOff(LineError):
    message = _("This endpoint is switched off. Switch it on first.")


class AlreadyApplied(LineError):
    message = _("This applicant already has a live application to this job.")


class AlreadyDecided(LineError):
    message = _(
        "The company has already decided on this applicant. Only the company can add them again."
    )


class ExternalIdTaken(LineError):
    """`kind`: job or application."""

    message = _("Another application of the company has the external_id {external_id!r}.")
    of_job = _("Another job of the company has the external_id {external_id!r}.")

    def __str__(self) -> str:
        text = self.of_job if self.facts["kind"] == "job" else self.message
        return text.format(external_id=self.facts["external_id"])


class JobNotOpen(LineError):
    message = _("This job does not take applications because it is {status}.")


class CameBeforeOpening(LineError):
    message = _("Your place is from before this job took applications. Try again in a moment.")


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
    message = ngettext_lazy(
        "{limit} person already takes part in the draw by lot, and it takes no more. Apply after"
        " the draw.",
        "{limit} people already take part in the draw by lot, and it takes no more. Apply after"
        " the draw.",
        "limit",
    )


class DrawFullOfUnverified(DrawFull):
    message = _(
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
    def __init__(self, *, move: str, status: str | None) -> None:
        super().__init__(move=move, status=status)

    def __str__(self) -> str:
        # Translators: in the place of a status: the application does not exist yet.
        status = self.facts["status"] or pgettext("status", "new")
        return _CANNOT[self.facts["move"]].format(status=status)


class DecisionTooLate(LineError):
    message = _("This decision has already taken effect, so it cannot be undone.")


class ImportUndoTooLate(LineError):
    message = _("This import can no longer be undone: it is still running, or ended too long ago.")


_TOO_MANY: dict[str, _StrPromise] = {
    "notes": ngettext_lazy(
        "An application can have {limit} note. Remove one first.",
        "An application can have {limit} notes. Remove one first.",
        "limit",
    ),
    "tags": ngettext_lazy(
        "An application can have {limit} tag. Remove one first.",
        "An application can have {limit} tags. Remove one first.",
        "limit",
    ),
    "links": ngettext_lazy(
        "An application can have {limit} link. Remove one first.",
        "An application can have {limit} links. Remove one first.",
        "limit",
    ),
}


class TooManyAnnotations(LineError):
    """`things`: notes, tags or links."""

    def __str__(self) -> str:
        return _TOO_MANY[self.facts["things"]].format(limit=self.facts["limit"])


class AssigneeNotFound(LineError):
    message = _("This account is not a member of the company.")


class MentionNotFound(LineError):
    message = _("You can mention only members of the company.")


class TooManyCriteria(LineError):
    message = ngettext_lazy(
        "A job can have {limit} criterion. Remove one first.",
        "A job can have {limit} criteria. Remove one first.",
        "limit",
    )


class CriteriaChanged(LineError):
    message = _(
        "The criteria of this job are not those that you gave marks by. Read them again, and give"
        " one mark by each."
    )


class ReviewOver(LineError):
    message = _("Scores can be given and changed only while the person is in review.")


class PersonErased(LineError):
    message = _(
        "The data of this person was erased, so nothing can be attached to the application."
    )


class NotReinstatable(LineError):
    message = "{why}"


class NotContestable(LineError):
    message = "{why}"


class AlreadyContested(LineError):
    message = _("You have already asked the company to look at this again. You can ask only once.")


class ContestTooLate(LineError):
    message = ngettext_lazy(
        "It is too late to ask. You could do so for {days} day after the application ended.",
        "It is too late to ask. You could do so for {days} days after the application ended.",
        "days",
    )


class ContestNotFound(LineError):
    message = _("There is no such request to look again.")


class ContestAnswered(LineError):
    message = _("This request to look again has already been answered.")


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
    message = _("There is no such email.")


class EmailRepeatedTooSoon(LineError):
    message = _("Emails to this person have just been resent. Wait a minute, then try again.")

    @property
    def wait(self) -> float:
        """Return the seconds to wait."""
        return float(self.facts["wait_seconds"])


class IllegalJobMove(LineError):
    message = _("A job that is {status} does not allow this change ({verb}).")


class AcknowledgmentExpired(LineError):
    message = _("The deadline to acknowledge this seat has passed.")


class NotASandbox(LineError):
    message = _("Only a sandbox has a clock that moves, and can be reset. Use one of its own keys.")


class ClockMoving(LineError):
    message = _(
        "The clock of this sandbox is still moving: deadlines before its time are being settled."
        " Try again in a moment."
    )


class ClockAtItsEnd(LineError):
    message = ngettext_lazy(
        "The clock of a sandbox can be at most {limit_days} day ahead.",
        "The clock of a sandbox can be at most {limit_days} days ahead.",
        "limit_days",
    )
    now = ngettext_lazy("It is {days} day ahead now.", "It is {days} days ahead now.", "days")

    def __str__(self) -> str:
        return f"{super().__str__()} {self.now.format(days=Amount(self.facts['days']))}"


class TooManyAdvances(LineError):
    message = ngettext_lazy(
        "You have already moved this clock {limit} time, which is the limit.",
        "You have already moved this clock {limit} times, which is the limit.",
        "limit",
    )


class SandboxFull(LineError):
    message = "{why}"


class StaleVersion(LineError):
    message = _("The job has changed since you read it. Read it again.")


class NoSuchMoment(LineError):
    message = _("The job did not exist at that time or seq.")


class FutureMoment(LineError):
    message = _("That time is in the future.")


class UnknownPlace(LineError):
    message = _("The feed has no such place.")


class ReceiptNotReady(LineError):
    message = _(
        "This line has a long history. {done} of {events} events are read for the receipt."
        " Ask for it again to continue."
    )


class LogReadersBusy(LineError):
    message = _("Another long log of your company is being read. Try again when that has finished.")


class VerifierBusy(LineError):
    message = _("Other logs are being verified. Try again in a moment.")


class LogArchived(LineError):
    message = _(
        "The log of this job was moved to the archive on {on}. Whoever runs the site can put it "
        "back."
    )

    def __str__(self) -> str:
        # Translators: a date as Django writes it: 5 March 2026.
        return self.message.format(on=date_format(self.facts["on"], pgettext("date", "j F Y")))
