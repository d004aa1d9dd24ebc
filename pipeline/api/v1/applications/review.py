"""Endpoints for contests: people ask a company to look again, and it answers."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, TypedDict
from uuid import UUID

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from pipeline.api import parameters
from pipeline.api.auth import (
    authorize,
    authorize_company,
    caller_of,
    own_application,
    received_application,
    visible_application,
)
from pipeline.api.endpoint import Endpoint, answer_read, read_body
from pipeline.api.idempotency import idempotent_row_id
from pipeline.api.openapi.parameters import CONTEST_STATE, PAGED
from pipeline.api.openapi.schemas import Tag, describes, describes_move
from pipeline.api.parameters import page_cursor_place, page_limit, paginated
from pipeline.api.problem_types import EMAIL_NOT_REPEATABLE
from pipeline.api.v1.applications.shapes import (
    ApplicationOut,
    ContestAnswerIn,
    ContestIn,
    DecisionIn,
    ReinstatementIn,
    answer_changed,
)
from pipeline.api.v1.fields import Choice, Letter, Moment, Nothing, Shape
from pipeline.api.v1.outputs import Count, DetailOut, PageOf
from pipeline.domain.contests import ContestAnswer, ContestReason
from pipeline.domain.permissions import Action
from pipeline.domain.states import (
    ExceptionReason,
    IfLast,
    Move,
    Outcome,
    ReinstatementReason,
)
from pipeline.line.clock import read_company_clock
from pipeline.models import EXCEPTION_TEXT_LENGTH, Contest, EmailState
from pipeline.notifications.companies import repeat_email
from pipeline.selectors.emails import ShownEmail, read_email_page
from pipeline.selectors.pages import Page, encode_cursor
from pipeline.selectors.review import ContestState, read_company_contests
from pipeline.services.contests import answer_contest, contest
from pipeline.services.exceptions import move_ahead
from pipeline.services.leaving import reinstate, remove
from pipeline.services.turns import extend_offer


class ContestOut(TypedDict):
    """A request to look again at how an application ended, and its answer."""

    id: UUID
    application_id: UUID
    job_id: UUID
    seq: Count
    contested_seq: Count
    text: str
    asked_at: datetime
    answer_by: datetime
    is_overdue: bool
    answered_at: datetime | None
    answer: Annotated[str, ContestAnswer] | None
    reason: Annotated[str, ContestReason] | None
    answer_text: str | None
    answer_seq: Count | None
    server_time: datetime


class Contests(Endpoint):
    """`/applications/{id}/contests`"""

    @describes(
        "list_application_contests",
        Tag.APPLICATIONS,
        Action.READ_HISTORY,
        PageOf[ContestOut],
        parameters=PAGED,
        tagged=True,
    )
    def get(self, request: Request, application_id: UUID) -> Response:
        """List the requests to look again at an application, newest first."""
        facts = visible_application(caller_of(request), application_id, Action.READ_HISTORY)
        after: Any = page_cursor_place(request, datetime, UUID)
        company_id, now = facts.company_id, read_company_clock(facts.company_id).now
        page = read_company_contests(
            company_id,
            application_id=application_id,
            after=after,
            limit=page_limit(request),
        )
        return answer_read(request, _contests_out(page, now))

    @describes_move(
        "contest",
        Move.CONTEST,
        {201: ContestOut},
        takes=(ContestIn,),
        about="For a person whose application lapsed after missed deadlines, or was removed or"
        " rejected, within 30 days. Each end can be contested once. The application stays as it"
        " ended until the company answers, which it must do by `answer_by`.",
    )
    def post(self, request: Request, application_id: UUID) -> Response:
        """Ask the company to look again at how an application ended."""
        caller, facts = own_application(caller_of(request), application_id, Action.CONTEST)
        asked = contest(
            application_id=application_id,
            text=read_body(request, ContestIn)["text"],
            actor=caller.actor,
            request_id=idempotent_row_id(request),
        )
        now = read_company_clock(facts.company_id).now
        return Response(contest_out(asked, now), status=201)


class AnswerContest(Endpoint):
    """`/applications/{id}/contests/{id}/answer`"""

    @describes_move(
        "answer_contest",
        Move.ANSWER_CONTEST,
        ContestOut,
        takes=(ContestAnswerIn,),
        about="`UPHELD`: it stays as it ended. `CHANGED`: the person gets the former place back"
        " in the same change, and is offered a seat by the ordinary rule; nobody loses a seat. The"
        " applicant gets an email with `text`. `DUPLICATE_SUBMISSION` and `NOT_REINSTATABLE`: there"
        " is no place to give back; then the answer can be `UPHELD` with `NO_PLACE_LEFT`. "
        "Ideally, the answer comes from someone who did not make the decision.",
    )
    def post(self, request: Request, application_id: UUID, contest_id: UUID) -> Response:
        """Answer a request to look again at how an application ended."""
        caller, facts = received_application(
            caller_of(request), application_id, Action.ANSWER_CONTEST
        )
        answered = answer_contest(
            contest_id=contest_id,
            application_id=application_id,
            actor=caller.actor,
            request_id=idempotent_row_id(request),
            **read_body(request, ContestAnswerIn),
        )
        return Response(contest_out(answered, read_company_clock(facts.company_id).now))


class CompanyContests(Endpoint):
    """`/contests`"""

    @describes(
        "list_contests",
        Tag.APPLICATIONS,
        Action.READ_JOBS,
        PageOf[ContestOut],
        parameters=(CONTEST_STATE, *PAGED),
        tagged=True,
    )
    def get(self, request: Request) -> Response:
        """List the requests to look again at applications to the company, newest first."""
        caller = authorize_company(caller_of(request), Action.READ_JOBS)
        after: Any = page_cursor_place(request, datetime, UUID)
        now = read_company_clock(caller.company_id).now
        page = read_company_contests(
            caller.company_id,
            among=caller.jobs_allowing(Action.READ_JOB),
            state=parameters.choice(request, "state", ContestState),
            after=after,
            limit=page_limit(request),
        )
        return answer_read(request, _contests_out(page, now))


def _contests_out(page: Page[Contest], now: datetime) -> dict[str, Any]:
    return paginated(
        page,
        lambda each: contest_out(each, now),
        lambda each: encode_cursor(each.asked_at, each.id),
    )


def contest_out(row: Contest, now: datetime) -> ContestOut:
    """Return a contest as both sides see it. `now` is the time of the company's clock."""
    return {
        "id": row.id,
        "application_id": row.application_id,
        "job_id": row.job_id,
        "seq": row.seq,
        "contested_seq": row.contested_seq,
        "text": row.text,
        "asked_at": row.asked_at,
        "answer_by": row.answer_by,
        "is_overdue": row.is_overdue(now),
        "answered_at": row.answered_at,
        "answer": row.answer or None,
        "reason": row.reason or None,
        "answer_text": row.answer_text or None,
        "answer_seq": row.answer_seq,
        "server_time": now,
    }


