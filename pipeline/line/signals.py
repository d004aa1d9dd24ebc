"""Signal sent after a committed change. A receiver's error is logged and cannot affect the change.

Receivers of `committed` are called in the process and thread that made the change. They get
`job_id`, `company_id`, `seq` (the log's last), `entries` (all that the transaction logged, oldest
first) and `wrote_tasks` (if tasks follow from them), and must be quick. A process that dies right
after its commit sends nothing: what must not be missed is a task (`pipeline.line.follow_up`).
"""

from __future__ import annotations

from django.dispatch import Signal

committed = Signal()
