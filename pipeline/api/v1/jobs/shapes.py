"""Bodies of requests about jobs."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any, TypedDict, cast
from uuid import UUID

from django.utils.translation import gettext as _
from rest_framework.exceptions import ValidationError

from jobs.models import (
    DESCRIPTION_LENGTH,
    LOCATION_LENGTH,
    MAX_CAPACITY,
    MAX_POSITIONS,
    TITLE_LENGTH,
    ZONE_LENGTH,
    Job,
    JobPosting,
    JobStatus,
)
from jobs.policies import Policy, policy_limits
from jobs.postings import (
    CURRENCIES,
    DEPARTMENT_LENGTH,
    PAY_FACTS,
    EmploymentType,
    PayPeriod,
    Workplace,
    countries,
    languages,
    pay_refusals,
    plain_amount,
)
from jobs.quiet_hours import quiet_hours_refusal
from jobs.review_clock import TARGET_SECONDS
from pipeline.api.v1.fields import (
    Amount,
    Choice,
    Code,
    Flag,
    Letter,
    Line,
    Metadata,
    Moment,
    Name,
    Shape,
    Whole,
    declare_external_id,
)
from pipeline.api.v1.jobs.questions import declare_questions
from pipeline.api.v1.outputs import Count
from pipeline.domain.states import GroupKind
from pipeline.figures.job import JobTotals
from pipeline.form.questions import Kind, Question
from pipeline.form.versions import questions_of
from pipeline.models import JobReference
from tasks import time_zones


def _policy_integer(policy_field: str, **options: Any) -> Whole:
    low, high = policy_limits(policy_field)
    return Whole(min_value=low, max_value=high, required=False, **options)


def _review_target() -> Whole:
    low, high = TARGET_SECONDS
    return Whole(min_value=low, max_value=high, allow_null=True, required=False)


class PolicyIn(Shape):
    """Changes to a policy. Fields that are not named stay as they are."""

    acknowledgment_window_seconds = _policy_integer("acknowledgment_window_seconds")
    acknowledge_first_seat = Flag(required=False)
    penalty_places = _policy_integer("penalty_places")
    max_decays = _policy_integer("max_decays", allow_null=True)
    cooldown_seconds = _policy_integer("cooldown_seconds")
    max_passes = _policy_integer("max_passes")
    quiet_from = Line(max_length=5, allow_null=True, required=False)
    quiet_to = Line(max_length=5, allow_null=True, required=False)
    quiet_weekends = Flag(required=False)
    quiet_time_zone = Line(max_length=ZONE_LENGTH, required=False)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Check the quiet hours, whose two ends are given together. Raises ValidationError."""
        ends = [name for name in ("quiet_from", "quiet_to") if name in attrs]
        if len(ends) == 1:
            raise ValidationError({ends[0]: _("Give quiet_from and quiet_to together.")})
        if wrong := quiet_hours_refusal(attrs.get("quiet_from"), attrs.get("quiet_to")):
            raise ValidationError({"quiet_to": wrong})
        if not time_zones.is_known(attrs.get("quiet_time_zone", "UTC")):
            why = _("Must be the name of a time zone, like Europe/Paris.")
            raise ValidationError({"quiet_time_zone": why})
        return attrs


def _optional(choices: Sequence[str]) -> Choice:
    return Choice(choices=choices, allow_null=True, required=False)


def _positions_field() -> Whole:
    return Whole(min_value=1, max_value=MAX_POSITIONS, allow_null=True, required=False)