# Endpoints for a company's decisions on applications.


class RemovalDecision(Endpoint):
    """`/applications/{id}/remove`"""

    @describes_move(
        "remove_application",
        Move.HIRE,  # the one of the three that most can refuse
        ApplicationOut,
        takes=(DecisionIn,),
        about="`close_job` says what follows if this fills the last position of the job: true"
        " closes it, false adds a position, which among members only an owner may do. It is needed"
        " then, and has no effect otherwise.",
    )
    def post(self, request: Request, application_id: UUID) -> Response:
        """End an application as REMOVED, REJECTED or HIRED."""
        caller, facts = received_application(caller_of(request), application_id, Action.DECIDE)
        given = read_body(request, DecisionIn)
        closes = given.get("close_job")
        if closes is False:
            authorize(caller, Action.CHANGE_RULES)
        application = remove(
            application_id=application_id,
            outcome=Outcome(given["outcome"]),
            actor=caller.actor,
            reason=given["reason"],
            note=given["note"],
            text=given.get("text", ""),
            request_id=idempotent_row_id(request),
            if_last=IfLast.of(close_job=closes),
        )
        return answer_changed(facts, application, private=True)


class ExtensionIn(Shape):
    """A company gives a person with an open offer until a later time."""

    acknowledge_by = Moment()


class OfferExtension(Endpoint):
    """`/applications/{id}/extend`"""

    @describes_move(
        "extend_offer",
        Move.EXTEND,
        ApplicationOut,
        takes=(ExtensionIn,),
        about="`acknowledge_by` is the new deadline: later than the present one and at most 30 days"
        " ahead. The company can extend an offer five times. The people behind wait for the seat"
        " until then, so the job's public facts count it. The person gets an email with the new"
        " deadline. Repeating it is harmless.",
    )
    def post(self, request: Request, application_id: UUID) -> Response:
        """Give a person more time to acknowledge the offered seat."""
        caller, facts = received_application(caller_of(request), application_id, Action.DECIDE)
        until = read_body(request, ExtensionIn)["acknowledge_by"]
        application = extend_offer(
            application_id=application_id, acknowledge_by=until, actor=caller.actor
        )
        return answer_changed(facts, application, private=True)


