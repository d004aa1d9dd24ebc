"""What all endpoints of the API have in common."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import Serializer
from rest_framework.views import APIView

from pipeline.api.conditional import answer_with_tag, weak_tag
from pipeline.api.pagination import link_to_next
from pipeline.api.parsing import refuse_unfit_body


class Endpoint(APIView):
    """A view that answers for the one who asks, and says so to caches."""

    http_method_names = ("get", "head", "post", "put", "patch", "delete")

    @property
    def default_response_headers(self) -> dict[str, str]:
        """The headers of every answer; a 405 also says what is allowed."""
        headers = {"Vary": "Authorization, Cookie", "Cache-Control": "private, no-cache"}
        if self.allowed_methods and self.request.method not in self.allowed_methods:
            headers["Allow"] = ", ".join(self.allowed_methods)
        return headers

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Refuse what cannot be read before anything else is looked at."""
        refuse_unfit_body(request)
        super().initial(request, *args, **kwargs)


class NothingHere(Endpoint):
    """Every address under /api/ that is none."""

    authentication_classes = ()

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Answer 404, by whatever method. Raises NotFound."""
        raise NotFound


def body_of(request: Request, shape: type[Serializer[Any]], **options: Any) -> dict[str, Any]:
    """The request's body in the given shape. Raises ValidationError, ParseError."""
    serializer = shape(data=request.data, **options)
    serializer.is_valid(raise_exception=True)
    return serializer.validated_data


def page_answer(request: Request, payload: Mapping[str, Any]) -> Response:
    """A page of a list, with the link to the next one."""
    return Response(payload, headers=link_to_next(request, payload["next_cursor"]))


def tagged_answer(request: Request, payload: Mapping[str, Any]) -> Response:
    """What a job-scoped read shows, with a weak ETag and, of a list, the link to the next page."""
    response = answer_with_tag(request, payload, weak_tag(payload))
    for name, value in link_to_next(request, payload.get("next_cursor")).items():
        response[name] = value
    return response