class PayIn(Shape):
    """A range of pay: one amount or two, in units of the currency, for a period."""

    minimum = Amount(allow_null=True, required=False)
    maximum = Amount(allow_null=True, required=False)
    currency = Code(known=lambda: CURRENCIES, like="EUR")
    period = Choice(choices=PayPeriod.values)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Check that there is an amount, and the order of two. Raises ValidationError."""
        if wrong := pay_refusals(pay_columns(attrs)):
            raise ValidationError({name.removeprefix("pay_"): wrong[name] for name in wrong})
        return attrs


class _FactsIn(Shape):
    """Facts of a posting. Null: the company does not say."""

    employment_type = _optional(EmploymentType.values)
    workplace = _optional(Workplace.values)
    country = Code(known=countries, like="NL", allow_null=True, required=False)
    department = Name(
        max_length=DEPARTMENT_LENGTH, allow_blank=True, allow_null=True, required=False
    )
    language = Code(known=languages, like="en", allow_null=True, required=False)
    pay = PayIn(allow_null=True, required=False)


class JobIn(_FactsIn):
    """A new job."""

    title = Name(max_length=TITLE_LENGTH)
    description = Letter(max_length=DESCRIPTION_LENGTH, allow_blank=True, required=False)
    location = Name(max_length=LOCATION_LENGTH, allow_blank=True, required=False)
    capacity = Whole(min_value=1, max_value=MAX_CAPACITY)
    policy = PolicyIn(required=False)
    external_id = declare_external_id()
    metadata = Metadata(required=False)
    draw_at = Moment(required=False)
    positions_to_fill = _positions_field()
    opens_at = Moment(allow_null=True, required=False)
    closes_at = Moment(allow_null=True, required=False)
    review_target_seconds = _review_target()
    questions = declare_questions(required=False)
    status = Choice(choices=[JobStatus.DRAFT, JobStatus.OPEN], default=JobStatus.OPEN)


class JobChangeIn(_FactsIn):
    """Changes to a job. Fields that are not named stay as they are."""

    title = Name(max_length=TITLE_LENGTH, required=False)
    description = Letter(max_length=DESCRIPTION_LENGTH, allow_blank=True, required=False)
    location = Name(max_length=LOCATION_LENGTH, allow_blank=True, required=False)
    capacity = Whole(min_value=1, max_value=MAX_CAPACITY, required=False)
    policy = PolicyIn(required=False)
    external_id = declare_external_id()
    metadata = Metadata(required=False)
    draw_at = Moment(required=False)
    positions_to_fill = _positions_field()
    opens_at = Moment(allow_null=True, required=False)
    closes_at = Moment(allow_null=True, required=False)
    review_target_seconds = _review_target()


# Responses about jobs: the opening, its policy and its numbers.


class PolicyOut(TypedDict):
    """The rules of a job's line, and their version."""

    acknowledgment_window_seconds: Count
    acknowledge_first_seat: bool
    penalty_places: Count
    max_decays: Count | None
    cooldown_seconds: Count
    max_passes: Count
    quiet_from: str | None
    quiet_to: str | None
    quiet_weekends: bool
    quiet_time_zone: str
    version: Count


class CompanyRef(TypedDict):
    """The company that a job belongs to."""

    id: UUID
    name: str


class MustOut(TypedDict):
    """A condition on an answer: without it, the person cannot apply, and reads `refusal`."""

    answer: bool | None
    minimum: float | str | None
    maximum: float | str | None
    choices: list[str]
    refusal: str


class QuestionOut(TypedDict):
    """A question of a job's form. Only the company sees `in_summary` and `searchable`."""

    key: str
    kind: Annotated[str, Kind]
    label: str
    help: str
    required: bool
    minimum: float | str | None
    maximum: float | str | None
    unit: str
    choices: list[str]
    other: bool
    file_kinds: list[str]
    file_count: Count
    must: MustOut | None
    in_summary: bool | None
    searchable: bool | None


class PayOut(TypedDict):
    """A range of pay, in units of the currency."""

    minimum: str | None
    maximum: str | None
    currency: str
    period: Annotated[str, PayPeriod]


class ReserveOut(TypedDict):
    """Seats of a job that are reserved for a group, for a reason that everyone reads."""

    reserved_seats: Count
    reserved_seats_free: Count
    reserved_for: Annotated[str, GroupKind] | None
    reserved_reason: str
    reserved_until: datetime | None


