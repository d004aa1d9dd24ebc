"""Bodies of requests about applications."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers
from rest_framework.exceptions import ErrorDetail, ValidationError

from applicants.addresses import EMAIL_LENGTH
from applicants.models import NAME_LENGTH as PERSON_NAME_LENGTH
from pipeline.api.v1.fields import (
    Address,
    Choice,
    Flag,
    Letter,
    Metadata,
    Moment,
    Name,
    Shape,
    Text,
    external_id_field,
)
from pipeline.domain.contests import REASONS_OF, TEXT_LENGTH, ContestAnswer, ContestReason
from pipeline.domain.states import CHOSEN_REASONS, DECISIONS, Reason, ReinstatementReason
from pipeline.models import NOTE_LENGTH
from pipeline.wording.contest_words import ANSWER_WORDS

MOST_IMPORTED = 10_000


class OwnApplicationIn(Shape):
    """A person applies. The credential says who they are."""

    name = Name(max_length=PERSON_NAME_LENGTH, required=False)


class SubmissionIn(Shape):
    """A company submits a person, by name and address or by the id of one it already knows."""

    together = {
        "if": {"required": ["applicant_id"]},
        "then": {"not": {"required": ["email"]}},
        "else": {"required": ["name", "email"]},
    }

    name = Name(max_length=PERSON_NAME_LENGTH, required=False)
    email = Address(max_length=EMAIL_LENGTH, required=False)
    applicant_id = Text(required=False)
    external_id = external_id_field()
    metadata = Metadata(required=False)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Refuse a body that names nobody, or names a person in both ways."""
        if "applicant_id" in attrs:
            if "email" in attrs:
                _refuse_application_input("email", "Send either email or applicant_id.", "invalid")
            return attrs
        for name in ("name", "email"):
            if name not in attrs:
                _refuse_application_input(name, "This field is required.", "required")
        return attrs


class ImportedApplicationIn(Shape):
    """A person to import. A wrong name or address refuses this row alone."""

    name = Text(allow_blank=True)
    email = Text(allow_blank=True)
    external_id = external_id_field()
    metadata = Metadata(required=False)


class ApplicationsImportIn(Shape):
    """People to import, in the order in which they join the line."""

    applications = serializers.ListField(
        child=ImportedApplicationIn(), min_length=1, max_length=MOST_IMPORTED, allow_empty=False
    )


class UnprovedApplicationIn(Shape):
    """A person applies without a credential."""

    name = Name(max_length=PERSON_NAME_LENGTH)
    email = Address(max_length=EMAIL_LENGTH)


class ApplicationChangeIn(Shape):
    """Changes to a company's own id and texts of an application. Other fields stay as they are."""

    external_id = external_id_field()
    metadata = Metadata(required=False)


class DecisionIn(Shape):
    """A company's decision. `reason` is a code for the log, `note` free text beside it.

    Free text in `reason`, and a code in `reason_code`, are old forms.
    """

    deprecated = frozenset({"reason_code"})
    together = {
        "if": {"required": ["note"], "properties": {"note": {"type": "string", "minLength": 1}}},
        "then": {
            "properties": {"reason": {"enum": [*(code.value for code in CHOSEN_REASONS), "", None]}}
        },
    }

    outcome = Choice(choices=[outcome.value for outcome in DECISIONS])
    note = Text(max_length=NOTE_LENGTH, allow_blank=True, allow_null=True, required=False)
    reason = Text(max_length=NOTE_LENGTH, allow_blank=True, allow_null=True, required=False)
    reason_code = Choice(
        choices=[code.value for code in CHOSEN_REASONS], allow_null=True, required=False
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Separate the code (for the log) from the text (for the note)."""
        reason, code = attrs.pop("reason", None) or "", attrs.pop("reason_code", None)
        note = attrs.pop("note", None) or ""
        if code is None and reason in CHOSEN_REASONS:
            reason, code = "", reason
        if reason and note:
            why = "Must be one of the codes, since the text is in note."
            _refuse_application_input("reason", why, "invalid_choice")
        return attrs | {"reason": Reason(code) if code else None, "note": note or reason}


class DeferralIn(Shape):
    """A person wants no seat before a time; null cancels this."""

    not_before = Moment(allow_null=True)


class PreacceptanceIn(Shape):
    """A person accepts a seat that is offered before a time; null cancels this."""

    accept_until = Moment(allow_null=True)


class PassNextIn(Shape):
    """A person passes their next turn; false cancels this."""

    pass_next = Flag()


class ReinstatementIn(Shape):
    """A company gives a place back. `reason` is a code for the log, `note` free text beside it."""

    reason = Choice(choices=[code.value for code in ReinstatementReason])
    note = Text(max_length=NOTE_LENGTH, allow_blank=True, allow_null=True, required=False)


class ContestIn(Shape):
    """A person asks the company to look again. `text` says why, in the person's words."""

    text = Letter(max_length=TEXT_LENGTH)


class ContestAnswerIn(Shape):
    """A company's answer. `reason` is a code for the log, `text` what the applicant reads."""

    answer = Choice(choices=[each.value for each in ANSWER_WORDS])
    reason = Choice(choices=[each.value for answer in ANSWER_WORDS for each in REASONS_OF[answer]])
    text = Letter(max_length=TEXT_LENGTH, allow_blank=True, allow_null=True, required=False)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Refuse a reason that does not fit the answer."""
        answer, reason = ContestAnswer(attrs["answer"]), ContestReason(attrs["reason"])
        if reason not in REASONS_OF[answer]:
            fitting = ", ".join(REASONS_OF[answer])
            why = f"With the answer {answer}, the reason is one of {fitting}."
            _refuse_application_input("reason", why, "invalid_choice")
        return {"answer": answer, "reason": reason, "text": attrs.get("text") or ""}


def _refuse_application_input(name: str, why: str, code: str) -> None:
    raise ValidationError({name: [ErrorDetail(why, code)]})
