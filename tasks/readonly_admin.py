"""Read-only back-office pages that never read a whole table."""

from __future__ import annotations

from functools import cached_property
from typing import Any, ClassVar
from uuid import UUID

from django.contrib import admin
from django.core.paginator import Paginator
from django.db.models import Model, Q, QuerySet
from django.http import HttpRequest

MOST_LISTED = 1_000


class ReadonlyAdminPaginator(Paginator):
    """Paginator of the first rows of a list. It counts only as far as it shows."""

    @cached_property
    def count(self) -> int:
        """Count the rows, up to MOST_LISTED."""
        rows = self.object_list.order_by().values("pk")[:MOST_LISTED]  # type: ignore[attr-defined]  # not for lists
        return int(rows.count())


class ReadonlyAdmin(admin.ModelAdmin):
    """Read-only rows. Only services change them: they check and log every change."""

    paginator = ReadonlyAdminPaginator
    show_full_result_count = False
    list_per_page = 50
    sortable_by: ClassVar[tuple[str, ...]] = ()  # sorting by a column without an index reads all
    search_fields: ClassVar[tuple[str, ...]] = ("pk",)
    # Columns searched for a whole id; each has an index.
    ids: ClassVar[tuple[str, ...]] = ("id",)
    # Columns searched by the beginning of their text; each has an index.
    beginnings: ClassVar[tuple[str, ...]] = ()

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Refuse to add rows."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Refuse to change rows."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Refuse to delete rows."""
        return False

    def lookup_allowed(self, lookup: str, value: Any, request: HttpRequest | None = None) -> bool:
        """Refuse filters in the URL: repeated queries could reveal hidden values."""
        return False

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        """Search by whole id or by the beginning of a text; both use an index."""
        return search(queryset, search_term, self.ids, self.beginnings), False


def search(
    rows: QuerySet[Any], text: str, ids: tuple[str, ...], beginnings: tuple[str, ...]
) -> QuerySet[Any]:
    """Filter rows by id or by the beginning of a text; an empty search returns all."""
    text = text.strip().lower()
    if not text:
        return rows
    wanted = Q(pk__in=())
    for name, value in [(name, parse_id(text)) for name in ids]:
        wanted |= Q(**{name: value}) if value else Q(pk__in=())
    for name in beginnings:
        wanted |= Q(**{f"{name}__startswith": text})
    return rows.filter(wanted)


def parse_id(text: str) -> UUID | None:
    """Parse an id; None if the text is not one."""
    try:
        return UUID(text)
    except ValueError:
        return None


def hex_column(name: str, label: Any) -> Any:
    """Return a column that shows bytes as hexadecimal digits."""

    @admin.display(description=label)
    def shown_in_readonly_admin(_: admin.ModelAdmin, row: Model) -> str:
        return bytes(getattr(row, name)).hex()

    return shown_in_readonly_admin
