"""Responses of an operation: its types, its headers, and every way it can refuse."""

from __future__ import annotations

from collections.abc import Iterable
from http import HTTPStatus
from itertools import groupby
from typing import TypedDict

from drf_spectacular.plumbing import ComponentRegistry, ResolvedComponent

from pipeline.api import problem_types
from pipeline.api.openapi.examples import sample_problem
from pipeline.api.openapi.fields import Types, open_codes
from pipeline.api.openapi.schemas import File, Operation, Schema
from pipeline.api.problem_type import ProblemType
from pipeline.api.problem_types import ALL_PROBLEM_TYPES
from pipeline.api.problems import MEDIA_TYPE
from pipeline.domain.permissions import RULES

_KEYED = [kind for kind in ALL_PROBLEM_TYPES if kind.code.startswith("IDEMPOTENCY_KEY")]
_EVERYWHERE = (
    problem_types.VALIDATION_ERROR,
    problem_types.MALFORMED_REQUEST,
    problem_types.NOT_AUTHENTICATED,
    problem_types.NOT_ACCEPTABLE,
    problem_types.PAYLOAD_TOO_LARGE,
    problem_types.THROTTLED,
    problem_types.BUSY,
    problem_types.UNAVAILABLE,
)

# Each header's description, its schema, and whether it is always present.
HEADERS = {
    "X-Request-ID": (
        "The request's id: yours, if valid.",
        {"type": "string"},
        True,
    ),
    "ETag": ("The version of the resource.", {"type": "string"}, True),
    "Content-Disposition": ("The file's name.", {"type": "string"}, True),
    "Location": (
        "The URL of the new resource.",
        {"type": "string", "format": "uri-reference"},
        True,
    ),
    "Link": (
        'The next page, as `<…>; rel="next"`; absent on the last page.',
        {"type": "string"},
        False,
    ),
    "Idempotent-Replayed": (
        "`true` if this is the response to an earlier request with the same key.",
        {"type": "string", "enum": ["true"]},
        False,
    ),
    "Deprecation": (
        "Only if the request used a deprecated name: since when it is deprecated (RFC 9745).",
        {"type": "string"},
        False,
    ),
    "Sunset": (
        "Only if the request used a deprecated name: until when it works at least (RFC 8594).",
        {"type": "string"},
        False,
    ),
    "RateLimit": (
        "`r` calls remain now, and all of them again after `t` seconds. After a 429, wait for "
        "`Retry-After`, when there is room for one.",
        {"type": "string"},
        False,
    ),
    "RateLimit-Policy": (
        "The limits that apply: `q` calls in `w` seconds.",
        {"type": "string"},
        False,
    ),
    "WWW-Authenticate": ("The required credential.", {"type": "string"}, True),
    "Place-Token": (
        "Only of `apply`, if the site or the job was too busy: send it with the same request.",
        {"type": "string"},
        False,
    ),
    "Retry-After": ("Seconds to wait before a retry.", {"type": "integer", "minimum": 0}, True),
}

_OF_ALL = ("X-Request-ID", "RateLimit", "RateLimit-Policy")
_OF_STATUS = {
    401: ("WWW-Authenticate",),
    429: ("Retry-After",),
    503: ("Retry-After", "Place-Token"),
}


class FieldErrorOut(TypedDict):
    """A field that was refused."""

    pointer: str
    code: str
    detail: str


class ErrorEnvelopeOut(TypedDict):
    """The problem's code and detail again, for clients that look for them here."""

    code: str
    message: str


