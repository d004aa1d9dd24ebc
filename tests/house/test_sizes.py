"""Limits on the sizes of files and functions."""

from __future__ import annotations

import pytest

from tests.house.files import functions_in, name_of, python_files

MOST_LINES_IN_A_FILE = 299
MOST_LINES_IN_A_FUNCTION = 50
# Programs that people save and run alone, away from the site, so they cannot be split.
MUST_BE_ONE_FILE = {"docs/examples/verify_receipt.py": 425}


def test_no_file_is_too_long() -> None:
    lengths = {name_of(path): len(path.read_text().splitlines()) for path in python_files()}

    assert {
        name: n
        for name, n in lengths.items()
        if n > MUST_BE_ONE_FILE.get(name, MOST_LINES_IN_A_FILE)
    } == {}


@pytest.mark.slow
def test_no_function_is_too_long() -> None:
    lengths = {
        f"{name_of(path)}:{node.lineno} {node.name}": (node.end_lineno or 0) - node.lineno + 1
        for path in python_files()
        for node in functions_in(path)
    }

    assert len(lengths) > 100
    assert {name: n for name, n in lengths.items() if n > MOST_LINES_IN_A_FUNCTION} == {}
