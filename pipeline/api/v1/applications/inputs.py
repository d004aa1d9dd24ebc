"""Bodies of requests about applications."""

from __future__ import annotations

from typing import Any

from rest_framework.exceptions import ErrorDetail, ValidationError

from applicants.addresses import EMAIL_LENGTH
from applicants.models import NAME_LENGTH as PERSON_NAME_LENGTH
from pipeline.api.v1.fields import (
    Address,
    Choice,
    Line,
    Metadata,
    Moment,
    Shape,
    Text,
    external_id_field,
)
from pipeline.domain.states import CHOSEN_REASONS, DECISIONS, Reason, ReinstatementReason
from pipeline.models import NOTE_LENGTH


class OwnApplicationIn(Shape):
    """A person applies. The credential says who they are."""

    name = Line(max_length=PERSON_NAME_LENGTH, required=False)


class SubmissionIn(Shape):
    """A company submits a person, by name and address or by the id of one it already knows."""

    together = {
        "if": {"required": ["applicant_id"]},
        "then": {"not": {"required": ["email"]}},
        "else": {"required": ["name", "email"]},
    }

    name = Line(max_length=PERSON_NAME_LENGTH, required=False)
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


class UnprovedApplicationIn(Shape):
    """A person applies without a credential."""

    name = Line(max_length=PERSON_NAME_LENGTH)
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
    """A person wants no seat before a time; null if they want one again."""

    not_before = Moment(allow_null=True)


class PreacceptanceIn(Shape):
    """A person accepts a seat that is offered before a time; null if they take that back."""

    accept_until = Moment(allow_null=True)


class ReinstatementIn(Shape):
    """A company gives a place back. `reason` is a code for the log, `note` free text beside it."""

    reason = Choice(choices=[code.value for code in ReinstatementReason])
    note = Text(max_length=NOTE_LENGTH, allow_blank=True, allow_null=True, required=False)


def _refuse_application_input(name: str, why: str, code: str) -> None:
    raise ValidationError({name: [ErrorDetail(why, code)]})
