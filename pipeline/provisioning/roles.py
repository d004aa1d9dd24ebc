"""Roles of many people after a change of their group: in this transaction, or soon by a task."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from uuid import UUID

from django.db import transaction

from pipeline.models import IdentityProvider, ProvisionedUser
from pipeline.provisioning.people import give_roles
from pipeline.provisioning.tokens import lock
from tasks.enqueue import NewTask, enqueue_many
from tasks.registry import task_type

KEY = "provisioning.roles"
# A person takes about 12 ms, and a provider gives up a request after some seconds.
MOST_AT_ONCE = 50


def give(
    provider: IdentityProvider, user_ids: Iterable[UUID], names: Collection[str], *, by: UUID
) -> None:
    """Give people whose groups have changed their roles, if one of these groups has a role.

    At most MOST_AT_ONCE people before this returns, more by tasks of as many each.
    """
    if not provider.group_roles.filter(group__in=names).exists():
        return
    ids = sorted(set(user_ids))
    if len(ids) <= MOST_AT_ONCE:
        _give(provider, ids, by=by)
        return
    parts = [ids[n : n + MOST_AT_ONCE] for n in range(0, len(ids), MOST_AT_ONCE)]
    common = {"provider_id": str(provider.id), "by": str(by)}
    enqueue_many(
        [
            NewTask(
                KEY,
                common | {"user_ids": [str(each) for each in part]},
                owner_id=provider.company_id,
                producer="provisioning",
            )
            for part in parts
        ]
    )


@task_type(key=KEY, owner="company", queue="upkeep", timeout_seconds=120, max_attempts=20)
def give_roles_of_part(provider_id: UUID, user_ids: list[UUID], by: UUID) -> dict[str, int]:
    """Give people the roles that their groups give when this runs: {"people"}."""
    provider = IdentityProvider.objects.filter(id=provider_id).first()
    if provider is None:  # removed meanwhile
        return {"people": 0}
    with transaction.atomic():
        lock(provider)
        return {"people": _give(provider, user_ids, by=by)}


def _give(provider: IdentityProvider, user_ids: Collection[UUID], *, by: UUID) -> int:
    rows = ProvisionedUser.objects.filter(provider=provider, id__in=user_ids)
    people = list(rows.select_related("user").order_by("id"))
    for row in people:
        give_roles(provider, row, by=by)
    return len(people)
