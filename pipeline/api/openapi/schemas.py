"""Descriptions of endpoints: one decorator per method, read by `pipeline.api.openapi`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum, StrEnum
from typing import Any, TypeVar

from rest_framework.serializers import Serializer

from pipeline.api.problem_type import ProblemType
from pipeline.api.problem_types import RAISED
from pipeline.domain.permissions import Action
from pipeline.domain.states import Move
from pipeline.domain.verbs import ACTIONS, VERBS

Method = TypeVar("Method", bound=Callable[..., Any])
Schema = dict[str, Any]
Shape = type[Serializer[Any]]


class Tag(StrEnum):
    """Chapter of the documentation. The value is its heading."""

    JOBS = "Jobs"
    LINE = "The line of a job"
    APPLICATIONS = "Applications"
    PEOPLE = "People"
    COMPANIES = "Companies"
    SIGNING_IN = "Signing in"
    EVENTS = "Events"
    TASKS = "Background work"
    WEBHOOKS = "Webhooks"
    SANDBOX = "Test mode"


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a request, in its query or headers."""

    name: str
    about: str
    schema: Schema
    where: str = "query"
    required: bool = False
    deprecated: bool = False
    more: Schema = field(default_factory=dict)  # how its value is written


@dataclass(frozen=True, slots=True)
class File:
    """A response that is not JSON, and its possible media types."""

    media: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Operation:
    """Description of one operation for clients."""

    name: str
    tag: Tag
    action: Action
    gives: Mapping[int, Any]
    takes: tuple[Shape, ...] = ()
    media: str = "application/json"
    bodies: Mapping[str, Schema] = field(default_factory=dict)
    refuses: tuple[ProblemType, ...] = ()
    parameters: tuple[Parameter, ...] = ()
    headers: tuple[str, ...] = ()
    tagged: bool = False
    located: bool = True  # whether a 201 names the URL of the new object
    takes_credentials: bool = True  # otherwise even a wrong one is ignored
    about: str = ""

    @property
    def old_fields(self) -> frozenset[str]:
        """Return the deprecated names of fields that the body may still have."""
        shapes: tuple[Any, ...] = self.takes
        return frozenset(name for shape in shapes for name in shape.deprecated)


# The attribute of a view's method that holds its operation.
OPERATION = "operation"


def describes(
    name: str, tag: Tag, action: Action, gives: Any, *, status: int = 200, **more: Any
) -> Callable[[Method], Method]:
    """Describe a view's method for clients. The summary is the method's docstring.

    `name`: the operation's id. `action`: the entry in the table of permissions. `gives`: the type
    of the response, or one for each status; None for no body. `takes`: the accepted shapes of the
    body. `bodies`: the schemas of bodies that are not JSON, by media type. `refuses`: problems
    beyond those that every operation has. `tagged`: the response has an ETag, and If-None-Match is
    honoured.
    """
    answers = gives if isinstance(gives, Mapping) else {status: gives}
    operation = Operation(name, tag, action, answers, **more)

    def attach_schema(method: Method) -> Method:
        setattr(method, OPERATION, operation)
        return method

    return attach_schema


def describes_move(name: str, move: Move, gives: Any, **more: Any) -> Callable[[Method], Method]:
    """Describe a verb on an application, as `describes`, by what is declared of it."""
    refuses = tuple(RAISED[error] for error in VERBS[move].refuses)
    return describes(name, Tag.APPLICATIONS, ACTIONS[move], gives, refuses=refuses, **more)


def integer_schema(low: int, high: int | None = None, **more: Any) -> Schema:
    """Return the schema of a whole number between two bounds."""
    limits = {"minimum": low} if high is None else {"minimum": low, "maximum": high}
    return {"type": "integer", "format": "int64"} | limits | more


def choices_schema(names: type[Enum]) -> Schema:
    """Return the schema of a string with fixed choices."""
    return {"type": "string", "enum": [each.value for each in names]}
