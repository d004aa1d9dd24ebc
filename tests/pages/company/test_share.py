"""Sharing a job: its link, its QR code, and the box for the company's own site."""

from __future__ import annotations

import html
import re
from uuid import UUID
from xml.etree import ElementTree

import pytest
from django.conf import settings
from django.test import Client

from jobs.models import Company, JobPosting
from tests.support import factories
from tests.support.pages import page_of, text_of

NAMESPACE = "{http://www.w3.org/2000/svg}"


def test_a_job_is_shared_by_its_link_a_code_and_a_box(viewer: Client, job: UUID) -> None:
    page = html.unescape(page_of(viewer, f"/company/jobs/{job}/share/"))

    link = f"{settings.SITE_URL}/jobs/{job}/"
    assert f'value="{link}"' in page
    assert f'<iframe src="{link}embed/"' in page
    assert f'<a href="{link}">' in page
    assert f'aria-label="QR code of {link}"' in page
    assert "Only your company" not in page


def test_a_title_cannot_break_out_of_the_snippets(viewer: Client, job: UUID) -> None:
    JobPosting.objects.filter(job_id=job).update(title='"><script>alert(1)</script></textarea>')

    page = page_of(viewer, f"/company/jobs/{job}/share/")

    assert page.count("<script>alert") == 0
    snippet = html.unescape(re.findall(r"<textarea[^>]*>(.*?)</textarea>", page)[0])
    assert "<script>" not in snippet
    assert "&lt;script&gt;" in snippet


def test_the_code_is_taken_away_as_a_drawing_that_is_dark_on_light(
    viewer: Client, job: UUID
) -> None:
    answer = viewer.get(f"/company/jobs/{job}/share/qr.svg")

    drawn = ElementTree.fromstring(answer.content)  # noqa: S314  we drew it
    assert answer["Content-Type"] == "image/svg+xml"
    assert answer["Content-Disposition"].startswith("attachment; filename=")
    assert drawn.find(f"{NAMESPACE}rect").get("fill") == "#fff"  # type: ignore[union-attr]
    assert drawn.find(f"{NAMESPACE}path").get("fill") == "#000"  # type: ignore[union-attr]
    assert drawn.get("aria-label", "").endswith(f"/jobs/{job}/")


def test_a_draft_says_that_its_link_does_not_work_yet(viewer: Client, company: Company) -> None:
    draft = factories.job(company_id=company.id, open_now=False)

    page = text_of(viewer.get(f"/company/jobs/{draft}/share/"))

    assert "Only your company can open this link yet" in page
    assert "See the box" not in page


@pytest.mark.parametrize("path", ["share/", "share/qr.svg"])
def test_a_job_of_another_company_is_not_shared(viewer: Client, path: str) -> None:
    assert viewer.get(f"/company/jobs/{factories.job()}/{path}").status_code == 404
