"""Table of permissions: every action and who may take it. Pure.

The API, the pages and the notifications rely on this table alone, and the API's documentation and
docs/permissions.md are made from it. Ownership is checked separately: anything that belongs to
someone else is treated as not found. So is what a member with single jobs cannot see.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from enum import Enum, auto
from uuid import UUID

from jobs.models import JobRole, Role, Scope
from pipeline.domain.states import Status

_RANKS, _JOB_RANKS = list(Role), list(JobRole)
# The applications that a role on a job shows; what else is in its line does not exist for it.
SEEN_STATUSES: dict[JobRole, frozenset[Status]] = {
    JobRole.INTERVIEWER: frozenset({Status.ACTIVE}),  # people in seats, until they are decided on
    JobRole.HIRING_MANAGER: frozenset(Status),
}


class Action(Enum):
    """Action of a caller, if the table allows it."""

    SEE_JOBS = auto()
    APPLY = auto()
    UPLOAD = auto()
    SIGN_IN = auto()
    USE_OWN_ACCOUNT = auto()
    CONFIRM_SEAT = auto()
    DEFER = auto()
    PREACCEPT = auto()
    PASS_TURN = auto()
    WITHDRAW = auto()
    CONTEST = auto()
    CHANGE_ANSWERS = auto()
    CHANGE_FILES = auto()
    TAKE_OVER = auto()
    READ_APPLICATION = auto()
    READ_HISTORY = auto()
    READ_APPLICANT = auto()
    VERIFY_LOG = auto()
    READ_COMPANY = auto()
    READ_FEED = auto()
    READ_JOBS = auto()
    READ_JOB = auto()
    CREATE_JOB = auto()
    EDIT_POSTING = auto()
    EDIT_FORM = auto()
    OPEN_OR_PAUSE_JOB = auto()
    DELETE_DRAFT = auto()
    SUBMIT_APPLICATION = auto()
    IMPORT_APPLICATIONS = auto()
    DECIDE = auto()
    EDIT_APPLICATION = auto()
    REINSTATE = auto()
    ANSWER_CONTEST = auto()
    ASK_QUESTION = auto()
    ANNOTATE = auto()
    SCORE = auto()
    CHANGE_REVIEW = auto()
    EDIT_TEXTS = auto()
    CHANGE_SENDER = auto()
    MAKE_REPORT = auto()
    MANAGE_TASKS = auto()
    MANAGE_SCHEDULES = auto()
    MANAGE_WEBHOOKS = auto()
    MANAGE_CHAT = auto()
    CHANGE_RULES = auto()
    EDIT_CAREERS = auto()
    CHANGE_PRIVACY = auto()
    CLOSE_JOB = auto()
    ADVANCE_CLOCK = auto()
    CREATE_SANDBOX = auto()
    RESET_SANDBOX = auto()
    MAKE_PORTAL_TOKENS = auto()
    READ_OWN_REQUESTS = auto()
    MANAGE_KEYS = auto()
    MANAGE_TEAM = auto()


@dataclass(frozen=True, slots=True)
class Rule:
    """Roles, scopes and persons that may take an action."""

    role: Role | None = None  # the lowest role of a member; None: no member
    job_role: JobRole | None = None  # the lowest role on the one job; None: not by such a role
    scope: Scope | None = None  # a key's scope; None: no key
    # A key that is limited to jobs. None: on these jobs; True: anywhere, but it is shown only what
    # is of these jobs; False: never.
    limited_key: bool | None = None
    applicant: bool = False  # a signed-in applicant, on their own data
    portal: bool = False  # a company's own site, for one of its applicants
    public: bool = False  # anyone, even without a credential
    every_member: bool = False  # also members with single jobs, who are shown only these
    is_read: bool = False  # refused like something that does not exist

    @property
    def roles(self) -> list[Role]:
        """Return the roles whose members may act on everything of the company."""
        return [] if self.role is None else _RANKS[_RANKS.index(self.role) :]

    @property
    def job_roles(self) -> list[JobRole]:
        """Return the roles on a job whose members may act on that job."""
        return [] if self.job_role is None else _JOB_RANKS[_JOB_RANKS.index(self.job_role) :]

    def allows_member(self, role: Role | None, job_role: JobRole | None = None) -> bool:
        """Return whether a member may act, by the company-wide role or that on the one job.

        A role includes those below it.
        """
        return self.every_member or role in self.roles or job_role in self.job_roles

    def allows_key(self, scopes: Collection[str]) -> bool:
        """Return whether a key with these scopes may act. `write` includes `read`, and no other."""
        if self.scope is None:
            return False
        return self.scope in scopes or (self.scope is Scope.READ and Scope.WRITE in scopes)

    def allows_limited_key(self, scopes: Collection[str], *, is_on_job: bool) -> bool:
        """Return whether a key that is limited to jobs may act, on one of them or elsewhere."""
        reaches = is_on_job if self.limited_key is None else self.limited_key
        return (reaches or self.public) and self.allows_key(scopes)


_PUBLIC = Rule(Role.VIEWER, scope=Scope.READ, applicant=True, public=True)
_APPLICANT = Rule(applicant=True)
_APPLICANT_ANYWHERE = Rule(applicant=True, portal=True)  # here, or on the company's own site
_BOTH_SIDES = Rule(Role.VIEWER, scope=Scope.READ, applicant=True, is_read=True)
_BOTH_SIDES_ANYWHERE = replace(_BOTH_SIDES, portal=True)
_VIEWER = Rule(Role.VIEWER, scope=Scope.READ, is_read=True)
_RECRUITER = Rule(Role.RECRUITER, scope=Scope.WRITE)
_HIRING_MANAGER = replace(_RECRUITER, job_role=JobRole.HIRING_MANAGER)
_RECRUITER_IN_PERSON = Rule(Role.RECRUITER)
_OWNER = Rule(Role.OWNER, scope=Scope.WRITE)  # a key with `write` may do what an owner may …
_OWNER_IN_PERSON = Rule(Role.OWNER)  # … except for these
# What belongs to no one job: no key that is limited to jobs.
_WHOLE_VIEWER = replace(_VIEWER, limited_key=False)
_WHOLE_RECRUITER = replace(_RECRUITER, limited_key=False)
_WHOLE_OWNER = replace(_OWNER, limited_key=False)

RULES: dict[Action, Rule] = {
    Action.SEE_JOBS: replace(_PUBLIC, portal=True),  # a draft: only its company
    Action.APPLY: replace(_PUBLIC, role=Role.RECRUITER, scope=Scope.WRITE),  # a company: SUBMIT_…
    Action.UPLOAD: replace(
        _RECRUITER, applicant=True, portal=True, limited_key=True
    ),  # files to apply
    Action.SIGN_IN: _PUBLIC,
    Action.USE_OWN_ACCOUNT: _APPLICANT,
    Action.CONFIRM_SEAT: _APPLICANT_ANYWHERE,
    Action.DEFER: _APPLICANT_ANYWHERE,
    Action.PREACCEPT: _APPLICANT_ANYWHERE,
    Action.PASS_TURN: _APPLICANT_ANYWHERE,  # the offer that is open, or the next
    Action.WITHDRAW: _APPLICANT_ANYWHERE,
    Action.CONTEST: _APPLICANT_ANYWHERE,  # ask the company to look again
    Action.CHANGE_ANSWERS: _APPLICANT_ANYWHERE,  # while waiting, or asked for more
    Action.CHANGE_FILES: replace(_RECRUITER, applicant=True, portal=True),  # while they wait
    Action.TAKE_OVER: _APPLICANT,
    Action.READ_APPLICATION: replace(_BOTH_SIDES_ANYWHERE, job_role=JobRole.INTERVIEWER),
    Action.READ_HISTORY: replace(_BOTH_SIDES_ANYWHERE, job_role=JobRole.HIRING_MANAGER),
    Action.READ_APPLICANT: replace(_BOTH_SIDES_ANYWHERE, limited_key=False),
    Action.VERIFY_LOG: replace(_BOTH_SIDES, job_role=JobRole.HIRING_MANAGER),
    Action.READ_COMPANY: _WHOLE_VIEWER,  # people, figures across jobs, tasks, files, team
    Action.READ_FEED: replace(_VIEWER, limited_key=True),  # events and changes of all jobs
    Action.READ_JOBS: replace(
        _VIEWER, every_member=True, limited_key=True
    ),  # the list; all jobs, or one's own
    Action.READ_JOB: replace(_VIEWER, job_role=JobRole.HIRING_MANAGER),  # line, log, figures, form
    Action.CREATE_JOB: _WHOLE_RECRUITER,
    Action.EDIT_POSTING: _RECRUITER,
    Action.EDIT_FORM: _RECRUITER,  # the questions of a job
    Action.OPEN_OR_PAUSE_JOB: _RECRUITER,
    Action.DELETE_DRAFT: _RECRUITER,
    Action.SUBMIT_APPLICATION: _RECRUITER,
    Action.IMPORT_APPLICATIONS: _WHOLE_RECRUITER,  # by a task of the company
    Action.DECIDE: _HIRING_MANAGER,
    Action.EDIT_APPLICATION: _RECRUITER,  # the company's own id and texts
    Action.REINSTATE: _HIRING_MANAGER,
    Action.ANSWER_CONTEST: _HIRING_MANAGER,  # best not the one who decided
    Action.ASK_QUESTION: _HIRING_MANAGER,  # one more, of a person in a seat
    Action.ANNOTATE: replace(_HIRING_MANAGER, scope=None),  # notes, tags, links, assignee
    Action.SCORE: Rule(Role.RECRUITER, JobRole.INTERVIEWER),  # a score is one person's
    Action.CHANGE_REVIEW: _RECRUITER_IN_PERSON,  # target, working hours, rota and criteria
    Action.EDIT_TEXTS: _RECRUITER_IN_PERSON,  # of emails and decisions
    Action.CHANGE_SENDER: _OWNER_IN_PERSON,  # whose name emails have, and where answers go
    Action.MAKE_REPORT: _RECRUITER,
    Action.MANAGE_TASKS: _WHOLE_RECRUITER,
    Action.MANAGE_SCHEDULES: _WHOLE_OWNER,
    Action.MANAGE_WEBHOOKS: _WHOLE_OWNER,  # and read deliveries, which may hold secrets
    Action.MANAGE_CHAT: _OWNER_IN_PERSON,  # channels, and the app whose buttons act here
    Action.CHANGE_RULES: _OWNER,  # capacity and policy
    Action.EDIT_CAREERS: _OWNER_IN_PERSON,  # the careers page: its address, words and domain
    Action.CHANGE_PRIVACY: _OWNER_IN_PERSON,  # notice, consents, who is responsible, retention
    Action.CLOSE_JOB: _OWNER,
    Action.ADVANCE_CLOCK: _WHOLE_RECRUITER,  # of a sandbox
    Action.CREATE_SANDBOX: _OWNER_IN_PERSON,
    Action.RESET_SANDBOX: _WHOLE_OWNER,
    Action.MAKE_PORTAL_TOKENS: Rule(scope=Scope.APPLICANT_TOKENS, limited_key=False),
    Action.READ_OWN_REQUESTS: Rule(scope=Scope.READ, limited_key=True),
    Action.MANAGE_KEYS: _OWNER_IN_PERSON,  # and read their requests
    Action.MANAGE_TEAM: _OWNER_IN_PERSON,
}


def jobs_allowing(
    action: Action, role: Role | None, jobs: Mapping[UUID, JobRole]
) -> list[UUID] | None:
    """Return the jobs on which a member's roles there allow an action; None: all, by their role."""
    rule = RULES[action]
    if role in rule.roles:
        return None
    return [job_id for job_id, on_job in jobs.items() if on_job in rule.job_roles]


def sees_application(role: Role | None, job_role: JobRole | None, status: str) -> bool:
    """Return whether an application in this status exists for a member with these roles."""
    return role is not None or (job_role is not None and status in SEEN_STATUSES[job_role])
