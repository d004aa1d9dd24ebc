"""Endpoints for jobs: list, create, read, change, open, pause, close, and numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID

from rest_framework.request import Request
from rest_framework.response import Response

from jobs.models import Job, JobStatus
from jobs.policies import Policy
from pipeline.api import parameters
from pipeline.api.auth import (
    CompanyCaller,
    authorize,
    authorize_company,
    caller_of,
    can_read_job,
    can_see_job,
    own_job,
)
from pipeline.api.conditional import answer_if_changed, required_etags, strong_etag
from pipeline.api.endpoint import Endpoint, answer_page, answer_read, read_body
from pipeline.api.idempotency import idempotent_row_id
from pipeline.api.openapi.parameters import (
    EXTERNAL_ID,
    IF_MATCH,
    JOB_STATUS,
    METADATA,
    PAGED,
    SEARCH,
    describe_fields,
)
from pipeline.api.openapi.schemas import Tag, describes
from pipeline.api.parameters import page_cursor_id, page_limit, paginated
from pipeline.api.problem_types import (
    CLOCK_MOVING,
    EXTERNAL_ID_TAKEN,
    INVALID_SCHEDULE,
    INVALID_TRANSITION,
    POSITIONS_BELOW_HIRED,
    PRECONDITION_FAILED,
    PRECONDITION_REQUIRED,
    RESERVE_REFUSED,
    SANDBOX_FULL,
)
from pipeline.api.problems import PreconditionFailed, PreconditionRequired
from pipeline.api.v1.fields import Nothing, read_reference
from pipeline.api.v1.jobs.questions import built_questions
from pipeline.api.v1.jobs.shapes import JobChangeIn, JobIn, JobOut, job_out, pay_columns
from pipeline.api.v1.outputs import PageOf
from pipeline.domain.errors import JobNotFound
from pipeline.domain.permissions import Action
from pipeline.domain.states import CLOSES_AT, OPENS_AT, POSITIONS
from pipeline.form.versions import current_questions
from pipeline.selectors.jobs import JobFacts, read_company_jobs, read_job, read_open_jobs
from pipeline.selectors.pages import Page, encode_cursor
from pipeline.services.jobs import (
    JobChanges,
    Posting,
    Version,
    close_job,
    create_job,
    delete_draft,
    open_job,
    pause_job,
    update_job,
)

_POSTING = ("title", "description", "location", "review_target_seconds")
# Facts that are null in the API and empty in the row if the company does not say.
_FACTS = ("employment_type", "workplace", "country", "department", "language")
_HIRING = (POSITIONS, OPENS_AT, CLOSES_AT)
# Fields that only an owner may change, and only with If-Match.
_GUARDED = ("capacity", "policy", "draw_at", *_HIRING)

# The shared part of the descriptions of opening, pausing and closing.
_CLOSING: dict[str, Any] = {
    "takes": (Nothing,),
    "headers": ("ETag",),
    "refuses": (INVALID_TRANSITION, CLOCK_MOVING),
    "about": "Repeating it is harmless. A closed job cannot be opened or paused, and a draft"
    " cannot be paused or closed.",
}
_PAUSING = _CLOSING | {"refuses": (*_CLOSING["refuses"], SANDBOX_FULL)}
_OPENING = _PAUSING | {"refuses": (*_PAUSING["refuses"], INVALID_SCHEDULE)}


class Jobs(Endpoint):
    """`/jobs`"""

    @describes(
        "list_jobs",
        Tag.JOBS,
        Action.SEE_JOBS,
        PageOf[JobOut],
        parameters=(JOB_STATUS, SEARCH, EXTERNAL_ID, METADATA, *PAGED, describe_fields(JobOut)),
        about="Only its own company sees a job here that is not OPEN, and can filter by"
        " `external_id` and `metadata`.",
    )
    def get(self, request: Request) -> Response:
        """Return the open jobs, or for a company all of its own jobs."""
        caller, status = caller_of(request), parameters.choice(request, "status", JobStatus)
        search, limit = parameters.search(request), page_limit(request)
        after = page_cursor_id(request)
        page: Page[Job] = Page([], more=False)
        if isinstance(caller, CompanyCaller):
            member = authorize_company(caller, Action.READ_JOBS)
            page = read_company_jobs(
                member.company_id,
                status=status,
                search=search,
                external_id=parameters.text(request, "external_id"),
                metadata=parameters.metadata(request),
                among=member.jobs_allowing(Action.READ_APPLICATION),
                after=after,
                limit=limit,
            )
        elif status in (None, JobStatus.OPEN) and not getattr(caller, "is_test", False):
            page = read_open_jobs(search=search, after=after, limit=limit)
        forms = current_questions(page.rows)

        def shape(job: Job) -> JobOut:
            private = can_read_job(caller, job)
            return job_out(job, private=private, questions=forms.get(job.id, ()))

        rows = paginated(page, shape, lambda job: encode_cursor(str(job.id)))
        return answer_page(request, rows)

    @describes(
        "create_job",
        Tag.JOBS,
        Action.CREATE_JOB,
        JobOut,
        status=201,
        takes=(JobIn,),
        headers=("ETag",),
        refuses=(EXTERNAL_ID_TAKEN, INVALID_SCHEDULE, SANDBOX_FULL),
        about="With `draw_at`, the order of everyone who applies until then is drawn by lot. With"
        " `opens_at`, a draft opens by itself; with `closes_at`, the job closes by itself."
        " `questions` are the job's form, as in `POST /jobs/{job_id}/form`: version 1 of it.",
    )
    def post(self, request: Request) -> Response:
        """Create a job of the caller's company: 201."""
        caller = authorize_company(caller_of(request), Action.CREATE_JOB)
        given = read_body(request, JobIn)
        job_id = create_job(
            company_id=caller.company_id,
            posting=Posting(**_posting(given)),
            policy=Policy(**given.get("policy", {})),
            open_now=given["status"] == JobStatus.OPEN,
            capacity=given["capacity"],
            draw_at=given.get("draw_at"),
            hiring=_hiring(given),
            actor=caller.actor,
            job_id=idempotent_row_id(request),
            reference=read_reference(given),
            questions=built_questions(given.get("questions", [])),
        )
        return _answer(job_id, status=201, headers={"Location": f"{request.path}/{job_id}"})


