"""The operator's terms and accessibility statement, from files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.test import Client

from pipeline.config import site_texts
from tests.support.pages import page_of

pytestmark = pytest.mark.django_db


def test_a_site_without_terms_has_no_such_page(client: Client) -> None:
    assert client.get("/terms/").status_code == 404
    assert 'href="/terms/"' not in page_of(client, "/")


def test_the_operators_terms_are_a_page_in_every_footer(client: Client, settings: Any) -> None:
    settings.TERMS_TEXT = "Be kind.\n\nSee https://example.org/terms"

    page = page_of(client, "/terms/")

    assert "<p>Be kind.</p>" in page
    assert 'href="https://example.org/terms"' in page
    assert 'href="/terms/"' in page_of(client, "/")


def test_without_a_statement_ours_claims_no_more_than_we_know(client: Client) -> None:
    page = page_of(client, "/accessibility/")

    assert "Nobody independent has audited them" in page
    assert 'href="/accessibility/"' in page_of(client, "/")


def test_the_operators_statement_replaces_it(client: Client, settings: Any) -> None:
    settings.ACCESSIBILITY_TEXT = "Call us: <b>1</b>"

    page = page_of(client, "/accessibility/")

    assert "Call us: &lt;b&gt;1&lt;/b&gt;" in page
    assert "audited" not in page


def test_a_file_that_cannot_be_read_is_named_at_the_start(tmp_path: Path) -> None:
    assert site_texts.read("TERMS_FILE", "") == ""
    (tmp_path / "a.txt").write_text(" Text \n")
    assert site_texts.read("TERMS_FILE", str(tmp_path / "a.txt")) == "Text"
    (tmp_path / "b.txt").write_bytes(b"\xff\xfe")
    (tmp_path / "c.txt").write_bytes(b"x" * (site_texts.MOST_BYTES + 1))
    for name in ("b.txt", "c.txt", "none.txt"):
        with pytest.raises(ImproperlyConfigured, match="TERMS_FILE"):
            site_texts.read("TERMS_FILE", str(tmp_path / name))
