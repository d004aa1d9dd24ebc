"""SCIM 2.0 (RFC 7643, RFC 7644): an identity provider provisions a company's members and groups.

It speaks with a token of its own, which opens nothing else, and nothing else opens this. Answers,
errors included, have the shapes of SCIM. What an identity provider sends beyond the attributes that
are kept here is left out, as Entra and Okta expect.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar
from uuid import UUID

from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.urls import path, re_path
from pydantic import ValidationError
from scim2_models import (
    AuthenticationScheme,
    Bulk,
    ChangePassword,
    Context,
    Error,
    ETag,
    Filter,
    ForbiddenException,
    ListResponse,
    Meta,
    NotFoundException,
    Patch,
    PatchOp,
    PayloadTooLargeException,
    PreconditionFailedException,
    Resource,
    ResourceType,
    ResponseParameters,
    Schema,
    SCIMException,
    ScimPolicy,
    ScimProvider,
    ServiceProviderConfig,
    Sort,
    UnauthorizedException,
)

from pipeline.models import ProvisionedGroup, ProvisionedUser, ProvisioningToken
from pipeline.provisioning import filters, groups, people, resources, tokens
from pipeline.provisioning.filters import GROUP_FIELDS, USER_FIELDS
from pipeline.provisioning.groups import Wanted
from pipeline.provisioning.people import Person
from pipeline.provisioning.resources import Group, User, base_url, show_group, show_user
from pipeline.web import rate_limit
from pipeline.web.addresses import client_address, client_site
from pipeline.web.rate_limit import Rate

P = ParamSpec("P")
R = TypeVar("R", User, Group)
security = logging.getLogger("security")

MEDIA_TYPE = "application/scim+json"
MEDIA_TYPES = frozenset({MEDIA_TYPE, "application/json"})
MOST_BYTES, PAGE = 1_048_576, 100
MOST_OPERATIONS = 100
# Of a company: a first synchronisation sends tens of requests a second for minutes.
RATE = Rate(3_000, 60)
# Entra and Okta send attributes that no schema here has, and name members to remove in `value`.
TOLERANT = ScimPolicy(
    unknown=ScimPolicy.Unknown.ignore,
    remove_value_as_filter=ScimPolicy.RemoveValue.apply,
    unmatched_path_filter=ScimPolicy.UnmatchedPathFilter.create,
)


@dataclass(frozen=True, slots=True)
class Provisioner:
    """A caller with a provisioning token."""

    token: ProvisioningToken

    @property
    def log_name(self) -> str:
        """Return the caller's name for log lines."""
        return f"provisioning:{self.token.id}"


View = Callable[Concatenate[HttpRequest, ProvisioningToken, P], HttpResponse]


