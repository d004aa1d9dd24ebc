"""Template tags of languages: that of the page, of texts of companies, and the menu."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from django import template
from django.conf import settings
from django.http import HttpRequest, QueryDict
from django.utils import timezone
from django.utils.html import format_html, format_html_join, json_script
from django.utils.safestring import SafeString
from django.utils.translation import get_language, override
from django.utils.translation import gettext as _

from pipeline.web.languages import PARAMETER, offered
from pipeline.wording.language import (
    ENGLISH,
    code,
    is_from_the_right,
    reads_from_the_right,
    zone_name,
)
from pipeline.wording.scripts import PLACE, SENTENCES

# The pages that search engines keep, each in every language.
PUBLIC = frozenset(
    "openings opening job_facts for_companies privacy terms accessibility careers".split()
)

register = template.Library()


@register.simple_tag(name="language_attributes")
def tag_language_attributes() -> SafeString:
    """Return the attributes of a page's outermost element: its language, and its direction."""
    return _attributes(code())


@lru_cache(64)
def _attributes(language: str) -> SafeString:
    direction = ' dir="rtl"' if reads_from_the_right(language) else ""
    return format_html('lang="{}"{}', language, SafeString(direction))


@register.filter(name="lang_of")
def tag_lang_of(language: str) -> SafeString | str:
    """Return the attributes of an element whose text is in a language, unless it is the page's.

    Nothing if the language is not known.
    """
    if not language or language == code():
        return ""
    direction = "rtl" if reads_from_the_right(language) else "ltr"
    attribute = SafeString(f' dir="{direction}"' * (direction == "rtl" or is_from_the_right()))
    return format_html(' lang="{}"{}', language, attribute)


@register.simple_tag(name="english")
def tag_english() -> SafeString | str:
    """Return the attribute of an element whose text is in English in every language."""
    return tag_lang_of("en")


@register.simple_tag(name="languages")
def tag_languages() -> list[tuple[str, str]]:
    """Return the languages that people can choose, if there are several, with their own names."""
    known = offered()
    return list(known.items()) if len(known) > 1 else []


@register.simple_tag(name="own_language")
def tag_own_language() -> str:
    """Return the name of the page's language in itself."""
    return offered().get(get_language() or "", "English")


@register.simple_tag(name="in_language")
def tag_in_language(query: str, language: str) -> str:
    """Return the query of the address of a page in a language."""
    given = QueryDict(query, mutable=True)
    given[PARAMETER] = language
    return f"?{given.urlencode()}"


@register.simple_tag(name="change_language")
def tag_change_language(language: str) -> str:
    """Return "Change language" in a language, for those who cannot read the page."""
    with override(language):
        return _("Change language")


@register.simple_tag(name="language_head", takes_context=True)
def tag_language_head(context: Mapping[str, Any]) -> SafeString | str:
    """Return what the head of a page says in other languages, and of them.

    For search engines, a public page links to itself in each language. Scripts find there what they
    say, unless it is in English, and how times name the place of the reader's zone.
    """
    request: HttpRequest | None = context.get("request")
    match = request.resolver_match if request else None
    links: SafeString | str = ""
    if request and match and match.url_name in PUBLIC:
        links = link_alternates(f"{settings.SITE_URL}{request.path}")
    if code() == ENGLISH:
        return links
    place = zone_name(timezone.get_current_timezone())
    return format_html("{}\n{}", links, _words_of_scripts(code(), place))


@lru_cache(512)
def _words_of_scripts(language: str, place: str) -> SafeString:
    """Return what scripts say in a language: every page has the same, so it is made once."""
    with override(language):
        words = {text: _(text) for text in SENTENCES}
    return json_script({PLACE: place, **words}, "words-of-scripts")


def link_alternates(address: str) -> SafeString | str:
    """Return the links of a page to itself in every language, if there are several.

    Without a language, the address is in the browser's.
    """
    if len(offered()) < 2:
        return ""
    pairs = [(language, f"{address}?{PARAMETER}={language}") for language in offered()]
    pairs.append(("x-default", address))
    return format_html_join("\n", '<link rel="alternate" hreflang="{}" href="{}">', pairs)
