"""The shapes of what comes in."""

from __future__ import annotations

from typing import Any

from rest_framework.exceptions import ErrorDetail, ValidationError

from applicants.models import EMAIL_LENGTH
from applicants.models import NAME_LENGTH as PERSON_NAME_LENGTH
from jobs.models import (
    DESCRIPTION_LENGTH,
    LOCATION_LENGTH,
    MAX_CAPACITY,
    TITLE_LENGTH,
    JobStatus,
    Scope,
)
from jobs.models import NAME_LENGTH as KEY_NAME_LENGTH
from jobs.policies import limits_of
from pipeline.api.v1.serializers.fields import Address, Flag, Line, Shape, Text, Whole, Word, Words
from pipeline.domain.states import DECISIONS, Reason
from pipeline.models import NOTE_LENGTH


def _whole(policy_field: str, **options: Any) -> Whole:
    low, high = limits_of(policy_field)
    return Whole(min_value=low, max_value=high, required=False, **options)


class Nothing(Shape):
    """The body of a request that says everything by its address: empty, or `{}`."""


class PolicyIn(Shape):
    """The fields of a policy that are to differ from what they are."""

    acknowledgment_window_seconds = _whole("acknowledgment_window_seconds")
    acknowledge_first_seat = Flag(required=False)
    penalty_places = _whole("penalty_places")
    max_decays = _whole("max_decays", allow_null=True)
    cooldown_seconds = _whole("cooldown_seconds")


class JobIn(Shape):
    """A new job."""

    title = Line(max_length=TITLE_LENGTH)
    description = Text(max_length=DESCRIPTION_LENGTH, allow_blank=True, required=False)
    location = Line(max_length=LOCATION_LENGTH, allow_blank=True, required=False)
    capacity = Whole(min_value=1, max_value=MAX_CAPACITY)
    policy = PolicyIn(required=False)
    status = Word(choices=[JobStatus.DRAFT, JobStatus.OPEN], default=JobStatus.OPEN)


class JobChangeIn(Shape):
    """What is to be different about a job. Fields that are not named stay as they are."""

    title = Line(max_length=TITLE_LENGTH, required=False)
    description = Text(max_length=DESCRIPTION_LENGTH, allow_blank=True, required=False)
    location = Line(max_length=LOCATION_LENGTH, allow_blank=True, required=False)
    capacity = Whole(min_value=1, max_value=MAX_CAPACITY, required=False)
    policy = PolicyIn(required=False)


class OwnApplicationIn(Shape):
    """A person applies: the credential says who they are."""

    name = Line(max_length=PERSON_NAME_LENGTH, required=False)


class SubmissionIn(Shape):
    """A company submits somebody: by name and address, or by the id of one it knows already."""

    name = Line(max_length=PERSON_NAME_LENGTH, required=False)
    email = Address(max_length=EMAIL_LENGTH, required=False)
    applicant_id = Text(required=False)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Refuse what names nobody, or names somebody twice."""
        if "applicant_id" in attrs:
            if "email" in attrs:
                _refuse("email", "Send either email or applicant_id.", "invalid")
            return attrs
        for name in ("name", "email"):
            if name not in attrs:
                _refuse(name, "This field is required.", "required")
        return attrs


class UnprovedApplicationIn(Shape):
    """Somebody applies who only says who they are."""

    name = Line(max_length=PERSON_NAME_LENGTH)
    email = Address(max_length=EMAIL_LENGTH)


class CodeRequestIn(Shape):
    """The address that is to be proved."""

    email = Address(max_length=EMAIL_LENGTH)


class CodeIn(Shape):
    """An address, and the code that was sent to it; blanks between its digits do not matter."""

    email = Address(max_length=EMAIL_LENGTH)
    code = Line(max_length=20)

    def validate_code(self, value: str) -> str:
        """The code without blanks."""
        return "".join(value.split())


class ApiKeyIn(Shape):
    """A new key: a name by which people tell it from others, and what it may do."""

    name = Line(max_length=KEY_NAME_LENGTH)
    scopes = Words(child=Word(choices=Scope.values), allow_empty=False, default=Scope.values)

    def validate_name(self, value: str) -> str:
        """The name, of characters that can be shown."""
        if not value.isprintable():
            raise ValidationError([ErrorDetail("Not a valid string.", "invalid")])
        return value


class DecisionIn(Shape):
    """A company's decision. `reason` is one of the codes, or free text, which is kept apart."""

    outcome = Word(choices=[outcome.value for outcome in DECISIONS])
    reason = Text(max_length=NOTE_LENGTH, allow_blank=True, allow_null=True, required=False)
    reason_code = Word(choices=[code.value for code in Reason], allow_null=True, required=False)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Sort out what is a code (for the log) and what is text (for the note)."""
        reason, code = attrs.pop("reason", None) or "", attrs.pop("reason_code", None)
        if code is None and reason in list(Reason):
            reason, code = "", reason
        return attrs | {"reason": Reason(code) if code else None, "note": reason}


def _refuse(name: str, why: str, code: str) -> None:
    raise ValidationError({name: [ErrorDetail(why, code)]})