def endpoint(**methods: View[P]) -> Callable[Concatenate[HttpRequest, P], HttpResponse]:
    """Return a view that checks token, rate and body, and answers in the shapes of SCIM."""

    def scim_view(request: HttpRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponse:
        method = "GET" if request.method == "HEAD" else str(request.method)
        try:
            token = _authenticate(request)
            if method not in methods:
                raise _refusal(405, "This address does not take the method.")
            _check_body(request)
            with TOLERANT:
                return methods[method](request, token, *args, **kwargs)
        except (SCIMException, ValidationError, RecursionError) as error:
            answer = _answer_error(error)
        if answer.status_code == 405:
            answer["Allow"] = ", ".join(methods)
        return answer

    return wraps(next(iter(methods.values())))(scim_view)


def _answer_error(error: Exception) -> HttpResponse:
    match error:
        case SCIMException():
            told = error.to_error()
        case ValidationError():
            told = Error.from_validation_errors(error)[0]
        case _:
            told = _refusal(400, "The request is nested too deeply.").to_error()
    more = {401: {"WWW-Authenticate": 'Bearer realm="scim"'}, 429: {"Retry-After": "60"}}
    status = told.status or 400
    return _answer(told.model_dump(), status, more.get(status))


def _refusal(status: int, detail: str) -> SCIMException:
    refused = SCIMException(detail=detail)
    refused.status = status
    return refused


def _authenticate(request: HttpRequest) -> ProvisioningToken:
    scheme, _, secret = request.headers.get("Authorization", "").partition(" ")
    token = None
    if scheme.lower() == "bearer" and secret.startswith(tokens.PREFIX):
        token = tokens.find(secret.strip())
    if token is None:
        address, site = client_address(request), client_site(request)
        counted = rate_limit.count_client("anonymous", address, site=site)
        if counted is not None and not counted.tally.allowed:
            raise _refusal(429, "Too many requests. Try again in a minute.")
        raise UnauthorizedException(detail="Send a provisioning token as a bearer token.")
    request.user = Provisioner(token)  # type: ignore[assignment]  # as those of the API
    company_id = str(token.provider.company_id)
    if not rate_limit.count("scim", company_id, RATE).allowed:
        raise _refusal(429, "Too many requests. Try again in a minute.")
    return token


def _check_body(request: HttpRequest) -> None:
    if request.method not in ("POST", "PUT", "PATCH"):
        return
    if request.content_type not in MEDIA_TYPES:
        raise _refusal(415, f"Send {MEDIA_TYPE}.")
    if (
        int(request.headers.get("Content-Length") or 0) > MOST_BYTES
        or len(request.body) > MOST_BYTES
    ):
        raise PayloadTooLargeException(detail=f"At most {MOST_BYTES} bytes.")


def _answer(data: Any, status: int = 200, headers: dict[str, str] | None = None) -> HttpResponse:
    body = resources.as_json(data)
    more = {"Cache-Control": "no-store"} | (headers or {})
    return HttpResponse(body, status=status, content_type=MEDIA_TYPE, headers=more)


# Users and groups.


@dataclass(frozen=True, slots=True)
class Kind(Generic[R]):
    """Kind of resource: its shape, rows and acts."""

    shape: type[R]
    rows: Callable[[ProvisioningToken], QuerySet[Any]]
    fields: dict[str, str]
    show: Callable[[Any], R]
    wanted: Callable[[R], Any]
    acts: Any

    def parameters(self, request: HttpRequest) -> ResponseParameters[R]:
        """Return which attributes to show. Raises ValidationError."""
        said = request.GET
        names = {
            "attributes": said.get("attributes", "")[:1_000] or None,
            "excluded_attributes": said.get("excludedAttributes", "")[:1_000] or None,
        }
        return ResponseParameters[self.shape].model_validate(names)  # type: ignore[name-defined]  # chosen at run time

    def answer(
        self, request: HttpRequest, row: Any, context: Context, status: int = 200
    ) -> HttpResponse:
        """Return a resource, or 304 if the client already has this version."""
        shown = self.show(row)
        assert shown.meta  # noqa: S101  of every resource shown
        tag = str(shown.meta.version)
        if request.headers.get("If-None-Match") == tag and request.method in ("GET", "HEAD"):
            return HttpResponse(status=304, headers={"ETag": tag})
        data = shown.model_dump(scim_ctx=context, response_parameters=self.parameters(request))
        return _answer(data, status, {"ETag": tag, "Location": str(shown.meta.location)})

    def check_version(self, request: HttpRequest, row: Any) -> R:
        """Return the resource, if the client has seen it as it is."""
        shown = self.show(row)
        wanted = request.headers.get("If-Match", "*")
        if wanted != "*" and str(shown.meta and shown.meta.version) not in wanted:
            raise PreconditionFailedException(detail="The resource has changed. Read it again.")
        return shown


def _rows_of_users(token: ProvisioningToken) -> QuerySet[ProvisionedUser]:
    rows = ProvisionedUser.objects.filter(provider=token.provider)
    return rows.select_related("user").prefetch_related("groups")


def _rows_of_groups(token: ProvisioningToken) -> QuerySet[ProvisionedGroup]:
    return ProvisionedGroup.objects.filter(provider=token.provider).prefetch_related("users")


USERS = Kind(User, _rows_of_users, USER_FIELDS, show_user, Person.read, people)
GROUPS = Kind(Group, _rows_of_groups, GROUP_FIELDS, show_group, Wanted.read, groups)


def collection(kind: Kind[Any]) -> Callable[..., HttpResponse]:
    """Return the view of all resources of a kind."""

    def show_list(request: HttpRequest, token: ProvisioningToken) -> HttpResponse:
        """List the resources that a filter names, a page of them."""
        rows = kind.rows(token)
        if text := request.GET.get("filter"):
            rows = rows.filter(filters.read(text, kind.shape, kind.fields)).distinct()
        start = max(1, _number(request, "startIndex", 1))
        most = min(PAGE, max(0, _number(request, "count", PAGE)))
        total = rows.count()
        shown = [kind.show(row) for row in rows.order_by("id")[start - 1 : start - 1 + most]]
        page = ListResponse[kind.shape](  # type: ignore[name-defined]  # chosen at run time
            total_results=total, start_index=start, items_per_page=len(shown), resources=shown
        )
        return _answer(
            page.model_dump(
                scim_ctx=Context.RESOURCE_QUERY_RESPONSE,
                response_parameters=kind.parameters(request),
            )
        )

    def create(request: HttpRequest, token: ProvisioningToken) -> HttpResponse:
        """Create a resource."""
        said = kind.shape.model_validate_json(
            request.body, scim_ctx=Context.RESOURCE_CREATION_REQUEST
        )
        row = kind.acts.create(token, kind.wanted(said))
        return kind.answer(request, row, Context.RESOURCE_CREATION_RESPONSE, 201)

    return endpoint(GET=show_list, POST=create)


def single(kind: Kind[Any]) -> Callable[..., HttpResponse]:
    """Return the view of one resource of a kind."""

    def show(request: HttpRequest, token: ProvisioningToken, name: str) -> HttpResponse:
        """Show a resource."""
        row = kind.acts.read(token, _id(name))
        return kind.answer(request, row, Context.RESOURCE_QUERY_RESPONSE)

    def replace(request: HttpRequest, token: ProvisioningToken, name: str) -> HttpResponse:
        """Replace a resource."""
        said = kind.shape.model_validate_json(
            request.body, scim_ctx=Context.RESOURCE_REPLACEMENT_REQUEST
        )

        def edit(row: Any) -> Any:
            kind.check_version(request, row)
            return kind.wanted(said)

        row = kind.acts.change(token, _id(name), edit)
        return kind.answer(request, row, Context.RESOURCE_REPLACEMENT_RESPONSE)

    def patch(request: HttpRequest, token: ProvisioningToken, name: str) -> HttpResponse:
        """Change some attributes of a resource."""
        said = PatchOp[kind.shape].model_validate_json(  # type: ignore[name-defined]  # chosen at run time
            request.body, scim_ctx=Context.RESOURCE_PATCH_REQUEST
        )
        if len(said.operations or ()) > MOST_OPERATIONS:
            raise ForbiddenException(detail=f"At most {MOST_OPERATIONS} operations.")

        def edit(row: Any) -> Any:
            shown = kind.check_version(request, row)
            said.patch(shown)
            return kind.wanted(shown)

        row = kind.acts.change(token, _id(name), edit)
        return kind.answer(request, row, Context.RESOURCE_PATCH_RESPONSE)

    def delete(request: HttpRequest, token: ProvisioningToken, name: str) -> HttpResponse:
        """Delete a resource."""
        kind.acts.delete(token, _id(name), lambda row: kind.check_version(request, row))
        return HttpResponse(status=204)

    return endpoint(GET=show, PUT=replace, PATCH=patch, DELETE=delete)


def _number(request: HttpRequest, name: str, usual: int) -> int:
    text = request.GET.get(name, "")
    if not text:
        return usual
    try:
        return min(int(text[:20]), 1_000_000)
    except ValueError:
        raise _refusal(400, f"{name} is a number.") from None


def _id(name: str) -> UUID:
    try:
        return UUID(name)
    except ValueError:
        raise NotFoundException(detail="There is no such resource.") from None


# Descriptions of the service.


def _config() -> ServiceProviderConfig:
    return ServiceProviderConfig(
        patch=Patch(supported=True),
        bulk=Bulk(supported=False, max_operations=0, max_payload_size=0),
        filter=Filter(supported=True, max_results=PAGE),
        change_password=ChangePassword(supported=False),
        sort=Sort(supported=False),
        etag=ETag(supported=True),
        authentication_schemes=[
            AuthenticationScheme(
                type=AuthenticationScheme.Type.oauthbearertoken,
                name="Provisioning token",
                description="A token that an owner makes in Settings, Provisioning",
                primary=True,
            )
        ],
    )


PROVIDER = ScimProvider(
    models=[User, Group],
    resource_types=[ResourceType.from_resource(User), ResourceType.from_resource(Group)],
)


def _described(kind: str, described: Resource[Any]) -> Resource[Any]:
    name = f"/{described.id}" if described.id else ""
    at = f"{base_url()}/{kind}s{name}" if name else f"{base_url()}/{kind}"
    described = described.model_copy()
    described.meta = Meta(resource_type=kind, location=at)
    return described


def _show_config(request: HttpRequest, token: ProvisioningToken) -> HttpResponse:
    """Show what the service supports."""
    shown = _described("ServiceProviderConfig", _config())
    return _answer(shown.model_dump(scim_ctx=Context.RESOURCE_QUERY_RESPONSE))


def _show_described(
    request: HttpRequest, token: ProvisioningToken, kind: str, name: str = ""
) -> HttpResponse:
    """Show the kinds of resources, or their schemas; with a name one of them."""
    if "filter" in request.GET:
        raise ForbiddenException(detail="A description cannot be filtered.")
    shape, every = {
        "ResourceType": (ResourceType, PROVIDER.resource_types),
        "Schema": (Schema, PROVIDER.schemas),
    }[kind]
    shown: list[Any] = [_described(kind, each) for each in every]
    if name:
        one = next((each for each in shown if each.id == name), None)
        if one is None:
            raise NotFoundException(detail="There is no such description.")
        return _answer(one.model_dump(scim_ctx=Context.RESOURCE_QUERY_RESPONSE))
    page = ListResponse[shape](  # type: ignore[valid-type]  # chosen at run time
        total_results=len(shown), start_index=1, items_per_page=len(shown), resources=shown
    )
    return _answer(page.model_dump(scim_ctx=Context.RESOURCE_QUERY_RESPONSE))


def _nothing_here(request: HttpRequest, token: ProvisioningToken) -> HttpResponse:
    """Answer 404 for every unknown address under /scim/."""
    raise NotFoundException(detail="There is nothing at this address.")


_DESCRIBED = endpoint(GET=_show_described)
_NOTHING = endpoint(
    GET=_nothing_here,
    POST=_nothing_here,
    PUT=_nothing_here,
    PATCH=_nothing_here,
    DELETE=_nothing_here,
)

urlpatterns = [
    path("v2/ServiceProviderConfig", endpoint(GET=_show_config), name="scim_config"),
    path("v2/ResourceTypes", _DESCRIBED, {"kind": "ResourceType"}),
    path("v2/ResourceTypes/<str:name>", _DESCRIBED, {"kind": "ResourceType"}),
    path("v2/Schemas", _DESCRIBED, {"kind": "Schema"}),
    path("v2/Schemas/<str:name>", _DESCRIBED, {"kind": "Schema"}),
    path("v2/Users", collection(USERS), name="scim_users"),
    path("v2/Users/<str:name>", single(USERS), name="scim_user"),
    path("v2/Groups", collection(GROUPS), name="scim_groups"),
    path("v2/Groups/<str:name>", single(GROUPS), name="scim_group"),
    re_path("", _NOTHING),
]
