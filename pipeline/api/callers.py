"""Who calls the API: nobody known, a company by one of its keys, or a person who applies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast
from uuid import UUID

from rest_framework.request import Request

from jobs.models import Scope
from pipeline.states import Actor, ActorKind


@dataclass(frozen=True, slots=True)
class Nobody:
    """A caller who showed no credential."""


@dataclass(frozen=True, slots=True)
class CompanyCaller:
    """Somebody who acts for a company: so far, an API key of it."""

    company_id: UUID
    actor_id: UUID
    scopes: frozenset[str]

    @property
    def actor(self) -> Actor:
        """How the log names this caller."""
        return Actor(ActorKind.COMPANY, self.actor_id)

    def may(self, scope: Scope) -> bool:
        """Whether this caller may do that. Who may write may read: as an owner may."""
        return scope in self.scopes or Scope.WRITE in self.scopes


@dataclass(frozen=True, slots=True)
class PersonCaller:
    """A person who has proved their address."""

    applicant_id: UUID

    @property
    def actor(self) -> Actor:
        """How the log names this caller."""
        return Actor(ActorKind.APPLICANT, self.applicant_id)


Caller = Nobody | CompanyCaller | PersonCaller


def caller_of(request: Request) -> Caller:
    """Who sent a request that has been authenticated."""
    return cast(Caller, request.user)
