"""Context of a page (`response.context`), without those of the templates that it includes.

Django tells tests of every template that it renders, with a copy of the context: a page with a
table includes hundreds.
"""

from __future__ import annotations

import pytest
from django.template import Context, Template
from django.test.signals import template_rendered


@pytest.fixture(scope="session", autouse=True)
def _tell_of_whole_pages_only(django_test_environment: None) -> None:
    Template._render = _render_page  # type: ignore[attr-defined]


def _render_page(template: Template, context: Context) -> str:
    if context.template is template:  # not one that it includes or extends
        template_rendered.send(sender=template, template=template, context=context)
    return template.nodelist.render(context)
