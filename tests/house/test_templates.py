"""Prohibitions for templates and stylesheets, from the pages' policy and from escaping."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from django.conf import settings
from django.urls import URLPattern, get_resolver

from tests.house.files import name_of
from tests.support.environment import ROOT

INLINE = re.compile(
    r"\sstyle=|<style|\son[a-z]+=|javascript:|<script(?![^>]*\ssrc=)(?![^>]*json)", re.I
)
UNESCAPED = re.compile(r"\|\s*safe\b|autoescape off|mark_safe")
ELSEWHERE = re.compile(r"""(src|href|action)=["'](https?:)?//|url\(["']?https?:|@import""", re.I)


def offenders(pattern: re.Pattern[str], *suffixes: str) -> list[str]:
    files = [
        path
        for folder in ("templates", "static", "pipeline", "applicants", "jobs")
        for path in sorted((ROOT / folder).rglob("*"))
        if path.suffix in suffixes
    ]
    assert files
    return [
        f"{name_of(path)}:{number}"
        for path in files
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if pattern.search(line)
    ]


def test_no_template_has_a_script_or_a_style_of_its_own() -> None:
    found = offenders(INLINE, ".html")

    # An email brings its styles along: many mail programs drop all others.
    assert [place for place in found if not place.startswith("templates/mail/")] == []


def test_no_hidden_text_pushes_the_text_of_its_button_aside() -> None:
    pushed = re.compile(r"""class="vh">[^\n]*</span>\n\s*</(a|button)>""")
    files = sorted((ROOT / "templates").rglob("*.html"))

    # White space behind it would be an item of its own, with a gap before it.
    assert [name_of(file) for file in files if pushed.search(file.read_text())] == []


def test_nothing_of_a_page_comes_from_elsewhere() -> None:
    assert offenders(ELSEWHERE, ".html", ".css") == []


def test_nothing_is_put_on_a_page_unescaped() -> None:
    assert offenders(UNESCAPED, ".html", ".py") == []


def test_the_policy_allows_no_inline_code() -> None:
    directives = settings.CONTENT_SECURITY_POLICY["DIRECTIVES"]

    assert [str(each) for each in directives["default-src"]] == ["'self'"]
    assert "script-src" not in directives
    assert "style-src" not in directives


def test_no_two_addresses_share_a_name() -> None:
    names = Counter(_names(get_resolver().url_patterns))

    assert len(names) > 60
    assert [name for name, times in names.items() if times > 1] == []


def _names(patterns: Iterable[Any], namespace: str = "") -> Iterator[str]:
    for entry in patterns:
        if isinstance(entry, URLPattern):
            if entry.name:
                yield f"{namespace}{entry.name}"
        else:
            inner = f"{namespace}{entry.namespace}:" if entry.namespace else namespace
            yield from _names(entry.url_patterns, inner)