def reserve_out(job: Job) -> ReserveOut:
    """Return the reserved seats of a job. Its posting must have been read with it."""
    return {
        "reserved_seats": job.reserved_seats,
        "reserved_seats_free": job.reserved_seats_free,
        "reserved_for": job.reserved_for or None,
        "reserved_reason": job.posting.reserved_sentence if job.reserved_seats else "",
        "reserved_until": job.reserved_until,
    }


class JobOut(ReserveOut):
    """An opening: its seats, its line in numbers, its policy and its questions."""

    id: UUID
    company: CompanyRef
    title: str
    description: str
    location: str
    employment_type: Annotated[str, EmploymentType] | None
    workplace: Annotated[str, Workplace] | None
    country: str | None
    department: str | None
    language: str | None
    pay: PayOut | None
    status: Annotated[str, JobStatus]
    capacity: Count
    active_count: Count
    pending_count: Count
    waitlist_count: Count
    unverified_count: Count | None
    seats_free: Count
    policy: PolicyOut
    seq: Count | None
    external_id: str | None
    metadata: dict[str, str] | None
    draw_at: datetime | None
    drawn_at: datetime | None
    positions_to_fill: Count | None
    hired_count: Count | None
    opens_at: datetime | None
    closes_at: datetime | None
    review_target_seconds: Count | None
    form_version: Count
    questions: list[QuestionOut]
    opened_at: datetime | None
    closed_at: datetime | None
    created_at: datetime
    updated_at: datetime


class ConversionOut(TypedDict):
    """Conversion of applications to seats and hires. Shares are from 0 to 1."""

    applied: Count
    seated: Count
    hired: Count
    applied_to_seated: float | None
    seated_to_hired: float | None
    applied_to_hired: float | None


class SummaryOut(TypedDict):
    """A job in numbers; null without data."""

    job_id: UUID
    counts_by_status: dict[str, int]
    counts_by_outcome: dict[str, int]
    average_seconds_to_promotion: float | None
    median_seconds_to_promotion: float | None
    p90_seconds_to_promotion: float | None
    average_seconds_to_acknowledge: float | None
    median_seconds_to_acknowledge: float | None
    p90_seconds_to_acknowledge: float | None
    decay_events: Count
    lapse_events: Count
    acknowledgment_rate: float | None
    conversion: ConversionOut
    churn: float | None
    seats_freed: Count
    seat_idle_seconds: Count
    seat_idle_while_waiting_seconds: Count
    server_time: datetime


def questions_out(questions: Sequence[Question], *, private: bool = True) -> list[QuestionOut]:
    """Return the questions of a form; without `private`, as everyone may read them."""
    hidden = {} if private else {"in_summary": None, "searchable": None}
    return [cast(QuestionOut, question.as_json() | hidden) for question in questions]


def job_out(
    job: Job, *, private: bool = True, questions: Sequence[Question] | None = None
) -> JobOut:
    """Return a job. Its posting, company and reference must have been read with it.

    `questions`: those of its form, if they have been read. Without `private`, an application from
    an unverified address changes nothing in it.
    """
    posting = job.posting
    shows_hired = private or job.positions_to_fill is not None
    reference: JobReference | None = getattr(job, "reference", None) if private else None
    changed = job.last_event_at if private else job.closed_at or job.opened_at or job.created_at
    return {
        "id": job.id,
        "company": {"id": job.company_id, "name": job.company.name},
        "title": posting.title,
        "description": posting.description,
        "location": posting.location,
        **facts_out(posting),
        "status": job.status,
        "capacity": job.capacity,
        "active_count": job.active_count,
        "pending_count": job.pending_count,
        "waitlist_count": job.people_waiting,
        "unverified_count": job.unverified_count if private else None,
        "seats_free": job.seats_free,
        "policy": policy_out(job.policy, job.policy_version),
        "seq": job.seq if private else None,
        "external_id": reference.external_id if reference else None,
        "metadata": (reference.metadata if reference else {}) if private else None,
        "draw_at": job.draw_at,
        "drawn_at": job.drawn_at,
        "positions_to_fill": job.positions_to_fill,
        "hired_count": job.hired_count if shows_hired else None,
        "opens_at": job.opens_at,
        "closes_at": job.closes_at,
        **reserve_out(job),
        "review_target_seconds": posting.review_target_seconds,
        "form_version": job.form_version,
        "questions": questions_out(
            questions_of(job.id, job.form_version) if questions is None else questions,
            private=private,
        ),
        "opened_at": job.opened_at,
        "closed_at": job.closed_at,
        "created_at": job.created_at,
        "updated_at": max(changed, posting.updated_at),
    }


