"""Start of a what-if from a page: one at a time for each job."""

from __future__ import annotations

from typing import Any

from django.db import transaction

from jobs.models import Job
from pipeline.background.errors import WorkError
from pipeline.background.start import TaskRequest, start_tasks
from pipeline.models import LastWhatIf
from pipeline.whatif.read import KEY, read_last_what_if_task
from tasks.models.statuses import Status

MOVING = (Status.PENDING, Status.RUNNING, Status.CANCELLING)


class WhatIfUnderWay(WorkError):
    """A run of this job's past has been started and has not ended."""

    def __init__(self) -> None:
        super().__init__(
            "A run is under way. Start the next one when it has finished, or cancel it."
        )


@transaction.atomic
def start_what_if(*, job: Job, rules: dict[str, Any], producer: str) -> None:
    """Start a run of a job's past under other rules, in the background.

    The row of the job's last run is locked, so that only one of two simultaneous clicks starts a
    run. Raises WhatIfUnderWay, and the errors of `start_tasks`.
    """
    LastWhatIf.objects.get_or_create(job_id=job.id)
    last = LastWhatIf.objects.select_for_update(no_key=True).get(job_id=job.id)
    task = read_last_what_if_task(job.company_id, job.id)
    if task is not None and task.status in MOVING:
        raise WhatIfUnderWay
    [made] = start_tasks(
        company_id=job.company_id,
        producer=producer,
        requests=[TaskRequest(KEY, {"job_id": str(job.id)} | rules)],
    )
    last.task_id = made.id
    last.save()
