#!/usr/bin/env python3
"""Run Django's management commands for Next in Line."""

import gc
import os
import sys

if __name__ == "__main__":
    # Nearly all that is loaded stays: with the usual 700 objects between two runs, the collector
    # would take a quarter of the time until a command starts.
    gc.set_threshold(10_000, 20, 50)
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "pipeline.settings")
    from django.core.exceptions import ImproperlyConfigured
    from django.core.management import execute_from_command_line

    try:
        execute_from_command_line(sys.argv)
    except ImproperlyConfigured as error:
        sys.exit(f"{error}")
