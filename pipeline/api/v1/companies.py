"""Endpoint for the company that the caller acts for."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, TypedDict
from uuid import UUID

from rest_framework.request import Request
from rest_framework.response import Response

from jobs.companies import read_company
from jobs.models import Company, Scope
from pipeline.api.auth import CompanyCaller, authorize_company, caller_of
from pipeline.api.endpoint import Endpoint
from pipeline.api.openapi.schemas import Tag, describes
from pipeline.domain.permissions import Action


class CompanyOut(TypedDict):
    """A company, as its own members and keys see it."""

    id: UUID
    name: str
    created_at: datetime
    scopes: list[Annotated[str, Scope]] | None
    key_id: UUID | None


def company_out(company: Company, caller: CompanyCaller) -> CompanyOut:
    """Return a company, as its own members and keys see it, with the asking key's id and scopes."""
    return {
        "id": company.id,
        "name": company.name,
        "created_at": company.created_at,
        "scopes": sorted(caller.scopes) if caller.key_id else None,
        "key_id": caller.key_id,
    }


class OwnCompany(Endpoint):
    """`/companies/me`"""

    @describes("get_own_company", Tag.COMPANIES, Action.READ_COMPANY, CompanyOut)
    def get(self, request: Request) -> Response:
        """Return the company that the caller acts for."""
        caller = authorize_company(caller_of(request), Action.READ_COMPANY)
        return Response(company_out(read_company(caller.company_id), caller))
