"""Table of permissions: every action and who may take it. Pure.

The API and the pages decide only by this table, and the API's documentation is made from it.
Ownership is checked separately: anything that belongs to somebody else does not exist.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from enum import Enum, auto

from jobs.models import Role, Scope

_RANKS = list(Role)


class Action(Enum):
    """Action of a caller, if the table allows it."""

    SEE_JOBS = auto()
    APPLY = auto()
    SIGN_IN = auto()
    USE_OWN_ACCOUNT = auto()
    CONFIRM_SEAT = auto()
    WITHDRAW = auto()
    TAKE_OVER = auto()
    READ_APPLICATION = auto()
    READ_APPLICANT = auto()
    VERIFY_LOG = auto()
    READ_COMPANY = auto()
    CREATE_JOB = auto()
    EDIT_POSTING = auto()
    OPEN_OR_PAUSE_JOB = auto()
    SUBMIT_APPLICATION = auto()
    IMPORT_APPLICATIONS = auto()
    DECIDE = auto()
    MAKE_REPORT = auto()
    MANAGE_TASKS = auto()
    MANAGE_SCHEDULES = auto()
    MANAGE_WEBHOOKS = auto()
    CHANGE_RULES = auto()
    CLOSE_JOB = auto()
    MANAGE_KEYS = auto()
    MANAGE_TEAM = auto()


@dataclass(frozen=True, slots=True)
class Rule:
    """Roles, scopes and persons that may take an action."""

    role: Role | None = None  # the lowest role of a member; None: no member
    scope: Scope | None = None  # a key's scope; None: no key
    applicant: bool = False  # a signed-in applicant, on their own data
    public: bool = False  # anyone, even without a credential

    def allows_member(self, role: Role) -> bool:
        """Return whether a member in a role may act. A role includes those below it."""
        return self.role is not None and _RANKS.index(role) >= _RANKS.index(self.role)

    def allows_key(self, scopes: Collection[str]) -> bool:
        """Return whether a key with these scopes may act. The scope `write` includes `read`."""
        return self.scope is not None and (self.scope in scopes or Scope.WRITE in scopes)


_PUBLIC = Rule(Role.VIEWER, Scope.READ, applicant=True, public=True)
_APPLICANT = Rule(applicant=True)
_BOTH_SIDES = Rule(Role.VIEWER, Scope.READ, applicant=True)
_VIEWER = Rule(Role.VIEWER, Scope.READ)
_RECRUITER = Rule(Role.RECRUITER, Scope.WRITE)
_OWNER = Rule(Role.OWNER, Scope.WRITE)  # a key with `write` may do what an owner may …
_OWNER_IN_PERSON = Rule(Role.OWNER)  # … except for these

RULES: dict[Action, Rule] = {
    Action.SEE_JOBS: _PUBLIC,  # a draft: only its company
    Action.APPLY: _PUBLIC,  # a company's caller submits instead
    Action.SIGN_IN: _PUBLIC,
    Action.USE_OWN_ACCOUNT: _APPLICANT,
    Action.CONFIRM_SEAT: _APPLICANT,
    Action.WITHDRAW: _APPLICANT,
    Action.TAKE_OVER: _APPLICANT,
    Action.READ_APPLICATION: _BOTH_SIDES,
    Action.READ_APPLICANT: _BOTH_SIDES,
    Action.VERIFY_LOG: _BOTH_SIDES,
    Action.READ_COMPANY: _VIEWER,  # jobs, lines, logs, figures, tasks, schedules, files, team
    Action.CREATE_JOB: _RECRUITER,
    Action.EDIT_POSTING: _RECRUITER,
    Action.OPEN_OR_PAUSE_JOB: _RECRUITER,
    Action.SUBMIT_APPLICATION: _RECRUITER,
    Action.IMPORT_APPLICATIONS: _RECRUITER,
    Action.DECIDE: _RECRUITER,
    Action.MAKE_REPORT: _RECRUITER,
    Action.MANAGE_TASKS: _RECRUITER,
    Action.MANAGE_SCHEDULES: _OWNER,
    Action.MANAGE_WEBHOOKS: _OWNER,  # and read deliveries: receivers' answers may hold secrets
    Action.CHANGE_RULES: _OWNER,  # capacity and policy
    Action.CLOSE_JOB: _OWNER,
    Action.MANAGE_KEYS: _OWNER_IN_PERSON,
    Action.MANAGE_TEAM: _OWNER_IN_PERSON,
}
