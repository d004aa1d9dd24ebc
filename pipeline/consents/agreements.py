"""Agreement of a person who applies to what the company shows, kept with the application."""

from __future__ import annotations

from calendar import monthrange
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models.functions import Now
from uuid_utils.compat import uuid7

from pipeline.consents.versions import POOL, versions_of
from pipeline.domain.errors import ConsentMissing, ConsentsChanged
from pipeline.models import Agreement, Application, ConsentVersion


@dataclass(frozen=True, slots=True)
class Agreed:
    """Versions that a person was shown, and those among them that they agreed to."""

    shown: tuple[UUID, ...]
    agreed: frozenset[UUID]

    def rows(self, application: Application, *, is_new: bool, at: datetime) -> Iterable[Agreement]:
        """Return what is kept with an application."""
        for version in versions_of(self.shown):
            yield describe(version, application.id, agreed=version.id in self.agreed, at=at)


def describe(
    version: ConsentVersion, application_id: UUID, *, agreed: bool, at: datetime
) -> Agreement:
    """Return the row of what a person agreed to, or did not; that of the talent pool ends."""
    ends_at = months_after(at, version.months) if agreed and version.months else None
    return Agreement(
        id=uuid7(),
        application_id=application_id,
        version_id=version.id,
        agreed=agreed,
        at=at,
        ends_at=ends_at,
    )


def months_after(at: datetime, months: int) -> datetime:
    """Return the same time on the same day of a later month, or on its last day."""
    year, month = divmod(at.year * 12 + at.month - 1 + months, 12)
    day = min(at.day, monthrange(year, month + 1)[1])
    return at.replace(year=year, month=month + 1, day=day)


def agree(
    shown_ids: Collection[UUID] | None, given: Collection[UUID], *, by_company: bool = False
) -> list[Agreed]:
    """Check what a person agrees to, against what the company shows now; empty if that is nothing.

    Without a notice's id, it was not read. A company that submits a person may name what they
    agreed to elsewhere, and need not. Raises ConsentsChanged for a version that is not shown, and
    ConsentMissing.
    """
    shown = versions_of(tuple(shown_ids or ()))
    ids = {each.id for each in shown}
    if not ids.issuperset(given):
        raise ConsentsChanged
    if by_company:
        named = tuple(each for each in ids if each in given)
        return [Agreed(named, frozenset(given))] if named else []
    missing = [each.id for each in shown if each.is_required and each.id not in given]
    if missing:
        raise ConsentMissing(missing=missing)
    return [Agreed(tuple(each.id for each in shown), frozenset(given))] if shown else []


def read_of(application_id: UUID) -> list[Agreement]:
    """Return what a person was shown and agreed to, oldest first, with its texts, in one query."""
    rows = Agreement.objects.filter(application_id=application_id).select_related("version")
    return list(rows.order_by("id"))


def withdraw(*, application_id: UUID, agreement_id: UUID) -> bool:
    """Take a consent back, and tell whether it was given until now. A required one stays.

    Whoever no longer wants what is required withdraws the application. Who leaves a talent pool
    leaves it with all their applications.
    """
    theirs = Agreement.objects.filter(id=agreement_id, application_id=application_id, agreed=True)
    open_ones = theirs.filter(version__is_required=False, withdrawn_at=None)
    if open_ones.filter(version__kind=POOL).exists():
        return leave_pool(application_id)
    return bool(open_ones.update(withdrawn_at=Now()))


def leave_pool(application_id: UUID) -> bool:
    """Take a person out of the pool of the company of an application; tell whether they were in it.

    Leaving twice is harmless, and so is leaving with an application whose person was erased.
    """
    of_it = Application.objects.filter(id=application_id)
    theirs = Agreement.objects.filter(
        application__applicant__in=of_it.values("applicant"),
        version__company__in=of_it.values("job__company"),
        ends_at__isnull=False,
        withdrawn_at=None,
    )
    return bool(theirs.update(withdrawn_at=Now()))


def read_for_people(application_ids: Collection[UUID]) -> dict[UUID, list[dict[str, Any]]]:
    """Return what people were shown and agreed to, for their own data, in one query."""
    found: dict[UUID, list[dict[str, Any]]] = {}
    rows = Agreement.objects.filter(application_id__in=application_ids).select_related("version")
    for row in rows.order_by("id"):
        told = {
            "kind": row.version.kind,
            "version_id": row.version_id,
            "version": row.version.number,
            "text": row.version.shown_text,
            "required": row.version.is_required,
            "agreed": row.agreed,
            "at": row.at,
            "ends_at": row.ends_at,
            "withdrawn_at": row.withdrawn_at,
        }
        found.setdefault(row.application_id, []).append(told)
    return found


def forget(application_ids: Collection[UUID]) -> None:
    """Remove what erased people agreed to."""
    Agreement.objects.filter(application_id__in=application_ids).delete()
