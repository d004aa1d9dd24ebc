"""Errors of the embedded PostgreSQL."""


class ClusterError(RuntimeError):
    """The embedded PostgreSQL cannot run here. The text says why, and what to do about it."""
