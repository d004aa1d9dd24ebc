"""Template tags of pages that update by themselves."""

from __future__ import annotations

from django import template

register = template.Library()
