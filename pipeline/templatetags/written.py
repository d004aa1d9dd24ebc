"""Template filter of texts that people wrote."""

from __future__ import annotations

from django import template

from pipeline.wording.links import linked_text

register = template.Library()
register.filter("linked", linked_text)
