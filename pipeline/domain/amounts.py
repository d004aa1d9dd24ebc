"""Numbers in sentences: each chooses the plural form, and is written as its language does."""

from __future__ import annotations

from django.utils.formats import number_format


class Amount(int):
    """Number whose thousands are grouped when it is put into a text: 2,000."""

    def __str__(self) -> str:
        return number_format(int(self), force_grouping=True)

    def __format__(self, spec: str) -> str:
        return str(self) if not spec else super().__format__(spec)
