"""What others do once a change of a line is committed, and by which they cannot fail it.

Receivers of `committed` are called in the process and thread that made the change, after its
commit. They get `job_id`, `company_id`, `seq` (the log's last) and `entries` (all that the
transaction logged, oldest first). They must be quick; what they raise is logged and goes no
further. A process that dies right after its commit tells nobody: whoever must not miss a change
reads the log.
"""

from __future__ import annotations

from django.db import transaction
from django.dispatch import Signal

from pipeline.line.locked_job import LockedJob

committed = Signal()


def tell_once_committed(job: LockedJob) -> None:
    """Note what is just being written, to be told when the transaction has been committed."""
    if not job.entries or not committed.has_listeners():
        return
    if not job.to_tell:
        transaction.on_commit(lambda: _tell(job))
    job.to_tell += job.entries


def _tell(job: LockedJob) -> None:
    committed.send_robust(
        LockedJob, job_id=job.id, company_id=job.company_id, seq=job.seq, entries=job.to_tell
    )
