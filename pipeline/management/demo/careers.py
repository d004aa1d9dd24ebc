"""Careers page of the demo's first company, with a logo and a colour of its own."""

from __future__ import annotations

from io import BytesIO
from uuid import UUID

from PIL import Image, ImageDraw

from jobs.models import Company
from pipeline.careers.pages import save_page, set_logo

SLUG, COLOUR = "harbour", "0e7490"
INTRODUCTION = """\
We build and mend **wooden boats** by the harbour, in small crews.

- Work that you can see float
- Calm days: nobody works more than 36 hours
"""


def add_careers_page(company: Company, owner_id: UUID) -> None:
    """Publish the page."""
    save_page(
        company_id=company.id,
        slug=SLUG,
        values={"colour": COLOUR, "introduction": INTRODUCTION},
        by=owner_id,
    )
    logo = _draw_logo()
    set_logo(company_id=company.id, file=logo, size=len(logo.getbuffer()), by=owner_id)


def _draw_logo() -> BytesIO:
    """Draw a boat under sail."""
    picture = Image.new("RGBA", (256, 256))
    pen = ImageDraw.Draw(picture)
    pen.polygon([(120, 24), (120, 168), (32, 168)], fill=f"#{COLOUR}")
    pen.polygon([(136, 56), (136, 168), (216, 168)], fill="#ee9b0f")
    pen.polygon([(16, 184), (240, 184), (200, 232), (56, 232)], fill=f"#{COLOUR}")
    written = BytesIO()
    picture.save(written, "PNG")
    return written
