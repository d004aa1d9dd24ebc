"""Processes whose clocks are wrong."""

from __future__ import annotations

from pathlib import Path

from tests.support.environment import ROOT

# Python imports `sitecustomize` before anything else: so nothing has the right clock in its hands.
WRONG_CLOCK = """
import datetime, time

right, right_time, by = datetime.datetime, time.time, {by}
time.time = lambda: right_time() + by

class Kind(type):
    def __instancecheck__(cls, value):
        return isinstance(value, right)

class Wrong(right, metaclass=Kind):
    @classmethod
    def now(cls, tz=None):
        return right.now(tz) + datetime.timedelta(seconds=by)
    @classmethod
    def utcnow(cls):
        return cls.now(datetime.UTC).replace(tzinfo=None)
    @classmethod
    def today(cls):
        return cls.now()

Wrong.__name__ = Wrong.__qualname__ = "datetime"
Wrong.__module__ = "datetime"
datetime.datetime = Wrong
"""


def wrong_clock(seconds: int, folder: Path) -> dict[str, str]:
    """Return the variables with which a process and its children have clocks wrong by `seconds`."""
    folder = folder / f"wrong-by-{seconds}"
    folder.mkdir(exist_ok=True)
    (folder / "sitecustomize.py").write_text(WRONG_CLOCK.format(by=seconds))
    return {"PYTHONPATH": f"{folder}:{ROOT}"}