class FactsOut(TypedDict):
    """Facts of a posting; null: the company does not say."""

    employment_type: Annotated[str, EmploymentType] | None
    workplace: Annotated[str, Workplace] | None
    country: str | None
    department: str | None
    language: str | None
    pay: PayOut | None


def facts_out(posting: JobPosting) -> FactsOut:
    """Return the facts of a posting."""
    return {
        "employment_type": posting.employment_type or None,
        "workplace": posting.workplace or None,
        "country": posting.country or None,
        "department": posting.department or None,
        "language": posting.language or None,
        "pay": pay_out(posting),
    }


def pay_columns(pay: dict[str, Any] | None) -> dict[str, Any]:
    """Return the columns of a posting for a range of pay in a request; without one, empty ones."""
    none = {"minimum": None, "maximum": None, "currency": "", "period": ""}
    given = none | (pay or {})
    return {name: given[name.removeprefix("pay_")] for name in PAY_FACTS}


def pay_out(posting: JobPosting) -> PayOut | None:
    """Return a posting's range of pay."""
    if not posting.has_pay:
        return None
    low, high = posting.pay_minimum, posting.pay_maximum
    return {
        "minimum": None if low is None else plain_amount(low),
        "maximum": None if high is None else plain_amount(high),
        "currency": posting.pay_currency,
        "period": posting.pay_period,
    }


def policy_out(policy: Policy, version: int) -> PolicyOut:
    """Return a policy and its version."""
    return cast(PolicyOut, policy.values() | {"version": version})


def summary_out(job_id: UUID, figures: JobTotals) -> SummaryOut:
    """Return a job in numbers."""
    promotion, acknowledge = figures.to_promotion, figures.to_acknowledge
    conversion = figures.conversion
    return {
        "job_id": job_id,
        "counts_by_status": dict(figures.by_status),
        "counts_by_outcome": dict(figures.by_outcome),
        "average_seconds_to_promotion": promotion.average,
        "median_seconds_to_promotion": promotion.median,
        "p90_seconds_to_promotion": promotion.p90,
        "average_seconds_to_acknowledge": acknowledge.average,
        "median_seconds_to_acknowledge": acknowledge.median,
        "p90_seconds_to_acknowledge": acknowledge.p90,
        "decay_events": figures.decay_events,
        "lapse_events": figures.lapse_events,
        "acknowledgment_rate": figures.acknowledgment_rate,
        "conversion": {
            "applied": conversion.applied,
            "seated": conversion.seated,
            "hired": conversion.hired,
            "applied_to_seated": conversion.applied_to_seated,
            "seated_to_hired": conversion.seated_to_hired,
            "applied_to_hired": conversion.applied_to_hired,
        },
        "churn": figures.churn,
        "seats_freed": figures.seats_freed,
        "seat_idle_seconds": figures.seat_idle_seconds,
        "seat_idle_while_waiting_seconds": figures.seat_idle_while_waiting_seconds,
        "server_time": figures.now,
    }
