"""Signal sent after a committed change. A receiver's error is logged and cannot affect the change.

Receivers of `committed` are called in the process and thread that made the change. They get
`job_id`, `company_id`, `seq` (the log's last) and `entries` (all that the transaction logged,
oldest first), and must be quick. A process that dies right after its commit sends nothing: a
reader that must not miss a change reads the log.
"""

from __future__ import annotations

from django.dispatch import Signal

committed = Signal()
