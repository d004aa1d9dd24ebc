"""Bodies of requests about applications."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Annotated, Any, TypedDict
from uuid import UUID

from django.utils.translation import gettext as _
from rest_framework import serializers
from rest_framework.exceptions import ErrorDetail, ValidationError
from rest_framework.response import Response

from applicants.addresses import EMAIL_LENGTH
from applicants.models import NAME_LENGTH as PERSON_NAME_LENGTH
from jobs.models import RESERVED_CODE_LENGTH
from jobs.policies import misses_left_under_policy
from pipeline.api.auth import Caller, CompanyCaller, PersonCaller
from pipeline.api.v1.fields import (
    Address,
    AnswerSet,
    Choice,
    Flag,
    Id,
    Letter,
    Line,
    Metadata,
    Name,
    Shape,
    Text,
    Whole,
    declare_external_id,
)
from pipeline.api.v1.outputs import ActorRef, Count, StandingOut, standing_out
from pipeline.attachments.uploads import holder_of
from pipeline.consents.agreements import agree
from pipeline.consents.versions import MOST_SHOWN
from pipeline.domain.contests import REASONS_OF, TEXT_LENGTH, ContestAnswer, ContestReason
from pipeline.domain.states import (
    CHOSEN_REASONS,
    DECISIONS,
    Outcome,
    Reason,
    ReinstatementReason,
    Status,
)
from pipeline.equality.answers import EqualityGiven
from pipeline.equality.questions import QUESTIONS
from pipeline.form.answers import Filled, HasForm, LatestAnswers, fill, read_latest
from pipeline.form.questions import AnswersRefused
from pipeline.form.versions import MOST_VERSIONS
from pipeline.models import NOTE_LENGTH, SENTENCE_LENGTH, SOURCE_LENGTH, Application, GivenAnswers
from pipeline.selectors.applications import (
    ApplicationFacts,
    SeenApplication,
    last_decisions,
    see_changed,
)
from pipeline.selectors.jobs import JobFacts
from pipeline.selectors.review import read_awaited_decisions
from pipeline.services.joining import Companion
from pipeline.sources.origin import DIRECT, Origin
from pipeline.texts.fields import UnusableText
from pipeline.texts.words import check_sentence
from pipeline.web.languages import offered
from pipeline.wording.events import ANSWER_WORDS

MOST_IMPORTED = 10_000


def declare_form_version() -> Whole:
    """Return the field for the version of a form that was answered."""
    return Whole(min_value=0, max_value=MOST_VERSIONS, required=False)


_NOT_ASKED = "The company does not ask this. `GET /jobs/{job_id}/privacy` has what it asks."


class UtmIn(Shape):
    """The UTM values of the link that led a person to the job."""

    source = Line(max_length=SOURCE_LENGTH, required=False, allow_blank=True)  # type: ignore[assignment]  # a field of the body
    medium = Line(max_length=SOURCE_LENGTH, required=False, allow_blank=True)
    campaign = Line(max_length=SOURCE_LENGTH, required=False, allow_blank=True)
    term = Line(max_length=SOURCE_LENGTH, required=False, allow_blank=True)
    content = Line(max_length=SOURCE_LENGTH, required=False, allow_blank=True)


def declare_source() -> Line:
    """Return the field for where a person came from."""
    return Line(max_length=SOURCE_LENGTH, required=False, allow_blank=True, allow_null=True)


def declare_consents() -> serializers.ListField:
    """Return the field for the versions of a notice and consents that a person agrees to."""
    return serializers.ListField(child=Id(), max_length=MOST_SHOWN, required=False)


def declare_group_code() -> Line:
    """Return the field by which a person says that they belong to the job's group."""
    return Line(max_length=RESERVED_CODE_LENGTH, required=False, allow_blank=True)


def declare_language() -> Choice:
    """Return the field for the language of emails about an application."""
    return Choice(choices=list(offered()), required=False)


def _declare_choice(code: str) -> Choice:
    return Choice(choices=list(QUESTIONS[code].choices), required=False)


class EqualOpportunityIn(Shape):
    """Choices of a person, who need not make any. The company sees totals only."""

    gender = _declare_choice("gender")
    age = _declare_choice("age")
    disability = _declare_choice("disability")
    minority = _declare_choice("minority")


