"""The checks of `run.py check`, and the triggers in the database."""

from __future__ import annotations

import pytest
from django.core.management import call_command

from tools.check import Step, steps


@pytest.mark.slow
@pytest.mark.parametrize("step", steps(), ids=lambda step: step.name)
def test_every_check_passes(step: Step) -> None:
    run = step.run()

    assert run.returncode == 0, run.stdout


@pytest.mark.django_db
def test_the_triggers_are_installed_as_the_models_say(capsys: pytest.CaptureFixture[str]) -> None:
    call_command("pgtrigger", "ls")

    told = capsys.readouterr().out
    for name in ("append_only", "no_truncate"):
        [line] = [line for line in told.splitlines() if name in line]
        assert "INSTALLED" in line