class Answers:
    """Builder of operations' responses. Their shared parts go into the document's components."""

    def __init__(self, registry: ComponentRegistry) -> None:
        self._registry = registry
        self._types = Types(registry)

    def answers_of(self, operation: Operation, method: str, path: str) -> Schema:
        """Return the responses of an operation by status."""
        given = {
            str(status): self._success_answer(operation, method, status)
            for status in operation.gives
        }
        if operation.tagged:
            unchanged = {
                "description": "You already have the current version.",
                "headers": self._headers(["ETag", *_OF_ALL]),
            }
            given["304"] = self._shared(ResolvedComponent.RESPONSE, "NotModified", unchanged)
        kinds = sorted(
            possible_problems(operation, method, path),
            key=lambda kind: (kind.status, kind.code),
        )
        by_status = groupby(kinds, key=lambda kind: kind.status)
        return given | {
            str(status): self._refusal_answer(list(kinds)) for status, kinds in by_status
        }

    def _success_answer(self, operation: Operation, method: str, status: int) -> Schema:
        headers = [*_OF_ALL, *operation.headers]
        if operation.tagged:
            headers.append("ETag")
        if any(parameter.name == "cursor" for parameter in operation.parameters):
            headers.append("Link")
        if status == HTTPStatus.CREATED and operation.located:
            headers.append("Location")
        if operation.old_fields or any(each.deprecated for each in operation.parameters):
            headers += ["Deprecation", "Sunset"]
        if method == "POST" and _KEYED:
            headers.append("Idempotent-Replayed")
        answer: Schema = {
            "description": HTTPStatus(status).phrase,
            "headers": self._headers(headers),
        }
        hint = operation.gives[status]
        if isinstance(hint, File):
            text = {"schema": {"type": "string"}}
            answer["content"] = {media: dict(text) for media in hint.media}
        elif hint is not None:
            answer["content"] = {"application/json": {"schema": self._types.schema_of(hint)}}
        return answer

    def _refusal_answer(self, kinds: list[ProblemType]) -> Schema:
        """Return the problems of one status, shared by operations with the same ones."""
        codes = [kind.code for kind in kinds]
        names = ["".join(word.title() for word in code.split("_")) for code in codes]
        build = {
            "description": "; ".join(f"`{kind.code}`: {kind.title}" for kind in kinds),
            "headers": self._headers([*_OF_ALL, *_OF_STATUS.get(kinds[0].status, ())]),
            "content": {
                MEDIA_TYPE: {
                    "schema": self._problem_schema(),
                    "examples": {kind.code: {"value": sample_problem(kind)} for kind in kinds},
                }
            },
            "x-codes": codes,
        }
        return self._shared(ResolvedComponent.RESPONSE, "Or".join(names), build)

    def _headers(self, names: Iterable[str]) -> Schema:
        given = {}
        for name in names:
            about, schema, always = HEADERS[name]
            build = {"description": about, "schema": schema, "required": always}
            given[name] = self._shared(ResolvedComponent.HEADER, name, build)
        return given

    def _problem_schema(self) -> Schema:
        text: Schema = {"type": "string"}
        codes: Schema = {
            **text,
            "enum": [kind.code for kind in ALL_PROBLEM_TYPES],
            "description": "Code of a problem.",
        }
        properties: Schema = {
            "type": {
                **text,
                "format": "uri-reference",
                "description": "The URL of this kind of problem, with a page that explains it.",
            },
            "title": text,
            "status": {"type": "integer", "minimum": 400, "maximum": 599},
            "detail": text,
            "code": open_codes(self._shared(ResolvedComponent.SCHEMA, "ProblemCode", codes)),
            "request_id": {"type": ["string", "null"]},
            "errors": self._types.schema_of(list[FieldErrorOut]),
            "existing_id": {
                "type": ["string", "null"],
                "format": "uuid",
                "description": "The id of the object that causes the refusal, if there is one.",
            },
            "error": self._types.schema_of(ErrorEnvelopeOut),
        }
        build = {
            "type": "object",
            "description": "Why a request was refused (RFC 9457). Distinguish problems by `code`.",
            "properties": properties,
            "required": list(properties),
        }
        return self._shared(ResolvedComponent.SCHEMA, "Problem", build)

    def _shared(self, kind: str, name: str, build: Schema) -> Schema:
        component = ResolvedComponent(name, kind, build, object=name)
        self._registry.register_on_missing(component)
        return component.ref


def possible_problems(operation: Operation, method: str, path: str) -> set[ProblemType]:
    """Return every way in which an operation can refuse a request."""
    kinds = {*_EVERYWHERE, *operation.refuses}
    if not operation.takes_credentials:
        kinds -= {problem_types.NOT_AUTHENTICATED} - {*operation.refuses}
    if not RULES[operation.action].public:
        kinds.add(problem_types.PERMISSION_DENIED)
    if "{" in path:
        kinds.add(problem_types.NOT_FOUND)
    if operation.takes or operation.bodies:
        kinds.add(problem_types.UNSUPPORTED_MEDIA_TYPE)
    if method == "POST":
        kinds.update(_KEYED)
    return kinds
