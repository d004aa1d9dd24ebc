"""The class of gunicorn's workers, which gunicorn imports before Django is set up."""

from __future__ import annotations

import subprocess
import sys

from pipeline.server import gunicorn_config
from tests.support.environment import ROOT

IMPORT = "from gunicorn.util import load_class; load_class({name!r})"


def import_without_django(name: str) -> str:
    """Import a class as gunicorn does, in a new process. Return the error, if there is one."""
    command = [sys.executable, "-c", IMPORT.format(name=name)]
    ended = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False
    )
    return ended.stderr


def test_gunicorn_can_import_the_class_before_django_is_set_up() -> None:
    error = import_without_django(gunicorn_config.worker_class)

    assert error == ""


def test_a_class_that_needs_models_would_be_found() -> None:
    error = import_without_django("applicants.models.Applicant")

    assert "AppRegistryNotReady" in error or "ImproperlyConfigured" in error
