"""A worker's settings in these tests: this week's release."""

from tests.tasks.settings import *  # noqa: F403

BEFORE = INSTALLED_APPS  # noqa: F405
INSTALLED_APPS = [*BEFORE, "tests.faults.tasks.apps.NewRelease"]
