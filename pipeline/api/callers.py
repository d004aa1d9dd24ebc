"""Callers of the API: anonymous, a company by a key or a member, or an applicant."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import cast
from uuid import UUID

from rest_framework.request import Request

from applicants.codes import Requester
from jobs.models import Role
from pipeline.domain.permissions import Rule
from pipeline.domain.states import Actor, ActorKind
from pipeline.selectors.applications import ApplicationFacts
from pipeline.selectors.jobs import JobFacts
from pipeline.web.client_address import client_address, client_site


@dataclass(frozen=True, slots=True)
class AnonymousCaller:
    """A caller without a credential."""

    def is_allowed_by(self, rule: Rule) -> bool:
        """Return whether a rule allows everyone to act."""
        return rule.public

    @property
    def log_name(self) -> str:
        """Return the caller's name for log lines."""
        return "anonymous"


# The job or application that the request's URL names.
Subject = JobFacts | ApplicationFacts | None


@dataclass(frozen=True, slots=True)
class CompanyCaller:
    """A caller acting for a company: one of its keys, or a signed-in member."""

    company_id: UUID
    actor_id: UUID
    scopes: frozenset[str] = frozenset()  # of a key
    role: Role | None = None  # the member's; None for a key
    is_test: bool = False  # of a sandbox
    subject: Subject = field(default=None, compare=False)  # if read together with the credential

    def is_allowed_by(self, rule: Rule) -> bool:
        """Return whether a rule lets this member or key act."""
        return rule.allows_key(self.scopes) if self.role is None else rule.allows_member(self.role)

    @property
    def actor(self) -> Actor:
        """Return the caller as the actor of log events."""
        return Actor(ActorKind.COMPANY, self.actor_id)

    @property
    def producer(self) -> str:
        """Return the caller as the producer of tasks."""
        return f"{'member' if self.role else 'key'}:{self.actor_id}"

    @property
    def log_name(self) -> str:
        """Return the caller's name for log lines."""
        return self.producer

    @property
    def key_id(self) -> UUID | None:
        """Return the key's id; None for a member."""
        return None if self.role else self.actor_id


@dataclass(frozen=True, slots=True)
class PersonCaller:
    """A caller who is an applicant with a proved email address."""

    applicant_id: UUID
    token_id: UUID | None = None  # the token's; None for a session
    subject: Subject = field(default=None, compare=False)  # if read together with the credential

    def is_allowed_by(self, rule: Rule) -> bool:
        """Return whether a rule lets applicants act."""
        return rule.applicant

    @property
    def actor(self) -> Actor:
        """Return the caller as the actor of log events."""
        return Actor(ActorKind.APPLICANT, self.applicant_id)

    @property
    def log_name(self) -> str:
        """Return the caller's name for log lines."""
        return f"applicant:{self.applicant_id}"


@dataclass(frozen=True, slots=True)
class PortalCaller:
    """A company's own site, acting for one of its applicants, within that company only."""

    applicant_id: UUID
    company_id: UUID
    key_id: UUID  # of the company, which made the token
    is_test: bool = False  # of a sandbox
    subject: Subject = field(default=None, compare=False)  # if read together with the credential

    def is_allowed_by(self, rule: Rule) -> bool:
        """Return whether a rule lets a company's own site act for its applicants."""
        return rule.portal

    @property
    def actor(self) -> Actor:
        """Return the applicant as the actor of log events, who acts through the key."""
        return Actor(ActorKind.APPLICANT, self.applicant_id, via_key=self.key_id)

    @property
    def log_name(self) -> str:
        """Return the caller's name for log lines."""
        return f"applicant:{self.applicant_id}/key:{self.key_id}"


Caller = AnonymousCaller | CompanyCaller | PersonCaller | PortalCaller


def caller_of(request: Request) -> Caller:
    """Return the caller of an authenticated request."""
    return cast(Caller, request.user)


def requester_of(request: Request) -> Requester:
    """Return who requests a code: through the API, a network, because there is no cookie."""
    return Requester(f"api {client_address(request)}", client_site(request))
