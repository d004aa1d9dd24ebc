"""Middleware for allauth's pages."""

from __future__ import annotations

from collections.abc import Callable
from http import HTTPStatus

from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse

ALLAUTH_ROOT = "/account/"
FORMS = ("form", "verify_form", "webauthn_form")


class RefusedFormStatus:
    """Middleware that answers 422 when allauth refuses a form, as our own pages do."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Pass the request on unchanged."""
        return self.get_response(request)

    def process_template_response(
        self, request: HttpRequest, response: TemplateResponse
    ) -> TemplateResponse:
        """Set the status to 422 if the page shows a form with errors."""
        if request.path.startswith(ALLAUTH_ROOT) and response.status_code == HTTPStatus.OK:
            context = response.context_data or {}
            forms = (context.get(name) for name in FORMS)
            if any(form is not None and form.is_bound and form.errors for form in forms):
                response.status_code = HTTPStatus.UNPROCESSABLE_ENTITY
        return response
