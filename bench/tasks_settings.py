"""The product's settings, plus the benchmarks' own task types and Procrastinate."""

from pipeline.settings import *  # noqa: F403  the product's

INSTALLED_APPS = [*INSTALLED_APPS, "procrastinate.contrib.django", "tasks_app.Bench"]  # noqa: F405
PROCRASTINATE_IMPORT_PATHS = ["procrastinate_noop"]