class OwnApplicationIn(Shape):
    """A person applies. The credential says who they are."""

    name = Name(max_length=PERSON_NAME_LENGTH, required=False)
    answers = AnswerSet(required=False)
    form_version = declare_form_version()
    source = declare_source()  # type: ignore[assignment]  # a field of the body
    utm = UtmIn(required=False)
    consents = declare_consents()
    equal_opportunity = EqualOpportunityIn(required=False)
    group_code = declare_group_code()
    language = declare_language()


class TakenOverIn(Shape):
    """A person verifies an application, and may correct the name."""

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
    external_id = declare_external_id()
    metadata = Metadata(required=False)
    answers = AnswerSet(required=False)
    form_version = declare_form_version()
    source = declare_source()  # type: ignore[assignment]  # a field of the body
    utm = UtmIn(required=False)
    consents = declare_consents()
    language = declare_language()

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Refuse a body that names nobody, or names a person in both ways."""
        if "applicant_id" in attrs:
            if "email" in attrs:
                _refuse("email", _("Send either email or applicant_id."), "invalid")
            return attrs
        for name in ("name", "email"):
            if name not in attrs:
                _refuse(name, _("This field is required."), "required")
        return attrs


class ImportedApplicationIn(Shape):
    """A person to import. A wrong name or address refuses this row alone."""

    name = Text(allow_blank=True)
    email = Text(allow_blank=True)
    external_id = declare_external_id()
    metadata = Metadata(required=False)
    answers = AnswerSet(required=False)
    source = declare_source()  # type: ignore[assignment]  # a field of the body


class ApplicationsImportIn(Shape):
    """People to import, in the order in which they join the line."""

    applications = serializers.ListField(
        child=ImportedApplicationIn(), min_length=1, max_length=MOST_IMPORTED, allow_empty=False
    )


class UnprovedApplicationIn(Shape):
    """A person applies without a credential."""

    name = Name(max_length=PERSON_NAME_LENGTH)
    email = Address(max_length=EMAIL_LENGTH)
    answers = AnswerSet(required=False)
    form_version = declare_form_version()
    source = declare_source()  # type: ignore[assignment]  # a field of the body
    utm = UtmIn(required=False)
    consents = declare_consents()
    equal_opportunity = EqualOpportunityIn(required=False)
    group_code = declare_group_code()
    language = declare_language()


class AnswersIn(Shape):
    """Answers of a person on the waitlist, to all questions of the form."""

    answers = AnswerSet()
    form_version = declare_form_version()


class ApplicationChangeIn(Shape):
    """Changes to a company's own id and texts of an application. Other fields stay as they are."""

    external_id = declare_external_id()
    metadata = Metadata(required=False)


# The outcomes with which the applicant can be told something.
WITH_TEXT = (Outcome.REMOVED.value, Outcome.REJECTED.value)


