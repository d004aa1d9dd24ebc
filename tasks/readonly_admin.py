"""What the pages of the back office share: they only show, and never read a whole table."""

from __future__ import annotations

from functools import cached_property
from typing import Any, ClassVar
from uuid import UUID

from django.contrib import admin
from django.core.paginator import Paginator
from django.db.models import Model, Q, QuerySet
from django.http import HttpRequest

MOST_LISTED = 1_000


class BoundedPaginator(Paginator):
    """Pages of the first rows of a list. Counts no further than it shows, however long it is."""

    @cached_property
    def count(self) -> int:
        """How many rows there are, or MOST_LISTED if there are more."""
        rows = self.object_list.order_by().values("pk")[:MOST_LISTED]  # type: ignore[attr-defined]  # not for lists
        return int(rows.count())


class ShownOnly(admin.ModelAdmin):
    """Rows to look at. What changes them is the product's services, which check and log it."""

    paginator = BoundedPaginator
    show_full_result_count = False
    list_per_page = 50
    sortable_by: ClassVar[tuple[str, ...]] = ()  # sorting by a column without an index reads all
    search_fields: ClassVar[tuple[str, ...]] = ("pk",)
    ids: ClassVar[tuple[str, ...]] = ("id",)
    """Columns in which an id that is searched for may stand; each has an index."""
    beginnings: ClassVar[tuple[str, ...]] = ()
    """Columns in which a text that is searched for may be the beginning; each has an index."""

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Nobody adds rows here."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Nobody changes rows here."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Nobody deletes rows here."""
        return False

    def lookup_allowed(self, lookup: str, value: Any, request: HttpRequest | None = None) -> bool:
        """No filters by address: asked again and again, one spells out what no page shows."""
        return False

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        """By whole id, or by how a text begins: only what an index finds."""
        return searched(queryset, search_term, self.ids, self.beginnings), False


def searched(
    rows: QuerySet[Any], text: str, ids: tuple[str, ...], beginnings: tuple[str, ...]
) -> QuerySet[Any]:
    """The rows with that id, or whose text begins so; all of them if nothing is searched for."""
    text = text.strip().lower()
    if not text:
        return rows
    wanted = Q(pk__in=())
    for name, value in [(name, as_id(text)) for name in ids]:
        wanted |= Q(**{name: value}) if value else Q(pk__in=())
    for name in beginnings:
        wanted |= Q(**{f"{name}__startswith": text})
    return rows.filter(wanted)


def as_id(text: str) -> UUID | None:
    """An id that somebody wrote, if it is one."""
    try:
        return UUID(text)
    except ValueError:
        return None


def in_hex(name: str, label: str) -> Any:
    """A column of bytes, to be shown as hexadecimal digits."""

    @admin.display(description=label)
    def shown(_: admin.ModelAdmin, row: Model) -> str:
        return bytes(getattr(row, name)).hex()

    return shown
