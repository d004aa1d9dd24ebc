"""Clean-up after a run: open transactions, connections and memory in its process."""

from __future__ import annotations

import resource
from pathlib import Path

from django.db import close_old_connections, connections

STATM = Path("/proc/self/statm")


def leave_no_transaction_open() -> None:
    """Close connections that a handler left inside a transaction, and broken ones."""
    for connection in connections.all(initialized_only=True):
        if connection.in_atomic_block:
            connection.close()
            del connections[connection.alias]  # it would refuse to be opened again
    close_old_connections()


def close_connections() -> None:
    """Close all connections: after a failover the present ones may only read."""
    connections.close_all()


def address_space_bytes() -> int:
    """Return how much memory this process has mapped; 0 where the system does not say."""
    if not STATM.exists():
        return 0
    return int(STATM.read_text().split()[0]) * resource.getpagesize()
