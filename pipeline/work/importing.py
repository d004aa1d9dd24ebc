"""Having the people of a file taken into a job's line, in the background."""

from __future__ import annotations

from collections.abc import Iterable
from uuid import UUID

from django.db import transaction

from pipeline.models import StoredFile
from pipeline.services.store_import import store_import
from pipeline.states import Actor
from pipeline.work.start import Order, start
from tasks.enqueue import Enqueued

IMPORT = "applications.import"


def start_import(
    *,
    company_id: UUID,
    job_id: UUID,
    name: str,
    content: Iterable[bytes],
    actor: Actor,
    producer: str,
    key_id: UUID | None = None,
) -> Enqueued:
    """Keep a CSV file of people and have it imported; nothing is kept when it raises.

    `content` is the file in pieces, `name` what it is called, `actor` the member or key that the
    log will name. Raises what `store_import` and `start` raise.
    """
    with transaction.atomic():
        import_id = store_import(
            company_id=company_id, job_id=job_id, name=name, content=content, actor=actor
        )
        order = Order(IMPORT, {"import_id": str(import_id)})
        (task,) = start(company_id=company_id, producer=producer, orders=[order], key_id=key_id)
        StoredFile.objects.filter(id=import_id).update(task_id=task.id)
    return task
