"""The product's settings, and the types that the tests bring along."""

from pipeline.settings import *  # noqa: F403

INSTALLED_APPS = [*INSTALLED_APPS, "tests.tasks.app.Handlers"]  # noqa: F405
