"""The product's settings, and the types that the tests bring along."""

from pipeline.settings import *  # noqa: F403

INSTALLED_APPS = [*INSTALLED_APPS, "tests.tasks.app.Handlers"]  # noqa: F405
if _offset := float(__import__("os").environ.get("TASKS_TEST_CLOCK_OFFSET", 0)):
    import time

    _right = time.time
    time.time = lambda: _right() + _offset
