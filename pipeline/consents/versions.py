"""Versions of what a company tells people who apply, and asks them to agree to.

They never change. The company's row names those that are shown now. Whoever applies names those
that they were shown: with others they are asked again. A version that is published between that
check and the application counts for the next person.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Sequence
from functools import lru_cache
from typing import NamedTuple
from uuid import UUID

from django.db import transaction
from django.utils.translation import gettext_lazy as _
from uuid_utils.compat import uuid7

from jobs import activity
from jobs.models import Company
from pipeline.domain.errors import ConsentsChanged
from pipeline.models import ConsentVersion

security = logging.getLogger("security")

# How many consents a company can ask for, beside its notice and the talent pool, and how many
# versions it can show in all.
MOST_CONSENTS = 10
MOST_SHOWN = 2 + MOST_CONSENTS
NOTICE, CONSENT = ConsentVersion.Kind.NOTICE, ConsentVersion.Kind.CONSENT
POOL = ConsentVersion.Kind.POOL

PUBLISHED = activity.declare(
    "consents.published",
    activity.Group.RULES,
    _("Published the privacy notice, the consents or the months of the talent pool"),
)

Versions = tuple[ConsentVersion, ...]


class Wanted(NamedTuple):
    """Text that a company wants to show. `item`: what it is a version of; None: something new.

    `months`: for which people are in the talent pool, if they agree to that.
    """

    kind: ConsentVersion.Kind
    text: str
    is_required: bool
    item: UUID | None = None
    months: int | None = None

    @classmethod
    def of(cls, version: ConsentVersion) -> Wanted:
        """Return what is shown already."""
        kind = ConsentVersion.Kind(version.kind)
        return cls(kind, version.text, version.is_required, version.item, version.months)


def shown_by(company: Company) -> Versions:
    """Return the versions that a company shows now: the notice first. No query if it has none."""
    return versions_of(tuple(company.shown_consents or ()))


@lru_cache(maxsize=1_024)
def versions_of(ids: tuple[UUID, ...]) -> Versions:
    """Return some versions in the order of their ids, in at most one query.

    A version never changes, so each process reads it once.
    """
    if not ids:
        return ()
    found = ConsentVersion.objects.in_bulk(ids)
    return tuple(found[each] for each in ids if each in found)


def pool_of(company: Company) -> ConsentVersion | None:
    """Return the version by which people can agree to be in a company's talent pool, if it asks."""
    return next((each for each in shown_by(company) if each.is_of_pool), None)


def read_history(company_id: UUID) -> list[ConsentVersion]:
    """Return every version that a company has published, newest first."""
    return list(ConsentVersion.objects.filter(company_id=company_id).order_by("-id")[:500])


@transaction.atomic
def publish(
    *, company_id: UUID, wanted: Sequence[Wanted], seen: Collection[UUID], by: UUID | None
) -> Versions:
    """Show these texts to people who apply from now on, in this order, and return the versions.

    A text that is shown already keeps its version. `seen`: the versions that the editor saw.
    Raises ConsentsChanged if others are shown now.
    """
    company = Company.objects.select_for_update(no_key=True).get(id=company_id)
    before = versions_of(tuple(company.shown_consents or ()))
    if {each.id for each in before} != set(seen):
        raise ConsentsChanged
    known = {each.item: each for each in before}
    versions = [_version(company_id, each, known, by) for each in wanted]
    new = [each for each in versions if each not in before]
    ConsentVersion.objects.bulk_create(new)
    if versions != list(before):
        ids = [each.id for each in versions]
        Company.objects.filter(id=company_id).update(shown_consents=ids or None)
        told = {"company": str(company_id), "by": str(by), "versions": [str(each) for each in ids]}
        security.info("consents.published", extra=told)
        activity.note(PUBLISHED, company_id=company_id, by=by)
    return tuple(versions)


def _version(
    company_id: UUID, wanted: Wanted, known: dict[UUID, ConsentVersion], by: UUID | None
) -> ConsentVersion:
    before = known.get(wanted.item) if wanted.item else None
    if before and Wanted.of(before)[:3] == wanted[:3] and before.months == wanted.months:
        return before
    return ConsentVersion(
        company_id=company_id,
        item=before.item if before else uuid7(),
        number=before.number + 1 if before else 1,
        kind=wanted.kind,
        text=wanted.text,
        is_required=wanted.is_required,
        months=wanted.months,
        published_by=by,
    )
