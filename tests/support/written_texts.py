"""What people and companies have written, as it stands in the test database."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from django.apps import apps
from django.contrib.postgres.fields import ArrayField
from django.db import models

# What stands between the parts of a formatted text.
_MARKDOWN = re.compile(r"\*+|^[-#]+ |\n", re.M)
OURS = {"jobs", "applicants", "pipeline", "tasks"}


def written_texts() -> set[str]:
    """Return every text in the columns of our tables that hold no code, and its words' lines."""
    found: set[str] = set()
    for model in apps.get_models():
        if model._meta.app_label not in OURS or not model._meta.managed:
            continue
        for column in model._meta.concrete_fields:
            if isinstance(column, models.CharField | models.TextField) and column.choices:
                continue
            if isinstance(
                column, models.CharField | models.TextField | models.JSONField | ArrayField
            ):
                for value in model._default_manager.values_list(column.name, flat=True):
                    found.update(_texts_in(value))
    return {each for each in found if any(letter.islower() for letter in each)}


def _texts_in(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield " ".join(value.split())
        yield from (" ".join(line.split()) for line in value.splitlines())
        yield from (" ".join(part.split()) for part in _MARKDOWN.split(value))
    elif isinstance(value, dict):
        for each in value.values():
            yield from _texts_in(each)
    elif isinstance(value, list):
        for each in value:
            yield from _texts_in(each)
