"""Misses and removals that can be reversed: the last one, and the place that it cost."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from django.utils.translation import gettext_lazy as _

from applicants.models import ERASED
from pipeline.domain.errors import AlreadyApplied, NotReinstatable
from pipeline.domain.states import Outcome, Status
from pipeline.models import Application, ApplicationRow
from tasks.sql.prepared import PreparedStatement

# The place in a row of the log, `stood`, of someone who waited. A person who was offered a seat on
# applying had none: theirs is the one at which they would have joined, by the rules of that time.
_STOOD = """
       coalesce((stood.data ->> 'ticket')::bigint,
                (stood.data ->> 'next_ticket')::bigint + (stood.data ->> 'decay_count')::bigint * (
                    SELECT (rules.data -> 'policy' ->> 'penalty_places')::bigint
                    FROM pipeline_event rules
                    WHERE rules.job_id = own.job_id AND rules.application_id IS NULL
                      AND rules.seq < stood.seq
                    ORDER BY rules.seq DESC LIMIT 1
                )),
       coalesce((stood.data ->> 'tie')::bigint, stood.seq)
"""

# The place of a person before the seat that they hold.
READ_PLACE_BEFORE_OFFER = PreparedStatement(f"""
SELECT {_STOOD}
FROM pipeline_application own
JOIN LATERAL (
    SELECT seq, data FROM pipeline_event
    WHERE application_id = own.id AND (to_status = 'WAITLIST' OR from_status IS NULL)
    ORDER BY seq DESC LIMIT 1
) stood ON true
WHERE own.id = %(application)s
""")

# The last miss of an application, unless it was given back: its seq and deadline, and the place
# before it. Also whether the miss was given back, and what forbids that: the person was erased, has
# another live application or applied again later.
_MISS = f"""
SELECT miss.seq, miss.effective_at, {_STOOD},
       coalesce(miss.event = 'REINSTATED', false),
       starts_with(person.email, %(erased)s),
       EXISTS (
           SELECT FROM pipeline_application other
           WHERE other.applicant_id = own.applicant_id AND other.job_id = own.job_id
             AND other.id <> own.id AND other.status <> 'INACTIVE'
       ),
       EXISTS (
           SELECT FROM pipeline_application other
           WHERE other.applicant_id = own.applicant_id AND other.job_id = own.job_id
             AND other.applied_at > own.applied_at AND other.verify_by IS NULL
       )
FROM pipeline_application own
JOIN applicants_applicant person ON person.id = own.applicant_id
LEFT JOIN LATERAL (
    SELECT seq, event, effective_at FROM pipeline_event
    WHERE application_id = own.id AND event IN ('DECAYED', 'LAPSED', 'REINSTATED')
    ORDER BY seq DESC LIMIT 1
) miss ON true
LEFT JOIN LATERAL (
    SELECT seq, data FROM pipeline_event
    WHERE application_id = own.id AND seq < miss.seq
      AND (to_status = 'WAITLIST' OR from_status IS NULL)
    ORDER BY seq DESC LIMIT 1
) stood ON true
WHERE own.id = %(application)s
"""


DECIDED = (Outcome.REMOVED, Outcome.REJECTED)


class LastMiss(NamedTuple):
    """Last miss of an application and the place before it; None if it has not missed anything.

    For an application that the company ended: that decision instead. `is_given_back`: the company
    has already taken that miss back.
    """

    seq: int | None
    deadline: datetime | None
    ticket: int | None
    tie: int | None
    is_given_back: bool
    is_erased: bool
    is_live_elsewhere: bool
    has_applied_again: bool

    def refuse_giving_back(self) -> None:
        """Refuse to give the place back. Raises AlreadyApplied, NotReinstatable."""
        if self.seq is None:
            raise NotReinstatable(why=_("This application has missed no deadline."))
        if self.is_erased:
            raise NotReinstatable(why=_("The data of this person was erased."))
        if self.is_live_elsewhere:
            raise AlreadyApplied
        if self.has_applied_again:
            raise NotReinstatable(
                why=_("The person has applied to this job again since. That application counts.")
            )


READ_MISS = PreparedStatement(_MISS, LastMiss)
# The same about the company's decision that ended an application.
READ_REMOVAL = PreparedStatement(
    _MISS.replace("'DECAYED', 'LAPSED', 'REINSTATED'", "'REMOVED'"), LastMiss
)


def read_last_miss(application: Application | ApplicationRow) -> LastMiss:
    """Return the last miss of an application, or the decision that removed or rejected it."""
    statement = READ_REMOVAL if application.outcome in DECIDED else READ_MISS
    (miss,) = statement.all(application=application.id, erased=ERASED)
    return miss


def read_waiting_place(application: Application) -> tuple[int, int]:
    """Return the ticket and tie that a person with an offered seat had, or would have had."""
    [(ticket, tie)] = READ_PLACE_BEFORE_OFFER.all(application=application.id)
    return ticket, tie


def has_just_missed(application: Application | ApplicationRow) -> bool:
    """Tell whether a person's last event is a miss.

    Waiting after an offer means that they missed it, or passed a turn since. The end of the
    cool-down is kept until the next offer, or until the place is given back.
    """
    back_in_line = (
        application.status == Status.WAITLIST
        and application.promoted_at is not None
        and application.eligible_at is not None
    )
    return (back_in_line and application.passed_at is None) or application.outcome == Outcome.LAPSED
