"""Table of permissions: every action and who may take it. Pure.

The API and the pages rely on this table alone, and the API's documentation is generated from it.
Ownership is checked separately: anything that belongs to someone else is treated as not found.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from enum import Enum, auto

from jobs.models import Role, Scope

_RANKS = list(Role)


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
    READ_APPLICANT = auto()
    VERIFY_LOG = auto()
    READ_COMPANY = auto()
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
    MAKE_REPORT = auto()
    MANAGE_TASKS = auto()
    MANAGE_SCHEDULES = auto()
    MANAGE_WEBHOOKS = auto()
    CHANGE_RULES = auto()
    EDIT_CAREERS = auto()
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
    scope: Scope | None = None  # a key's scope; None: no key
    applicant: bool = False  # a signed-in applicant, on their own data
    portal: bool = False  # a company's own site, for one of its applicants
    public: bool = False  # anyone, even without a credential

    def allows_member(self, role: Role) -> bool:
        """Return whether a member in a role may act. A role includes those below it."""
        return self.role is not None and _RANKS.index(role) >= _RANKS.index(self.role)

    def allows_key(self, scopes: Collection[str]) -> bool:
        """Return whether a key with these scopes may act. `write` includes `read`, and no other."""
        if self.scope is None:
            return False
        return self.scope in scopes or (self.scope is Scope.READ and Scope.WRITE in scopes)


_PUBLIC = Rule(Role.VIEWER, Scope.READ, applicant=True, public=True)
_APPLICANT = Rule(applicant=True)
_APPLICANT_ANYWHERE = Rule(applicant=True, portal=True)  # here, or on the company's own site
_BOTH_SIDES = Rule(Role.VIEWER, Scope.READ, applicant=True)
_BOTH_SIDES_ANYWHERE = Rule(Role.VIEWER, Scope.READ, applicant=True, portal=True)
_VIEWER = Rule(Role.VIEWER, Scope.READ)
_RECRUITER = Rule(Role.RECRUITER, Scope.WRITE)
_RECRUITER_IN_PERSON = Rule(Role.RECRUITER)
_OWNER = Rule(Role.OWNER, Scope.WRITE)  # a key with `write` may do what an owner may …
_OWNER_IN_PERSON = Rule(Role.OWNER)  # … except for these

RULES: dict[Action, Rule] = {
    Action.SEE_JOBS: replace(_PUBLIC, portal=True),  # a draft: only its company
    Action.APPLY: replace(_PUBLIC, role=Role.RECRUITER, scope=Scope.WRITE),  # a company: SUBMIT_…
    Action.UPLOAD: Rule(Role.RECRUITER, Scope.WRITE, applicant=True, portal=True),  # files to apply
    Action.SIGN_IN: _PUBLIC,
    Action.USE_OWN_ACCOUNT: _APPLICANT,
    Action.CONFIRM_SEAT: _APPLICANT_ANYWHERE,
    Action.DEFER: _APPLICANT_ANYWHERE,
    Action.PREACCEPT: _APPLICANT_ANYWHERE,
    Action.PASS_TURN: _APPLICANT_ANYWHERE,  # the offer that is open, or the next
    Action.WITHDRAW: _APPLICANT_ANYWHERE,
    Action.CONTEST: _APPLICANT_ANYWHERE,  # ask the company to look again
    Action.CHANGE_ANSWERS: _APPLICANT_ANYWHERE,  # while waiting, or asked for more
    Action.CHANGE_FILES: Rule(  # while they wait
        Role.RECRUITER, Scope.WRITE, applicant=True, portal=True
    ),
    Action.TAKE_OVER: _APPLICANT,
    Action.READ_APPLICATION: _BOTH_SIDES_ANYWHERE,
    Action.READ_APPLICANT: _BOTH_SIDES_ANYWHERE,
    Action.VERIFY_LOG: _BOTH_SIDES,
    Action.READ_COMPANY: _VIEWER,  # jobs, lines, logs, figures, tasks, schedules, files, team
    Action.CREATE_JOB: _RECRUITER,
    Action.EDIT_POSTING: _RECRUITER,
    Action.EDIT_FORM: _RECRUITER,  # the questions of a job
    Action.OPEN_OR_PAUSE_JOB: _RECRUITER,
    Action.DELETE_DRAFT: _RECRUITER,
    Action.SUBMIT_APPLICATION: _RECRUITER,
    Action.IMPORT_APPLICATIONS: _RECRUITER,
    Action.DECIDE: _RECRUITER,
    Action.EDIT_APPLICATION: _RECRUITER,  # the company's own id and texts
    Action.REINSTATE: _RECRUITER,
    Action.ANSWER_CONTEST: _RECRUITER,  # who may decide may answer; best not the one who decided
    Action.ASK_QUESTION: _RECRUITER,  # one more, of a person in a seat
    Action.ANNOTATE: _RECRUITER_IN_PERSON,  # notes, tags, links, assignee
    Action.SCORE: _RECRUITER_IN_PERSON,  # a score is one person's
    Action.CHANGE_REVIEW: _RECRUITER_IN_PERSON,  # target, working hours, rota and criteria
    Action.MAKE_REPORT: _RECRUITER,
    Action.MANAGE_TASKS: _RECRUITER,
    Action.MANAGE_SCHEDULES: _OWNER,
    Action.MANAGE_WEBHOOKS: _OWNER,  # and read deliveries: receivers' answers may hold secrets
    Action.CHANGE_RULES: _OWNER,  # capacity and policy
    Action.EDIT_CAREERS: _OWNER_IN_PERSON,  # the careers page: its address, words and domain
    Action.CLOSE_JOB: _OWNER,
    Action.ADVANCE_CLOCK: _RECRUITER,  # of a sandbox
    Action.CREATE_SANDBOX: _OWNER_IN_PERSON,
    Action.RESET_SANDBOX: _OWNER,
    Action.MAKE_PORTAL_TOKENS: Rule(scope=Scope.APPLICANT_TOKENS),
    Action.READ_OWN_REQUESTS: Rule(scope=Scope.READ),
    Action.MANAGE_KEYS: _OWNER_IN_PERSON,  # and read their requests
    Action.MANAGE_TEAM: _OWNER_IN_PERSON,
}
