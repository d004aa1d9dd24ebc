"""The documentation's views: the document, and a page to browse it offline."""

from __future__ import annotations

from functools import cache
from hashlib import sha256
from typing import Any

from csp.constants import SELF
from csp.decorators import csp_update
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.utils.decorators import method_decorator
from django.views import View
from drf_spectacular.views import SpectacularSwaggerSplitView
from rest_framework.request import Request
from rest_framework.response import Response

from pipeline.api.conditional import answer_if_changed
from pipeline.api.endpoint import Endpoint
from pipeline.api.openapi import document
from pipeline.config.release import COMMIT, VERSION


class IndexView(Endpoint):
    """`/`: which release answers, and where its documentation is."""

    authentication_classes = ()
    documents = True

    def check_throttles(self, request: Request) -> None:
        """Count nothing: this page reads no database."""

    def get(self, request: Request) -> Response:
        """Return version, commit (empty if it is unknown) and the documentation's addresses."""
        return Response(
            {
                "version": VERSION,
                "commit": COMMIT,
                "documentation": "/api/v1/docs/",
                "openapi": "/api/v1/openapi.json",
            }
        )


class DocumentView(Endpoint):
    """`/openapi.json`"""

    authentication_classes = ()
    documents = True

    def check_throttles(self, request: Request) -> None:
        """Count nothing: this page reads no database."""

    def get(self, request: Request) -> Response | HttpResponse:
        """Return the OpenAPI document, or 304 if the client already has it."""
        answer = answer_if_changed(request, None, _docs_etag())
        if answer.status_code == 304:
            return answer
        return HttpResponse(
            document.build_json(),
            content_type="application/json",
            headers={"ETag": _docs_etag()},
        )


class DocsView(View):
    """`/docs/`: a page that loads nothing from other sites.

    Its library takes much memory and is loaded when someone first opens the page.
    """

    documents = True

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        """Return the page, or its script."""
        return SwaggerPage.as_view()(request)


@cache
def _docs_etag() -> str:
    return f'"{sha256(document.build_json()).hexdigest()[:32]}"'


# The page that shows the OpenAPI document.


# Swagger's own style sheet has its icons as data: addresses.
@method_decorator(csp_update({"img-src": [SELF, "data:"]}), name="dispatch")
class SwaggerPage(SpectacularSwaggerSplitView):
    """Swagger's page, with its script in a separate response."""

    authentication_classes = ()
    url = "/api/v1/openapi.json"
    template_name = "api/docs.html"
