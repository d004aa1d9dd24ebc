"""The settings of a worker that still runs last week's release."""

from tests.faults.tasks.settings import *  # noqa: F403

INSTALLED_APPS = [*BEFORE, "tests.faults.tasks.apps.OldRelease"]  # noqa: F405
