"""Clean-up after a run: open transactions and connections."""

from __future__ import annotations

from django.db import close_old_connections, connections


def clean_up_transaction() -> None:
    """Close connections that a handler left inside a transaction, and broken ones."""
    for connection in connections.all(initialized_only=True):
        if connection.in_atomic_block:
            connection.close()
            del connections[connection.alias]  # it would refuse to reconnect
    close_old_connections()


def clean_up_connections() -> None:
    """Close all connections: after a failover, the current ones may be read-only."""
    connections.close_all()
