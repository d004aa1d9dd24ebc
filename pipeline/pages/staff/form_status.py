"""The status of an answer that shows a form again."""

from __future__ import annotations

from collections.abc import Callable
from http import HTTPStatus

from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse

ROOM = "/account/"
FORMS = ("form", "verify_form", "webauthn_form")


class RefusedForms:
    """Have the pages of allauth answer 422 when they refuse a form, as our own pages do."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Nothing of its own."""
        return self.get_response(request)

    def process_template_response(
        self, request: HttpRequest, response: TemplateResponse
    ) -> TemplateResponse:
        """The page, with another status where it shows what is wrong with a form."""
        if request.path.startswith(ROOM) and response.status_code == HTTPStatus.OK:
            context = response.context_data or {}
            forms = (context.get(name) for name in FORMS)
            if any(form is not None and form.is_bound and form.errors for form in forms):
                response.status_code = HTTPStatus.UNPROCESSABLE_ENTITY
        return response
