"""Template tags of pages that update by themselves, and of all forms.

The views use `live_page`.
"""

from __future__ import annotations

import secrets
from typing import Any

from django import template
from django.template.base import NodeList, Parser, Token
from django.template.context import Context
from django.template.defaulttags import CsrfTokenNode
from django.utils import timezone
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

# The form field with the id of a submission, see `pipeline.pages.submissions`.
SUBMISSION = "submission_id"

register = template.Library()


class _LiveRegion(template.Node):
    def __init__(self, inside: NodeList) -> None:
        self.inside = inside

    def render(self, context: Context) -> SafeString:
        live: dict[str, Any] = context.get("live") or {}
        names = {"url": "data-live", "tag": "data-tag", "stream": "data-stream"}
        given = [(names[name], live[name]) for name in names if name in live]
        attributes = format_html_join("", ' {}="{}"', given)
        return format_html(
            '<div class="live-region" id="live"{}>{}</div>',
            attributes,
            self.inside.render(context),
        )


class _FormTokens(CsrfTokenNode):
    def render(self, context: Context) -> SafeString:
        submission = context.get(SUBMISSION) or secrets.token_urlsafe(12)
        hidden = format_html('<input type="hidden" name="{}" value="{}">', SUBMISSION, submission)
        return SafeString(super().render(context)) + hidden


@register.tag
def csrf_token(parser: Parser, token: Token) -> _FormTokens:
    """Return Django's token, and an id by which a form that is sent twice is known."""
    return _FormTokens()


@register.tag
def live_region(parser: Parser, token: Token) -> _LiveRegion:
    """Mark the part of a page that is fetched again after a change. At most one per page."""
    inside = parser.parse(["endlive_region"])
    parser.delete_first_token()
    return _LiveRegion(inside)


@register.simple_tag
def live_state() -> SafeString:
    """Return the note on live updates, or without JavaScript the page's time."""
    now = timezone.localtime()
    return format_html(
        '<span class="live" id="live-state" data-state="still">{}</span>',
        _("As of %(time)s") % {"time": f"{now:%H:%M}"},
    )
