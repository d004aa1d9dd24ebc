"""Create and read companies, and require a second step of their members."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import NamedTuple
from uuid import UUID

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils.translation import gettext as _

from applicants.texts import checked_name
from jobs import accounts, activity
from jobs.accounts import has_second_step
from jobs.errors import BadName, SecondStepMissing
from jobs.models import NAME_LENGTH, Company, Membership, Role

security = logging.getLogger("security")


@transaction.atomic
def create_company(*, name: str, owner_email: str, password: str | None = None) -> Company:
    """Create a company with its first owner, and a staff account for the owner's new address.

    Without a password, a new account cannot sign in with one. The password of an existing account
    is never changed. Raises BadName, BadPassword, and ValidationError for a bad address.
    """
    company = Company.objects.create(name=checked_company_name(name))
    owner = accounts.find_or_create(owner_email, password)
    Membership.objects.create(company=company, user=owner, role=Role.OWNER)
    security.info("company.created", extra={"company": str(company.id), "owner": str(owner.id)})
    return company


def require_second_step(*, company_id: UUID, required: bool, by: UUID) -> None:
    """Require, or no longer require, a passkey or authenticator app of a company's members.

    It takes effect at once, in open sessions too. Raises SecondStepMissing if the owner who
    requires it (`by`) has none: they would lock themselves out.
    """
    if required and not has_second_step(by):
        raise SecondStepMissing
    Company.objects.filter(id=company_id).update(requires_second_step=required)
    word = "required" if required else "optional"
    activity.note(activity.SECOND_STEP, company_id=company_id, by=by, about={"required": word})
    event = "second_step.required" if required else "second_step.optional"
    security.info(event, extra={"company": str(company_id)})


class UndoTimes(NamedTuple):
    """Seconds for which a company's decisions on pages can be undone before they take effect."""

    removal: int  # to remove or reject
    hiring: int

    @classmethod
    def of(cls, company: Company) -> UndoTimes:
        """Return a company's own times, and the site's where it has chosen none."""
        own = (company.undo_removal_seconds, company.undo_hiring_seconds)
        return cls(*(settings.DECISION_UNDO_SECONDS if each is None else each for each in own))


def set_undo_times(*, company_id: UUID, seconds: Mapping[str, int | None], by: UUID | None) -> None:
    """Set how long a company's decisions can be undone: some of the fields of its row.

    None: as long as the site says. Decisions that wait keep their time. Each must be within
    UNDO_SECONDS.
    """
    Company.objects.filter(id=company_id).update(**seconds)
    activity.note(activity.UNDO_TIME, company_id=company_id, by=by)
    security.info("undo_time.changed", extra={"company": str(company_id), "by": str(by), **seconds})


def name_controller(*, company_id: UUID, legal_name: str, contact: str, by: UUID | None) -> None:
    """Name who is responsible for people's data, and how to reach them; empty: as the company."""
    values = {"legal_name": legal_name, "privacy_contact": contact}
    Company.objects.filter(id=company_id).update(**values)
    activity.note(activity.CONTROLLER_NAMED, company_id=company_id, by=by)
    security.info("controller.named", extra={"company": str(company_id), "by": str(by)})


def checked_company_name(name: str) -> str:
    try:
        name = checked_name(name)
    except ValidationError as error:
        raise BadName(*error.messages) from None
    if len(name) > NAME_LENGTH:
        raise BadName(_("A name must have 1 to %(most)s characters.") % {"most": NAME_LENGTH})
    return name


def read_company(company_id: UUID) -> Company:
    """Return a company that must exist, in one query."""
    return Company.objects.get(id=company_id)