class ExceptionIn(Shape):
    """A company moves a person to the front. `text` is what the people passed read."""

    reason = Choice(choices=[code.value for code in ExceptionReason])
    text = Letter(
        max_length=EXCEPTION_TEXT_LENGTH, allow_blank=True, allow_null=True, required=False
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Require a text where the reason alone says nothing."""
        if attrs["reason"] == ExceptionReason.OTHER and not attrs.get("text"):
            raise ValidationError({"text": _("With the reason OTHER, say what it is.")})
        return attrs


class MoveAhead(Endpoint):
    """`/applications/{id}/move-ahead`"""

    @describes_move(
        "move_ahead",
        Move.MOVE_AHEAD,
        ApplicationOut,
        takes=(ExceptionIn,),
        about="An exception to the order: a verified person on the waitlist is first in line now,"
        " and gets the next seat by the ordinary rule. Everyone passed gets an email with the"
        " reason and `text`, which is required for the reason `OTHER`; it never names the person."
        " The job's public facts count it permanently, and a job can have 100.",
    )
    def post(self, request: Request, application_id: UUID) -> Response:
        """Move one person to the front of the line, and tell everyone passed."""
        caller, facts = received_application(caller_of(request), application_id, Action.DECIDE)
        given = read_body(request, ExceptionIn)
        application = move_ahead(
            application_id=application_id,
            reason=ExceptionReason(given["reason"]),
            text=given.get("text") or "",
            actor=caller.actor,
            request_id=idempotent_row_id(request),
        )
        return answer_changed(facts, application, private=True)


class ReinstatementDecision(Endpoint):
    """`/applications/{id}/reinstate`"""

    @describes_move(
        "reinstate_application",
        Move.REINSTATE,
        ApplicationOut,
        takes=(ReinstatementIn,),
        about="The person returns to the place before the last miss, which no longer counts,"
        " without a cool-down, and is offered a seat by the ordinary rule: at once if one is"
        " free."
        " Nobody loses a seat. Possible after a miss, until the person is offered a seat again or"
        " the application ends in another way, and while the job is not closed. While the"
        " application is live, a repetition before another miss gets 200 and changes nothing:"
        " it never undoes an earlier miss. `DUPLICATE_SUBMISSION`: the person has another live"
        " application to the job; `NOT_REINSTATABLE`: a later one that has ended.",
    )
    def post(self, request: Request, application_id: UUID) -> Response:
        """Give a person back the place they had before their last missed deadline."""
        caller, facts = received_application(caller_of(request), application_id, Action.REINSTATE)
        given = read_body(request, ReinstatementIn)
        application = reinstate(
            application_id=application_id,
            reason=ReinstatementReason(given["reason"]),
            actor=caller.actor,
            note=given.get("note") or "",
            request_id=idempotent_row_id(request),
        )
        return answer_changed(facts, application, private=True)


# Endpoints for the emails about an application: their states, and sending one again.


AGAIN = gettext_lazy("The email is on its way again.")


class EmailOut(TypedDict):
    """An email to the applicant, without its text."""

    id: UUID
    kind: str
    title: str
    seq: Count
    repetition: Count
    state: Annotated[str, EmailState]
    problem: str | None
    problem_detail: str | None
    may_repeat: bool
    created_at: datetime
    state_at: datetime


class ApplicationEmails(Endpoint):
    """`/applications/{id}/emails`"""

    @describes(
        "list_application_emails",
        Tag.APPLICATIONS,
        Action.READ_JOB,
        PageOf[EmailOut],
        parameters=PAGED,
        tagged=True,
        about="For the company. `problem` is a code: the mail server's number, or `OVER`,"
        " `UNREACHABLE`, `TOO_MANY`, `UNSUPPORTED`, `BAD_ADDRESS`, `REFUSED`, `BOUNCED` or"
        " `COMPLAINED`.",
    )
    def get(self, request: Request, application_id: UUID) -> Response:
        """List the emails about an application and their states, newest first."""
        received_application(caller_of(request), application_id, Action.READ_JOB)
        after: Any = page_cursor_place(request, datetime, UUID)
        page = read_email_page(application_id, after=after, limit=page_limit(request))
        rows = paginated(page, email_out, lambda sent: encode_cursor(sent.row.created_at, sent.id))
        return answer_read(request, rows)


class SendEmailAgain(Endpoint):
    """`/applications/{id}/emails/{id}/send-again`"""

    @describes(
        "send_email_again",
        Tag.APPLICATIONS,
        Action.DECIDE,
        {202: DetailOut},
        takes=(Nothing,),
        refuses=(EMAIL_NOT_REPEATABLE,),
        about="It is composed again and appears in the list as a separate email. Up to five"
        " times for each email, and three in a minute for each application (429).",
    )
    def post(self, request: Request, application_id: UUID, email_id: UUID) -> Response:
        """Send an email about an application again."""
        caller, _facts = received_application(caller_of(request), application_id, Action.DECIDE)
        read_body(request, Nothing)
        repeat_email(
            application_id=application_id,
            email_id=email_id,
            producer=caller.producer,
            request_id=idempotent_row_id(request),
        )
        return Response({"detail": str(AGAIN)}, status=202)


def email_out(email: ShownEmail) -> EmailOut:
    """Return an email as the company's programs see it."""
    row = email.row
    return {
        "id": row.id,
        "kind": row.kind,
        "title": email.title,
        "seq": row.seq,
        "repetition": row.number,
        "state": row.state,
        "problem": row.problem or None,
        "problem_detail": email.problem or None,
        "may_repeat": email.may_repeat,
        "created_at": row.created_at,
        "state_at": row.state_at,
    }
