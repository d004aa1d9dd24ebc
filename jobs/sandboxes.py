"""Sandboxes: the company beside a live one in which it tries out its programs.

A sandbox is a separate company, so nothing in it can be taken for live data. It has no members of
its own: `jobs.team` and the pages read those of the live company.
"""

from __future__ import annotations

import logging
from uuid import UUID

from django.db import transaction

from jobs.errors import CompanyNotFound
from jobs.models import NAME_LENGTH, Company

security = logging.getLogger("security")

SUFFIX = " (test)"


def find_sandbox(company_id: UUID) -> Company | None:
    """Return a live company's sandbox, if it has one, in one query."""
    return Company.objects.filter(sandbox_of_id=company_id).first()


@transaction.atomic
def find_or_create_sandbox(company_id: UUID) -> Company:
    """Return a live company's sandbox, which is created at the first call.

    The id of a sandbox returns that sandbox. Raises CompanyNotFound.
    """
    company = Company.objects.select_for_update(no_key=True).filter(id=company_id).first()
    if company is None:
        raise CompanyNotFound
    if company.is_test:
        return company
    sandbox, is_new = Company.objects.get_or_create(
        sandbox_of=company,
        defaults={"name": company.name[: NAME_LENGTH - len(SUFFIX)] + SUFFIX},
    )
    if is_new:
        ids = {"company": str(company_id), "sandbox": str(sandbox.id)}
        security.info("sandbox.created", extra=ids)
    return sandbox


def lock_sandbox(sandbox: Company) -> tuple[Company, Company]:
    """Lock a sandbox and the company that it belongs to, that one first, and return both anew.

    While this waited, the sandbox may have been reset: then it belongs to another one. Raises
    CompanyNotFound if it is none.
    """
    if sandbox.sandbox_of_id is None:
        raise CompanyNotFound
    locked = Company.objects.select_for_update(no_key=True)
    over = locked.get(id=sandbox.sandbox_of_id)
    return over, locked.get(id=sandbox.id)
