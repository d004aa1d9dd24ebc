"""Answers to a live page that polls again."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.http import HttpResponse
from django.test import RequestFactory, override_settings

from pipeline.live import stream_tokens
from pipeline.pages.live_page import STREAM_HEADER, live_page

pytestmark = pytest.mark.django_db

TEMPLATES = {
    "page": "<h1>x</h1>{% live_state %}{% live_region %}{% include 'part' %}{% endlive_region %}",
    "part": "<p>{{ text }} {{ request.get_full_path }}</p><form>{% csrf_token %}</form>",
}
WITH_TEMPLATES = override_settings(
    TEMPLATES=[
        {
            "BACKEND": "django.template.backends.django.DjangoTemplates",
            "OPTIONS": {
                "loaders": [("django.template.loaders.locmem.Loader", TEMPLATES)],
                "context_processors": ["django.template.context_processors.request"],
                "builtins": ["pipeline.templatetags.live"],
            },
        }
    ]
)
JOB = UUID(int=7)
MOMENT = timedelta(seconds=5)


class Seen:
    """A page of this test, and how often its context was built."""

    def __init__(self) -> None:
        self.built = 0
        self.tag = uuid4().hex

    def get(self, query: str = "", **how: Any) -> HttpResponse:
        """Return the answer to a reader of the page."""
        request = RequestFactory().get(f"/x{query}", **how)
        request.session, request.user = {}, _Nobody()
        with WITH_TEMPLATES:
            return live_page(request, "page", "part", build=self._build, tag=self.tag, jobs=[JOB])

    def _build(self) -> dict[str, Any]:
        self.built += 1
        return {"text": "hello"}


class _Nobody:
    is_authenticated = False


def test_the_page_names_its_fragment_its_tag_and_its_stream() -> None:
    html = Seen().get("?place=3").content.decode()

    assert "<h1>x</h1>" in html
    assert 'data-live="/x?place=3&amp;fragment=1"' in html
    (ticket,) = re.findall(r'data-stream="/live/([^"]+)"', html)
    known = stream_tokens.read(ticket)
    assert known is not None
    assert known.jobs == {JOB}


def test_the_fragment_comes_alone_and_does_not_show_how_it_was_asked_for() -> None:
    answer = Seen().get("?place=3&fragment=1")

    html = answer.content.decode()
    assert "<h1>" not in html
    assert "hello /x?place=3</p>" in html
    assert "private" in answer["Cache-Control"]
    assert answer[STREAM_HEADER].startswith("/live/")


def test_who_has_it_already_gets_304_and_nothing_is_built() -> None:
    page = Seen()
    etag = page.get("?fragment=1")["ETag"]
    page.built = 0

    answer = page.get("?fragment=1", headers={"If-None-Match": etag})

    assert (answer.status_code, answer.content, page.built) == (304, b"", 0)
    assert answer["ETag"] == etag
    assert abs(datetime.fromisoformat(answer["Server-Time"]) - datetime.now(UTC)) < MOMENT


def test_another_state_is_another_tag_and_is_built() -> None:
    page = Seen()
    etag = page.get("?fragment=1")["ETag"]
    page.tag += "!"

    answer = page.get("?fragment=1", headers={"If-None-Match": etag})

    assert answer.status_code == 200
    assert answer["ETag"] != etag
    assert page.built == 2


def test_the_same_look_is_shared_but_the_token_is_everybodys_own() -> None:
    page = Seen()

    first, second = (page.get("?fragment=1").content.decode() for _ in range(2))

    assert page.built == 1
    tokens = [re.findall(r'value="(\w{64})"', html) for html in (first, second)]
    assert all(len(found) == 1 for found in tokens)
    assert tokens[0] != tokens[1]


def test_another_address_is_not_shared() -> None:
    page = Seen()

    page.get("?fragment=1&place=1")
    page.get("?fragment=1&place=2")

    assert page.built == 2
