"""`manage.py run_tasks` refuses invalid options before anything starts."""

from __future__ import annotations

import pytest
from django.core.management import CommandError, call_command


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("--lease", "0.5"),
        ("--lease", "86400"),
        ("--slots", "0"),
        ("--slots", "65"),
        ("--processes", "0"),
        ("--processes", "33"),
        ("--drain", "-1"),
    ],
)
def test_an_option_out_of_its_range_is_refused_by_name(option: str, value: str) -> None:
    with pytest.raises(CommandError, match=f"{option} takes"):
        call_command("run_tasks", option, value)


def test_what_is_no_number_is_refused() -> None:
    with pytest.raises(CommandError, match="--lease"):
        call_command("run_tasks", "--lease", "half an hour")
