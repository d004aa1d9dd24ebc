"""The gallery of all parts of pages, which only developers see."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from pipeline.pages.gallery import NAMES

pytestmark = pytest.mark.django_db


def test_developers_see_every_part_in_light_and_dark(client: Client, settings: Any) -> None:
    settings.DEV_MAIL = True

    shown = client.get(reverse("gallery")).content.decode()

    assert shown.count('class="look in-') == 2
    assert [name for name in NAMES if shown.count(name) < 2] == []


def test_nobody_else_sees_the_gallery(client: Client, settings: Any) -> None:
    settings.DEV_MAIL = False

    assert client.get(reverse("gallery")).status_code == 404
