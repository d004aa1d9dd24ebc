"""Tokens with which an identity provider provisions members: shown once, stored as a hash."""

from __future__ import annotations

import logging
import secrets
from collections.abc import Collection, Mapping
from datetime import timedelta
from hashlib import sha256
from uuid import UUID

from django.db import transaction
from django.db.models import Q, QuerySet
from django.db.models.functions import Now
from django.utils.translation import gettext, gettext_lazy

from jobs import activity
from pipeline.models import IdentityProvider, ProvisioningToken

security = logging.getLogger("security")

PREFIX = "nils_"
_HINT = len(PREFIX) + 4
# How long the former token works beside a new one, so that the provider can be given the new one.
OVERLAP = timedelta(hours=24)
USE_NOTED_EVERY = timedelta(minutes=1)
MOST_KEPT = 20

MADE = activity.declare(
    "provisioning.token_made",
    activity.Group.TEAM,
    gettext_lazy("Made the provisioning token %(hint)s…"),
)
ENDED = activity.declare(
    "provisioning.token_ended",
    activity.Group.TEAM,
    gettext_lazy("Ended the provisioning token %(hint)s…"),
)


@transaction.atomic
def make(provider: IdentityProvider, *, by: UUID | None) -> tuple[ProvisioningToken, str]:
    """Make a token; return its row and the token itself, which cannot be shown again.

    The former one works for another day, and those before it end.
    """
    lock(provider)
    secret = PREFIX + secrets.token_urlsafe(32)
    valid = read_valid(provider)
    valid.exclude(ends_at=None).update(ends_at=Now())
    valid.update(ends_at=Now() + OVERLAP)
    row = ProvisioningToken.objects.create(
        provider=provider,
        hint=secret[:_HINT],
        digest=_digest(secret),
        made_by_id=by,
    )
    kept = provider.tokens.order_by("-id").values("id")[:MOST_KEPT]
    provider.tokens.exclude(id__in=kept).delete()
    _note(MADE, provider, row, by)
    security.info("provisioning.token_made", extra=_log_ids(row, by))
    return row, secret


@transaction.atomic
def end(provider: IdentityProvider, token_id: UUID, *, by: UUID | None) -> None:
    """End a token at once; it may have ended."""
    row = read_valid(provider).filter(id=token_id).first()
    if row is not None:
        provider.tokens.filter(id=row.id).update(ends_at=Now())
        _note(ENDED, provider, row, by)
        security.info("provisioning.token_ended", extra=_log_ids(row, by))


def read_valid(provider: IdentityProvider) -> QuerySet[ProvisioningToken]:
    """Return the tokens that work, newest first."""
    return provider.tokens.filter(_VALID).order_by("-id")


def find(secret: str) -> ProvisioningToken | None:
    """Return a token that works, with its provider and company, and note its use."""
    rows = ProvisioningToken.objects.filter(_VALID, digest=_digest(secret))
    row = rows.select_related("provider__company").first()
    if row is not None:
        stale = Q(last_used_at=None) | Q(last_used_at__lte=Now() - USE_NOTED_EVERY)
        ProvisioningToken.objects.filter(stale, id=row.id).update(last_used_at=Now())
    return row


def lock(provider: IdentityProvider) -> None:
    """Make the changes of a provider's tokens, people and groups wait for each other."""
    IdentityProvider.objects.select_for_update(no_key=True, of=("self",)).get(id=provider.id)


_VALID = Q(ends_at=None) | Q(ends_at__gt=Now())


def _digest(secret: str) -> bytes:
    return sha256(secret.encode()).digest()


def _note(
    kind: activity.Kind, provider: IdentityProvider, row: ProvisioningToken, by: UUID | None
) -> None:
    assert provider.company_id  # noqa: S101  the site's own provider has no tokens
    activity.note(kind, company_id=provider.company_id, by=by, about={"hint": row.hint})


def _log_ids(row: ProvisioningToken, by: UUID | None) -> dict[str, str]:
    company = str(row.provider.company_id)
    return {"company": company, "token": str(row.id), "by": str(by or "")}


def _read_names(ids: Collection[UUID]) -> Mapping[UUID, str]:
    rows = ProvisioningToken.objects.filter(id__in=ids).values_list("id", "hint")
    return {id_: gettext("the provisioning token %(hint)s…") % {"hint": hint} for id_, hint in rows}


activity.NAMES.append(_read_names)
