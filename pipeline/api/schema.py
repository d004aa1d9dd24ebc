"""What each endpoint says about itself: one decorator a method, read by `pipeline.api.openapi`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum, StrEnum
from typing import Any, TypeVar

from rest_framework.serializers import Serializer

from jobs.models import Scope
from pipeline.api.problems import ProblemType

Method = TypeVar("Method", bound=Callable[..., Any])
Schema = dict[str, Any]
Shape = type[Serializer[Any]]


class Tag(StrEnum):
    """The chapters of the documentation; the value is its heading."""

    JOBS = "Jobs"
    LINE = "The line of a job"
    APPLICATIONS = "Applications"
    PEOPLE = "People"
    COMPANIES = "Companies"
    SIGNING_IN = "Signing in"
    EVENTS = "Events"
    TASKS = "Background work"
    WEBHOOKS = "Webhooks"


class Who(Enum):
    """Who may call an operation."""

    ANYONE = "Anyone, with or without a credential"
    READER = "The company, with a key of scope `read` or `write`, or a member's session"
    WRITER = "The company, with a key of scope `write`, or a member's session"
    APPLICANT = "The applicant, with their token or session"
    EITHER_SIDE = "The applicant, and the company with a key of scope `read` or `write`"
    OWNER_SESSION = "An owner of the company, signed in with a session; no key will do"
    MEMBER_SESSION = "A member of the company, signed in with a session; no key will do"

    @property
    def security(self) -> list[dict[str, list[str]]]:
        """The credentials that will do, as OpenAPI has them; an empty one stands for none."""
        return _SECURITY[self]


_READ: list[dict[str, list[str]]] = [{"apiKey": [Scope.READ.value]}]
_WRITE: list[dict[str, list[str]]] = [{"apiKey": [Scope.WRITE.value]}]
_TOKEN: list[dict[str, list[str]]] = [{"applicantToken": []}]
_SESSION: list[dict[str, list[str]]] = [{"session": []}]
_SECURITY = {
    Who.ANYONE: [{}, *_READ, *_TOKEN, *_SESSION],
    Who.READER: [*_READ, *_SESSION],
    Who.WRITER: [*_WRITE, *_SESSION],
    Who.APPLICANT: [*_TOKEN, *_SESSION],
    Who.EITHER_SIDE: [*_READ, *_TOKEN, *_SESSION],
    Who.OWNER_SESSION: _SESSION,
    Who.MEMBER_SESSION: _SESSION,
}


@dataclass(frozen=True, slots=True)
class Parameter:
    """Something that a request can say in its query or its headers."""

    name: str
    about: str
    schema: Schema
    where: str = "query"
    required: bool = False


@dataclass(frozen=True, slots=True)
class File:
    """An answer that is no JSON, and of which kinds it can be."""

    media: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Operation:
    """What a client has to know of one method of one address."""

    name: str
    tag: Tag
    who: Who
    gives: Mapping[int, Any]
    takes: tuple[Shape, ...] = ()
    media: str = "application/json"
    bodies: Mapping[str, Schema] = field(default_factory=dict)
    refuses: tuple[ProblemType, ...] = ()
    parameters: tuple[Parameter, ...] = ()
    headers: tuple[str, ...] = ()
    tagged: bool = False
    about: str = ""


OPERATION = "operation"
"""The attribute of a view's method under which its operation is found."""


def describes(
    name: str, tag: Tag, who: Who, gives: Any, *, status: int = 200, **more: Any
) -> Callable[[Method], Method]:
    """Say what a view's method is to clients; the sentence about it is its docstring.

    `name`: the operation's id. `gives`: the type of the answer, or one for each status; None for
    no body. `takes`: the shapes of the body, any of which will do; `bodies`: the schemas of those
    that are no JSON, by their media type. `refuses`: the problems beyond those that every operation
    has. `tagged`: the answer has an ETag, and If-None-Match is honoured.
    """
    answers = gives if isinstance(gives, Mapping) else {status: gives}
    operation = Operation(name, tag, who, answers, **more)

    def attach(method: Method) -> Method:
        setattr(method, OPERATION, operation)
        return method

    return attach


def whole(low: int, high: int | None = None, **more: Any) -> Schema:
    """The schema of a whole number between the two."""
    limits = {"minimum": low} if high is None else {"minimum": low, "maximum": high}
    return {"type": "integer", "format": "int64"} | limits | more


def words(names: type[Enum]) -> Schema:
    """The schema of a string that is one of some words."""
    return {"type": "string", "enum": [each.value for each in names]}
