"""Callers of the API: anonymous, a company by a key or a member, or an applicant."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import cast
from uuid import UUID

from rest_framework.request import Request

from applicants.codes import Requester
from jobs.models import Role
from pipeline.domain.states import Actor, ActorKind
from pipeline.selectors.applications import ApplicationFacts
from pipeline.selectors.jobs import JobFacts
from pipeline.web.client_address import client_address


@dataclass(frozen=True, slots=True)
class Nobody:
    """A caller who showed no credential."""

    @property
    def log_name(self) -> str:
        """Return the caller as log lines name it."""
        return "anonymous"


# What a request is about, where its address names a job or an application.
Subject = JobFacts | ApplicationFacts | None


@dataclass(frozen=True, slots=True)
class CompanyCaller:
    """Somebody who acts for a company: one of its keys, or a member who is signed in."""

    company_id: UUID
    actor_id: UUID
    scopes: frozenset[str] = frozenset()  # of a key
    role: Role | None = None  # of a member; None for a key
    subject: Subject = field(default=None, compare=False)  # if it was read with the credential

    @property
    def actor(self) -> Actor:
        """Return the actor as the log names it."""
        return Actor(ActorKind.COMPANY, self.actor_id)

    @property
    def producer(self) -> str:
        """Return the producer as background work names it."""
        return f"{'member' if self.role else 'key'}:{self.actor_id}"

    @property
    def log_name(self) -> str:
        """Return the caller as log lines name it."""
        return self.producer

    @property
    def key_id(self) -> UUID | None:
        """Return the key's id; None for a member."""
        return None if self.role else self.actor_id


@dataclass(frozen=True, slots=True)
class PersonCaller:
    """A person who has proved their address."""

    applicant_id: UUID
    token_id: UUID | None = None  # of the token that says so; None when a session does
    subject: Subject = field(default=None, compare=False)  # if it was read with the credential

    @property
    def actor(self) -> Actor:
        """Return the actor as the log names it."""
        return Actor(ActorKind.APPLICANT, self.applicant_id)

    @property
    def log_name(self) -> str:
        """Return the caller as log lines name it."""
        return f"applicant:{self.applicant_id}"


Caller = Nobody | CompanyCaller | PersonCaller


def caller_of(request: Request) -> Caller:
    """Return the caller of an authenticated request."""
    return cast(Caller, request.user)


def requester_of(request: Request) -> Requester:
    """Return who asks for a code by the API: a network, for there is no cookie."""
    client = client_address(request)
    return Requester(f"api {client}", client)
