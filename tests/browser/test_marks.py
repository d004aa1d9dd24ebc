"""Marks of the people in line: side by side or one below the other, never on each other."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from jobs.models import Company
from pipeline.models import Application
from tests.browser.helpers import sign_in_staff
from tests.browser.site import Site
from tests.support import factories
from tests.support.accounts import member_of

pytestmark = pytest.mark.slow


def overlap(one: dict[str, float], other: dict[str, float]) -> bool:
    """Tell if two boxes cover each other."""
    return all(
        one[at] < other[at] + other[size] - 1 and other[at] < one[at] + one[size] - 1
        for at, size in (("x", "width"), ("y", "height"))
    )


@pytest.mark.parametrize("width", [390, 700, 1280])
def test_all_marks_of_a_person_stand_apart_beside_or_below_the_name(
    page: Page, site: Site, company: Company, width: int
) -> None:
    _holder, waiting = factories.applications(factories.job(company_id=company.id), 2)
    Application.objects.filter(id=waiting.id).update(
        name="Ana Li", decay_count=1, passes_used=1, pass_next=True
    )
    page.set_viewport_size({"width": width, "height": 900})
    sign_in_staff(page.context, site.url, member_of(company))
    page.goto(f"/company/jobs/{waiting.job_id}/")

    row = page.locator("#waitlist .waiting")
    expect(row.locator(".chip")).to_have_count(3)
    parts = [*row.locator(".chip").all(), *row.locator(".place b, .name, .btn").all()]
    boxes = [part.bounding_box() for part in parts]

    for place, box in enumerate(boxes):
        assert not any(overlap(box, other) for other in boxes[:place])
    assert boxes[4]["width"] > 60  # the marks leave room for the name
    assert min(box["x"] for box in boxes[:3]) >= boxes[4]["x"] - 1  # none below the tick box