class DecisionIn(Shape):
    """A company's decision. `reason` is a code for the log, `note` free text beside it.

    `text` is what the applicant reads with a removal or a rejection, on their page and in the
    email; {name}, {job} and {company} in it are filled in.

    Free text in `reason`, and a code in `reason_code`, are old forms.
    """

    deprecated = frozenset({"reason_code"})
    together = {
        "if": {"required": ["note"], "properties": {"note": {"type": "string", "minLength": 1}}},
        "then": {
            "properties": {"reason": {"enum": [*(code.value for code in CHOSEN_REASONS), "", None]}}
        },
        "dependentSchemas": {
            "close_job": {"properties": {"outcome": {"const": Outcome.HIRED.value}}},
        },
        "allOf": [
            {
                "if": {
                    "required": ["text"],
                    "properties": {"text": {"type": "string", "minLength": 1}},
                },
                "then": {"properties": {"outcome": {"enum": [*WITH_TEXT]}}},
            }
        ],
    }

    outcome = Choice(choices=[outcome.value for outcome in DECISIONS])
    note = Letter(max_length=NOTE_LENGTH, allow_blank=True, allow_null=True, required=False)
    reason = Letter(max_length=NOTE_LENGTH, allow_blank=True, allow_null=True, required=False)
    reason_code = Choice(
        choices=[code.value for code in CHOSEN_REASONS], allow_null=True, required=False
    )
    close_job = Flag(required=False)
    text = Letter(max_length=SENTENCE_LENGTH, allow_blank=True, allow_null=True, required=False)

    def validate_text(self, text: str | None) -> str:
        """Refuse a field that cannot be filled in."""
        try:
            check_sentence(text or "")
        except UnusableText as error:
            raise ValidationError(str(error), "invalid") from None
        return text or ""

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Separate the code (for the log) from the text (for the note)."""
        if attrs.get("text") and attrs["outcome"] not in WITH_TEXT:
            _refuse("text", _("Send it only with the outcome REMOVED or REJECTED."), "invalid")
        if "close_job" in attrs and attrs["outcome"] != Outcome.HIRED:
            _refuse("close_job", _("Send it only with the outcome HIRED."), "invalid")
        reason, code = attrs.pop("reason", None) or "", attrs.pop("reason_code", None)
        note = attrs.pop("note", None) or ""
        if code is None and reason in CHOSEN_REASONS:
            reason, code = "", reason
        if reason and note:
            why = _("Must be one of the codes, since the text is in note.")
            _refuse("reason", why, "invalid_choice")
        return attrs | {"reason": Reason(code) if code else None, "note": note or reason}


class ReinstatementIn(Shape):
    """A company gives a place back. `reason` is a code for the log, `note` free text beside it."""

    reason = Choice(choices=[code.value for code in ReinstatementReason])
    note = Letter(max_length=NOTE_LENGTH, allow_blank=True, allow_null=True, required=False)


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
            why = _("With the answer %(answer)s, the reason is one of %(codes)s.") % {
                "answer": answer,
                "codes": fitting,
            }
            _refuse("reason", why, "invalid_choice")
        return {"answer": answer, "reason": reason, "text": attrs.get("text") or ""}


def _refuse(name: str, why: str, code: str) -> None:
    raise ValidationError({name: [ErrorDetail(why, code)]})


# Responses about applications.


class JobRef(TypedDict):
    """The job of an application."""

    id: UUID
    title: str


class ApplicantRef(TypedDict):
    """An applicant, under the name given with this application."""

    id: UUID
    name: str
    email: str


class DecisionOut(TypedDict):
    """A company's decision. Only the company sees its note; the applicant reads its text."""

    outcome: Annotated[str, Outcome]
    reason: Annotated[str, Reason] | None
    note: str | None
    text: str | None
    actor: ActorRef
    seq: Count
    at: datetime


class GivenAnswersOut(TypedDict):
    """Answers by the keys of their questions. `number` counts the versions from 1."""

    form_version: Count
    number: Count
    given_at: datetime
    answers: dict[str, Any]


class _Person(TypedDict):
    """Person in a line, and how far from a seat."""

    id: UUID
    job: JobRef
    applicant: ApplicantRef
    status: Annotated[str, Status]
    verified: bool
    outcome: Annotated[str, Outcome] | None
    position: int | None
    people_waiting: Count
    decay_count: Count
    decays_left: Count | None


class ApplicationOut(_Person, StandingOut):
    """One person's application to one job, and its current state."""

    ended_at: datetime | None
    time_in_status_seconds: Count
    review_since: datetime | None
    review_due_at: datetime | None
    external_id: str | None
    metadata: dict[str, str] | None
    decision: DecisionOut | None
    decision_due_at: datetime | None
    answers: GivenAnswersOut | None
    source: str | None
    server_time: datetime


class TotalOut(TypedDict):
    """The number of matching applications, counted up to 10,000; `exact` if that is all of them."""

    count: Count
    exact: bool


class ApplicationsOut(TypedDict):
    """A page of a job's applications. It can be shorter than `limit` although others follow."""

    data: list[ApplicationOut]
    next_cursor: str | None
    total: TotalOut | None


def application_out(
    seen: SeenApplication,
    *,
    private: bool = True,
    decision: DecisionOut | None = None,
    decision_due_at: datetime | None = None,
    answers: GivenAnswersOut | None = None,
) -> ApplicationOut:
    """Return an application under the name given with it.

    Without `private`, for its applicant: without what the company attached or noted.
    """
    row = seen.application
    return {
        "id": row.id,
        "job": {"id": row.job_id, "title": seen.job_title},
        "applicant": {"id": row.applicant_id, "name": row.name, "email": seen.email},
        "status": str(row.status),
        "verified": row.is_verified,
        "outcome": row.outcome and str(row.outcome),
        "position": seen.position,
        "people_waiting": seen.people_waiting,
        "decay_count": row.decay_count,
        "decays_left": misses_left_under_policy(seen.max_decays, row.decay_count),
        **standing_out(row, seen.now),
        "ended_at": row.ended_at,
        "time_in_status_seconds": max(0, int((seen.now - row.status_since).total_seconds())),
        "review_since": seen.review_since,
        "review_due_at": seen.review_age.due_at if seen.review_age else None,
        "external_id": seen.external_id if private else None,
        "metadata": (seen.metadata or {}) if private else None,
        "decision": decision,
        "decision_due_at": decision_due_at,
        "answers": answers,
        "source": (seen.source or DIRECT) if private and seen.source != "" else None,
        "server_time": seen.now,
    }


