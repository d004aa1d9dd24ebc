"""Procrastinate's task for the same benchmark."""

from procrastinate.contrib.django import app


@app.task(name="noop")
def noop(n: int) -> None:
    """Do nothing."""
