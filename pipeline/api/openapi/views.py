"""The documentation as it is served: the document itself, and a page to browse it offline."""

from __future__ import annotations

from functools import cache
from hashlib import sha256

from csp.constants import SELF
from csp.decorators import csp_update
from django.http import HttpResponse
from django.utils.decorators import method_decorator
from drf_spectacular.views import SpectacularSwaggerSplitView
from rest_framework.request import Request
from rest_framework.response import Response

from pipeline.api.conditional import answer_with_tag
from pipeline.api.endpoint import Endpoint
from pipeline.api.openapi.document import document_as_json


class Document(Endpoint):
    """`/openapi.json`"""

    authentication_classes = ()
    documents = True

    def check_throttles(self, request: Request) -> None:
        """Count nothing: this page reads no database."""

    def get(self, request: Request) -> Response | HttpResponse:
        """Return the OpenAPI document; 304 if the client has it already."""
        answer = answer_with_tag(request, None, _tag())
        if answer.status_code == 304:
            return answer
        return HttpResponse(
            document_as_json(), content_type="application/json", headers={"ETag": _tag()}
        )


# Swagger's own style sheet has its icons as data: addresses.
@method_decorator(csp_update({"img-src": [SELF, "data:"]}), name="dispatch")
class Docs(SpectacularSwaggerSplitView):
    """`/docs/`: a page that fetches nothing from anywhere else."""

    authentication_classes = ()
    documents = True
    url = "/api/v1/openapi.json"
    template_name = "api/docs.html"


@cache
def _tag() -> str:
    return f'"{sha256(document_as_json()).hexdigest()[:32]}"'