def applications_out(
    rows: Sequence[SeenApplication],
    *,
    private: bool = True,
    expanded: Collection[str] = (),
) -> list[ApplicationOut]:
    """Return several applications, on request with decisions, when one takes effect, or answers.

    That takes two queries, one, and one.
    """
    ids = [seen.application.id for seen in rows]
    decisions: dict[UUID, DecisionOut] = {
        application_id: {
            "outcome": decision.outcome,
            "reason": decision.reason,
            "note": decision.note if private else None,
            "text": decision.text,
            "actor": {"kind": decision.actor_kind, "id": decision.actor_id if private else None},
            "seq": decision.seq,
            "at": decision.at,
        }
        for application_id, decision in (
            last_decisions(ids) if "decision" in expanded else {}
        ).items()
    }
    is_told = private and "decision_due_at" in expanded
    awaited = read_awaited_decisions(application_ids=ids) if is_told else {}
    latest = read_latest(ids) if "answers" in expanded else {}
    answers = {application_id: given_answers_out(each) for application_id, each in latest.items()}
    return [
        application_out(
            seen,
            private=private,
            decision=decisions.get(seen.application.id),
            decision_due_at=each.due_at if (each := awaited.get(seen.application.id)) else None,
            answers=answers.get(seen.application.id),
        )
        for seen in rows
    ]


def given_answers_out(given: LatestAnswers | GivenAnswers) -> GivenAnswersOut:
    """Return answers of an application."""
    return {
        "form_version": given.form_number,
        "number": given.number,
        "given_at": given.given_at,
        "answers": given.answers,
    }


def fill_form(
    job: HasForm, given: Mapping[str, Any], caller: Caller | None = None
) -> Filled | None:
    """Return the answers in a body, checked against the job's form.

    `caller`: who is signed in, and may have uploaded the files among them. Raises FormChanged,
    RequirementNotMet, ValidationError.
    """
    with answers_as_fields("answers"):
        return fill(
            job,
            given.get("answers"),
            number=given.get("form_version"),
            by_company=isinstance(caller, CompanyCaller),
            holder=_holder_of(caller),
        )


def read_companions(
    job: JobFacts, given: Mapping[str, Any], caller: Caller | None = None
) -> list[Companion]:
    """Return what is kept beside an application: where it came from, what was agreed to and chosen.

    Raises ConsentsChanged, ConsentMissing, ValidationError.
    """
    by_company = isinstance(caller, CompanyCaller)
    agreed = agree(job.shown_consents, given.get("consents", ()), by_company=by_company)
    return [read_origin(given), *agreed, _read_equality(job, given)]


def _read_equality(job: JobFacts, given: Mapping[str, Any]) -> EqualityGiven:
    choices: Mapping[str, str] = given.get("equal_opportunity", {})
    asked = job.equality_questions or ()
    refused = {code: [ErrorDetail(_NOT_ASKED, "invalid")] for code in choices if code not in asked}
    if refused:
        raise ValidationError({"equal_opportunity": refused})
    return EqualityGiven(choices)


def read_origin(given: Mapping[str, Any]) -> Origin:
    """Return where a person came from, as a body says."""
    utm = {f"utm_{name}": value for name, value in given.get("utm", {}).items()}
    return Origin.read({"source": given.get("source"), **utm})


def _holder_of(caller: Caller | None) -> bytes:
    if isinstance(caller, CompanyCaller):
        return holder_of("company", caller.company_id)
    return holder_of("person", caller.applicant_id) if isinstance(caller, PersonCaller) else b""


@contextmanager
def answers_as_fields(name: str) -> Iterator[None]:
    """Raise the errors of answers as those of the field with that name. Raises ValidationError."""
    try:
        yield
    except AnswersRefused as error:
        wrong = {key: [ErrorDetail(why, "invalid")] for key, why in error.wrong.items()}
        raise ValidationError({name: wrong}) from None


def answer_changed(
    facts: ApplicationFacts, application: Application, *, private: bool = False
) -> Response:
    """Return an application that a service has just changed."""
    seen = see_changed(facts, application)
    return Response(application_out(seen, private=private))
