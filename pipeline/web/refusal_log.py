"""Log lines about requests that the event loop refuses: one per client, status and second.

So a crowd that is refused writes few lines, and an operator can still tell who was refused when.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from datetime import UTC, datetime

from pipeline.web.addresses import client_network

# Lines of one second. Clients beyond them share one line.
MOST_LINES = 100
SECOND = 1.0
OTHERS = "others"

logger = logging.getLogger("pipeline.refused")


class RefusalLog:
    """Counts of the current second; all of it runs in the event loop of one process."""

    def __init__(self) -> None:
        self._counts: Counter[tuple[str, str, int]] = Counter()

    def note(self, address: str, status: int, caller: str = "anonymous") -> None:
        """Count a refused request of an address, and of a known caller."""
        if not self._counts:
            since = datetime.now(UTC).isoformat(timespec="milliseconds")
            asyncio.get_running_loop().call_later(SECOND, self._write_refusals, since)
        one = client_network(address), caller, status
        is_full = one not in self._counts and len(self._counts) >= MOST_LINES
        self._counts[(OTHERS, OTHERS, status) if is_full else one] += 1

    def _write_refusals(self, since: str) -> None:
        counts, self._counts = self._counts, Counter()
        for (address, caller, status), count in counts.items():
            fields = {"address": address, "caller": caller, "status_code": status}
            logger.warning("requests.refused", extra=fields | {"count": count, "since": since})


refusal_log = RefusalLog()