class OneJob(Endpoint):
    """`/jobs/{id}`"""

    without_facts = frozenset({"GET", "HEAD"})

    @describes(
        "get_job",
        Tag.JOBS,
        Action.SEE_JOBS,
        JobOut,
        tagged=True,
        parameters=(describe_fields(JobOut),),
    )
    def get(self, request: Request, job_id: UUID) -> Response:
        """Return a job with its ETag, or 304 if the client already has it."""
        caller, job = caller_of(request), read_job(job_id)
        if not can_see_job(caller, job):
            raise JobNotFound
        if can_read_job(caller, job):
            return answer_if_changed(request, job_out(job), _etag(job))
        return answer_read(request, job_out(job, private=False))

    @describes(
        "change_job",
        Tag.JOBS,
        Action.EDIT_POSTING,
        JobOut,
        takes=(JobChangeIn,),
        parameters=(IF_MATCH,),
        headers=("ETag",),
        refuses=(
            EXTERNAL_ID_TAKEN,
            INVALID_SCHEDULE,
            INVALID_TRANSITION,
            PRECONDITION_FAILED,
            PRECONDITION_REQUIRED,
            POSITIONS_BELOW_HIRED,
            RESERVE_REFUSED,
            CLOCK_MOVING,
            SANDBOX_FULL,
        ),
        about="Raising the capacity promotes at once; lowering it evicts nobody. 409"
        " `INVALID_TRANSITION`: capacity and policy of a closed job cannot change; the rest can."
        " `draw_at` and `opens_at` can change only in a draft.",
    )
    def patch(self, request: Request, job_id: UUID) -> Response:
        """Change a job, all or nothing. Refused if the job has changed since the client read it."""
        caller, facts = own_job(caller_of(request), job_id, Action.EDIT_POSTING)
        given = read_body(request, JobChangeIn)
        guarded = any(name in given for name in _GUARDED)
        if guarded:
            authorize(caller, Action.CHANGE_RULES)
        seen = _version_seen(request, facts, needed=guarded)
        change = JobChanges(
            capacity=given.get("capacity"),
            policy=given.get("policy", {}),
            posting=_posting(given),
            reference=read_reference(given),
            draw_at=given.get("draw_at"),
            hiring=_hiring(given),
        )
        update_job(job_id=job_id, changes=change, actor=caller.actor, seen=seen)
        return _answer(job_id)

    @describes(
        "delete_draft",
        Tag.JOBS,
        Action.DELETE_DRAFT,
        None,
        status=204,
        refuses=(INVALID_TRANSITION,),
    )
    def delete(self, request: Request, job_id: UUID) -> Response:
        """Delete a job that was never opened: 204. Its log keeps ids and numbers, no text."""
        caller, _facts = own_job(caller_of(request), job_id, Action.DELETE_DRAFT)
        delete_draft(job_id=job_id, actor=caller.actor)
        return Response(status=204)


