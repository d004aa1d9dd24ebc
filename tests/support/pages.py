"""Read pages and press their buttons."""

from __future__ import annotations

import html
import re
from typing import Any

from django.http import HttpResponse
from django.test import Client


def page_of(client: Client, path: str) -> str:
    """Return the page at an address, on one line."""
    answer = client.get(path)
    assert answer.status_code == 200
    return re.sub(r"\s+", " ", answer.content.decode())


def follow(client: Client, path: str, data: dict[str, Any]) -> str:
    """Press a button, and return the page that it leads to, on one line."""
    answer = client.post(path, data, follow=True)
    assert answer.status_code == 200
    return re.sub(r"\s+", " ", answer.content.decode())


def text_of(response: HttpResponse | Any) -> str:
    """Return the text in the main part of a page, without its markup."""
    page = response.content.decode()
    main = page[page.find("<main") : page.find("</main>")] if "<main" in page else page
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", main)).split())


def values_of_form(client: Client, path: str) -> dict[str, Any]:
    """Return what a browser would send if nothing were typed into the form of a page."""
    form = client.get(path).context["form"]
    values = {name: form[name].value() for name in form.fields}
    return {name: value for name, value in values.items() if value not in (None, False)}
