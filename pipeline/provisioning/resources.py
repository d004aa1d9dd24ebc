"""Users and groups as SCIM shows them (RFC 7643), with no more attributes than are needed here."""

from __future__ import annotations

from hashlib import sha256
from typing import Annotated, Any

import orjson
from django.conf import settings
from pydantic import Field
from scim2_models import (
    URN,
    ComplexAttribute,
    Meta,
    Mutability,
    Reference,
    Required,
    Resource,
    Uniqueness,
)

from pipeline.models import ProvisionedGroup, ProvisionedUser


class Email(ComplexAttribute):
    """The one address of a person."""

    value: str | None = None
    type: str | None = Field(None, examples=["work"])
    primary: bool | None = None


class GroupOfUser(ComplexAttribute):
    """A group that a person is in."""

    value: Annotated[str | None, Mutability.read_only] = None
    display: Annotated[str | None, Mutability.read_only] = None


class User(Resource[Any]):
    """A person, with the attributes of the core schema that are kept here."""

    __schema__ = URN("urn:ietf:params:scim:schemas:core:2.0:User")

    user_name: Annotated[str | None, Uniqueness.server, Required.true] = None
    display_name: str | None = None
    active: bool | None = None
    emails: list[Email] | None = None
    groups: Annotated[list[GroupOfUser] | None, Mutability.read_only] = None


class Member(ComplexAttribute):
    """A person in a group. Groups are in no groups."""

    value: Annotated[str | None, Mutability.immutable] = None
    ref: Annotated[Reference[User] | None, Mutability.immutable] = Field(
        None, serialization_alias="$ref", validation_alias="$ref"
    )
    type: Annotated[str | None, Mutability.immutable] = Field(None, examples=["User"])


class Group(Resource[Any]):
    """A group of people."""

    __schema__ = URN("urn:ietf:params:scim:schemas:core:2.0:Group")

    display_name: Annotated[str | None, Required.true] = None
    members: list[Member] | None = None


def base_url() -> str:
    """Return the address under which the resources are."""
    return f"{settings.SITE_URL}/scim/v2"


def show_user(row: ProvisionedUser) -> User:
    """Return a person as a resource; its groups are read with it."""
    shown = User(
        id=str(row.id),
        external_id=row.external_id or None,
        user_name=row.user_name,
        display_name=row.user.name or None,
        active=row.is_active,
        emails=[Email(value=row.user.email, type="work", primary=True)],
        groups=[GroupOfUser(value=str(each.id), display=each.name) for each in row.groups.all()]
        or None,
    )
    return _with_meta(shown, row, "User")


def show_group(row: ProvisionedGroup) -> Group:
    """Return a group as a resource; its members are read with it."""
    members = [
        Member(
            value=str(each.id),
            ref=Reference(f"{base_url()}/Users/{each.id}"),
            type="User",
        )
        for each in row.users.all()
    ]
    shown = Group(
        id=str(row.id),
        external_id=row.external_id or None,
        display_name=row.name,
        members=members or None,
    )
    return _with_meta(shown, row, "Group")


def as_json(data: Any) -> bytes:
    """Return data as JSON."""
    return orjson.dumps(data)


def _with_meta(shown: Any, row: ProvisionedUser | ProvisionedGroup, kind: str) -> Any:
    digest = sha256(shown.model_dump_json().encode()).hexdigest()[:32]
    shown.meta = Meta(
        resource_type=kind,
        created=row.created_at,
        last_modified=row.changed_at,
        location=f"{base_url()}/{kind}s/{row.id}",
        version=f'W/"{digest}"',
    )
    return shown
