"""The page that shows the OpenAPI document."""

from __future__ import annotations

from csp.constants import SELF
from csp.decorators import csp_update
from django.utils.decorators import method_decorator
from drf_spectacular.views import SpectacularSwaggerSplitView


# Swagger's own style sheet has its icons as data: addresses.
@method_decorator(csp_update({"img-src": [SELF, "data:"]}), name="dispatch")
class SwaggerPage(SpectacularSwaggerSplitView):
    """Swagger's page, with its script in a separate response."""

    authentication_classes = ()
    url = "/api/v1/openapi.json"
    template_name = "api/docs.html"
