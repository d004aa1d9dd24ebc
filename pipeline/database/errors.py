"""Errors of the embedded PostgreSQL."""

from tasks.errors import DatabaseAway


class ClusterError(DatabaseAway, RuntimeError):
    """The embedded PostgreSQL cannot run here. The text says why, and what to do about it."""
