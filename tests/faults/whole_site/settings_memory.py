"""The product's settings, with the mistake of the control."""

from pipeline.settings import *  # noqa: F403  the product's

INSTALLED_APPS = [*INSTALLED_APPS, "tests.faults.whole_site.memory.Memory"]  # noqa: F405