class OpenJob(Endpoint):
    """`/jobs/{id}/open`"""

    @describes("open_job", Tag.JOBS, Action.OPEN_OR_PAUSE_JOB, JobOut, **_OPENING)
    def post(self, request: Request, job_id: UUID) -> Response:
        """Open a draft, which publishes its questions, or resume a paused job."""
        return _change_status(request, job_id, Action.OPEN_OR_PAUSE_JOB, open_job)


class PauseJob(Endpoint):
    """`/jobs/{id}/pause`"""

    @describes("pause_job", Tag.JOBS, Action.OPEN_OR_PAUSE_JOB, JobOut, **_PAUSING)
    def post(self, request: Request, job_id: UUID) -> Response:
        """Pause a job: it takes no applications and promotes nobody."""
        return _change_status(request, job_id, Action.OPEN_OR_PAUSE_JOB, pause_job)


class CloseJob(Endpoint):
    """`/jobs/{id}/close`"""

    @describes("close_job", Tag.JOBS, Action.CLOSE_JOB, JobOut, **_CLOSING)
    def post(self, request: Request, job_id: UUID) -> Response:
        """Close a job. This is final. Among members, only owners may do it."""
        return _change_status(request, job_id, Action.CLOSE_JOB, close_job)


def _change_status(
    request: Request, job_id: UUID, action: Action, verb: Callable[..., None]
) -> Response:
    caller, _facts = own_job(caller_of(request), job_id, action)
    read_body(request, Nothing)
    verb(job_id=job_id, actor=caller.actor)
    return _answer(job_id)


def _version_seen(request: Request, facts: JobFacts, *, needed: bool) -> Version | None:
    tags = required_etags(request)
    if tags is None and needed:
        raise PreconditionRequired
    if tags is None or tags == ["*"]:
        return None
    if strong_etag(facts.seq, facts.posting_version) not in tags:
        raise PreconditionFailed
    return Version(facts.seq, facts.posting_version)


def _posting(given: dict[str, Any]) -> dict[str, Any]:
    texts = {name: given[name] for name in _POSTING if name in given}
    texts |= {name: given[name] or "" for name in _FACTS if name in given}
    return texts | (pay_columns(given["pay"]) if "pay" in given else {})


def _hiring(given: dict[str, Any]) -> dict[str, Any]:
    return {name: given[name] for name in _HIRING if name in given}


def _answer(job_id: UUID, *, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    job = read_job(job_id)
    return Response(job_out(job), status, headers={"ETag": _etag(job)} | (headers or {}))


def _etag(job: Job) -> str:
    return strong_etag(job.seq, job.posting.version)
