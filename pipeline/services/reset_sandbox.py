"""Reset of a sandbox: an empty company takes its place, and its logs stay as they are."""

from __future__ import annotations

import logging
from uuid import UUID

from django.db import transaction

from jobs.errors import CompanyNotFound
from jobs.models import ApiKey, Company, Job
from jobs.sandboxes import lock_sandbox
from pipeline.domain.errors import NotASandbox
from pipeline.domain.states import Actor
from pipeline.models import PortalToken, WebhookEndpoint
from tasks.models import Schedule

security = logging.getLogger("security")


@transaction.atomic(durable=True)
def reset_sandbox(*, company_id: UUID, meant: UUID, actor: Actor) -> Company:
    """Return a sandbox without jobs and with the live clock, which takes this one's place.

    Keys and webhook endpoints move to it. Everything else stays with the former sandbox, which
    nobody can reach any more: nothing is removed from a log, and its deadlines still run out.
    `meant`: the id of the sandbox to leave. If it has just been left, or is empty, nothing happens.
    Raises NotASandbox, and CompanyNotFound if another one is meant.
    """
    sandbox = Company.objects.get(id=company_id)
    if not sandbox.is_test:
        raise NotASandbox
    if meant != company_id:
        if not Company.objects.filter(id=meant, sandbox_of=sandbox).exists():
            raise CompanyNotFound
        return sandbox
    # Of two resets, the later one waits here and finds that the earlier one has done it.
    live, sandbox = lock_sandbox(sandbox)
    if sandbox.sandbox_of_id != live.id:
        return Company.objects.get(sandbox_of=live)
    if not sandbox.clock_offset_seconds and not Job.objects.filter(company=sandbox).exists():
        return sandbox
    fresh = _replace_sandbox(sandbox, live)
    ids = {"company": str(live.id), "former": str(sandbox.id), "sandbox": str(fresh.id)}
    security.info("sandbox.reset", extra=ids | {"actor": str(actor.id)})
    return fresh


def _replace_sandbox(former: Company, live: Company) -> Company:
    """Make an empty sandbox of a live company; the former one becomes the sandbox of that one."""
    fresh = Company.objects.create(
        name=former.name, requires_second_step=former.requires_second_step
    )
    # A company has one sandbox: the former one makes room first.
    Company.objects.filter(id=former.id).update(sandbox_of=fresh)
    Company.objects.filter(id=fresh.id).update(sandbox_of=live)
    PortalToken.objects.filter(key__company=former).delete()
    ApiKey.objects.filter(company=former).update(company=fresh)
    WebhookEndpoint.objects.filter(company=former).update(company=fresh)
    Schedule.objects.filter(owner_id=former.id).delete()
    fresh.refresh_from_db()
    return fresh
