"""Filters of SCIM (RFC 7644, section 3.4.2.2) as conditions of the database.

The library reads a filter and checks it against the resource. The values of a condition are its
parameters, and only the attributes named here can be asked for.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from django.db.models import Q
from scim2_models import InvalidFilterException, InvalidValueException, Resource, ScimFilter
from scim2_models.path import (
    AttrPath,
    CompareOperator,
    Comparison,
    FilterVisitor,
    LogicalExpr,
    LogicalOperator,
    Not,
    Present,
    ValuePath,
)

LONGEST, MOST_TERMS = 1_000, 20
_EVERYBODY, _NOBODY = Q(pk__isnull=False), Q(pk__in=[])
# The fields of attributes, by resource.
USER_FIELDS = {
    "id": "id",
    "externalid": "external_id",
    "username": "user_name",
    "displayname": "user__name",
    "active": "is_active",
    "emails": "user__email",
    "emails.value": "user__email",
    "groups": "groups__id",
    "groups.value": "groups__id",
    "meta.created": "created_at",
    "meta.lastmodified": "changed_at",
}
GROUP_FIELDS = {
    "id": "id",
    "externalid": "external_id",
    "displayname": "name",
    "members": "users__id",
    "members.value": "users__id",
    "meta.created": "created_at",
    "meta.lastmodified": "changed_at",
}
_IDS = frozenset({"id", "groups__id", "users__id"})
_TIMES = frozenset({"created_at", "changed_at"})
_LOOKUPS = {
    CompareOperator.co: "icontains",
    CompareOperator.sw: "istartswith",
    CompareOperator.ew: "iendswith",
    CompareOperator.gt: "gt",
    CompareOperator.ge: "gte",
    CompareOperator.lt: "lt",
    CompareOperator.le: "lte",
}


def read(text: str, resource: type[Resource[Any]], fields: dict[str, str]) -> Q:
    """Return the condition of a filter. Raises InvalidFilterException."""
    if len(text) > LONGEST:
        raise InvalidFilterException(detail=f"The filter is longer than {LONGEST} characters.")
    if text.count("(") > MOST_TERMS:
        raise InvalidFilterException(detail=f"The filter has more than {MOST_TERMS} brackets.")
    parsed: Any = ScimFilter[resource](text)  # type: ignore[valid-type]
    # An attribute that we do not keep is refused, not overlooked: it could name everybody.
    parsed._validate_semantics(strict=True)
    return _Conditions(fields).visit(parsed.ast)


class _Conditions(FilterVisitor[Q]):
    """Walk through a filter that makes its condition."""

    def __init__(self, fields: dict[str, str], within: str = "") -> None:
        self._fields, self._within, self._terms = fields, within, 0

    def visit_comparison(self, node: Comparison) -> Q:
        self._count()
        if self._within and node.attr_path.attr.lower() in ("type", "primary"):
            return self._of_the_only_email(node)
        field = self._field(node.attr_path)
        if node.op is CompareOperator.ne:
            return ~self._compare(field, CompareOperator.eq, node.value)
        return self._compare(field, node.op, node.value)

    def visit_present(self, node: Present) -> Q:
        self._count()
        field = self._field(node.attr_path)
        if field in _IDS or field in _TIMES or field == "is_active":
            return Q(**{f"{field}__isnull": False})
        return ~Q(**{field: ""})

    def visit_not(self, node: Not) -> Q:
        return ~self.visit(node.expr)

    def visit_logical_expr(self, node: LogicalExpr) -> Q:
        parts = [self.visit(each) for each in node.terms]
        kind = Q.AND if node.op == LogicalOperator.and_ else Q.OR
        return Q(*parts, _connector=kind)

    def visit_value_path(self, node: ValuePath) -> Q:
        inside = _Conditions(self._fields, within=node.attr_path.attr.lower())
        inside._terms = self._terms
        found = inside.visit(node.val_filter)
        self._terms = inside._terms
        return found

    def _count(self) -> None:
        self._terms += 1
        if self._terms > MOST_TERMS:
            raise InvalidFilterException(detail=f"The filter has more than {MOST_TERMS} terms.")

    def _field(self, path: AttrPath) -> str:
        name = ".".join(each for each in (self._within, path.attr, path.sub_attr) if each)
        field = self._fields.get(name.lower())
        if field is None:
            raise InvalidFilterException(
                detail=f"The attribute {name[:100]} cannot be in a filter."
            )
        return field

    def _of_the_only_email(self, node: Comparison) -> Q:
        only = {"type": "work", "primary": True}[node.attr_path.attr.lower()]
        said = node.value.lower() if isinstance(node.value, str) else node.value
        is_eq = node.op is CompareOperator.eq
        return _EVERYBODY if (said == only) == is_eq else _NOBODY

    def _compare(self, field: str, op: CompareOperator, value: Any) -> Q:
        if field in _IDS:
            return Q(**{field: _id(value)}) if op is CompareOperator.eq and _id(value) else _NOBODY
        if field == "is_active":
            return Q(is_active=value is True or str(value).lower() == "true")
        if field in _TIMES:
            return Q(**{f"{field}__{_LOOKUPS.get(op, 'exact')}": _time(value)})
        if value is None:
            return Q(**{field: ""})
        if not isinstance(value, str) or not value.isprintable():
            raise InvalidFilterException(detail="The value must be a string that can be printed.")
        exact = "exact" if field == "external_id" else "iexact"
        return Q(**{f"{field}__{_LOOKUPS.get(op, exact)}": value})


def _id(value: Any) -> UUID | None:
    try:
        return UUID(str(value))
    except ValueError:
        return None


def _time(value: Any) -> datetime:
    try:
        said = datetime.fromisoformat(str(value))
    except ValueError:
        raise InvalidValueException(detail="The time must be like 2030-01-31T12:00:00Z.") from None
    return said if said.tzinfo else said.replace(tzinfo=UTC)
