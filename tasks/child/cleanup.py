"""Clean-up after a run: open transactions and connections of its process."""

from __future__ import annotations

from django.db import close_old_connections, connections


def clean_up_transaction() -> None:
    """Close connections that a handler left inside a transaction, and broken ones."""
    for connection in connections.all(initialized_only=True):
        if connection.in_atomic_block:
            connection.close()
            del connections[connection.alias]  # it would refuse to be opened again
    close_old_connections()


def clean_up_connections() -> None:
    """Close all connections: after a failover the present ones may only read."""
    connections.close_all()
