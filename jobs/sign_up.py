"""Companies that people create themselves, or ask the operator for.

Each begins with a proved address. The id of a sign-up becomes that of the company, so that a form
sent twice creates one.
"""

from __future__ import annotations

import logging
from uuid import UUID

from django.db import transaction
from django.db.models.functions import Now

from jobs import accounts
from jobs.companies import checked_company_name
from jobs.errors import RequestDecided
from jobs.models import Company, CompanyRequest, Membership, Role, User
from tasks.enqueue import enqueue

security = logging.getLogger("security")

REQUEST_EMAIL = "email.company_request"  # the type of the task
PRIORITY = 80  # a person waits for it


@transaction.atomic
def create_own_company(*, company_id: UUID, name: str, email: str) -> User:
    """Create a company for the owner of an address, and return their account.

    Creates nothing for an account that the operator has closed. Raises BadName.
    """
    owner = accounts.find_or_create(email, None)
    if owner.is_active:
        _create_company(company_id, checked_company_name(name), owner)
    return owner


@transaction.atomic
def ask_for_company(*, request_id: UUID, name: str, email: str) -> None:
    """Keep a request for a company, and tell the operator about it once. Raises BadName."""
    asked, is_new = CompanyRequest.objects.get_or_create(
        id=request_id, defaults={"company_name": checked_company_name(name), "email": email}
    )
    if is_new:
        _email(asked, to_operator=True)
        security.info("company.asked_for", extra={"request": str(asked.id)})


@transaction.atomic
def decide_request(*, request_id: UUID, approve: bool) -> CompanyRequest:
    """Approve or refuse a request, and tell the person by email. Deciding twice decides once.

    Raises RequestDecided if it was decided otherwise before.
    """
    asked = CompanyRequest.objects.select_for_update().get(id=request_id)
    if asked.is_approved is not None:
        if asked.is_approved != approve:
            raise RequestDecided
        return asked
    asked.is_approved = approve
    asked.decided_at = Now()
    asked.save(update_fields=["is_approved", "decided_at"])
    if approve:
        owner = accounts.find_or_create(asked.email, None)
        _create_company(asked.id, asked.company_name, owner)
    _email(asked, to_operator=False)
    security.info("company.decided", extra={"request": str(asked.id), "approved": approve})
    return asked


def _create_company(company_id: UUID, name: str, owner: User) -> None:
    company, is_new = Company.objects.get_or_create(id=company_id, defaults={"name": name})
    if is_new:
        Membership.objects.create(company=company, user=owner, role=Role.OWNER)
        ids = {"company": str(company.id), "owner": str(owner.id)}
        security.info("company.created", extra=ids)


def _email(asked: CompanyRequest, *, to_operator: bool) -> None:
    payload = {"request": str(asked.id), "to_operator": to_operator}
    enqueue(REQUEST_EMAIL, payload, priority=PRIORITY)
