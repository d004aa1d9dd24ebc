"""Signal sent after a committed change. A receiver's error is logged and cannot affect the change.

Receivers of `committed` are called in the process and thread that made the change, and must be
quick. They get `job_id`, `company_id`, `seq` (the log's last), `entries` (everything that the
transaction logged, oldest first) and `wrote_tasks` (whether tasks follow from them). A process that
dies right after its commit sends nothing, so anything that must not be lost is a task
(`pipeline.line.follow_up`).
"""

from __future__ import annotations

from django.dispatch import Signal

committed = Signal()
