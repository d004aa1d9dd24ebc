"""Texts of the operator, which a site shows as pages of their own."""

from __future__ import annotations

from pathlib import Path

from django.core.exceptions import ImproperlyConfigured

MOST_BYTES = 200_000


def read(variable: str, path: str) -> str:
    """Return the text in a file; nothing without one. Raises ImproperlyConfigured."""
    if not path:
        return ""
    try:
        data = Path(path).read_bytes()
        text = data.decode().strip()
    except (OSError, UnicodeDecodeError) as error:
        why = f"{variable} must name a text file in UTF-8 that can be read: {error}."
        raise ImproperlyConfigured(why) from None
    if len(data) > MOST_BYTES:
        raise ImproperlyConfigured(f"{variable} names a file of more than {MOST_BYTES:,} bytes.")
    return text
