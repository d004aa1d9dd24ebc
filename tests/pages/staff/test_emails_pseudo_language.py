"""No email about signing in holds a word that is not translated."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
from django.conf import settings
from django.template.loader import render_to_string
from django.utils import translation

from tests.support import pseudo_language

FILES = sorted(
    f"{folder}/{path.name}"
    for folder in ("account/email", "mfa/email")
    for path in (settings.BASE_DIR / "templates" / folder).glob("*_[ms]*.txt")
    if not path.name.startswith("base_")
)
CONTEXT = {
    "code": "12345678",
    "email": "ana@example.org",
    "ip": "192.0.2.1",
    "site_url": "https://line.example",
    "timestamp": datetime(2026, 11, 21, 8, 0, tzinfo=UTC),
}


@pytest.fixture(autouse=True)
def pseudo() -> Iterator[None]:
    """Speak the pseudo-language."""
    pseudo_language.install()
    with translation.override("qps"):
        yield


def test_there_are_emails() -> None:
    assert len(FILES) > 30


@pytest.mark.parametrize("file", FILES)
def test_an_email_about_signing_in_is_translated_as_a_whole(file: str) -> None:
    text = render_to_string(file, CONTEXT)

    assert pseudo_language.BEGIN in text
    assert [line for line in text.splitlines() if pseudo_language.left_over(line)] == []
