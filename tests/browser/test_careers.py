"""A careers page is published, given a logo and a domain, and shown in a frame on another site."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from playwright.sync_api import expect

from jobs.models import Job
from pipeline.careers.pages import save_page
from tests.browser.buttons import shows
from tests.browser.helpers import sign_in_staff, usable_by_everybody
from tests.browser.site import OpenPage, Site
from tests.browser.world import World
from tests.careers.test_logos import picture

pytestmark = pytest.mark.slow


@pytest.fixture
def elsewhere() -> Iterator[tuple[str, list[str]]]:
    """Serve a page of another site, whose body a test puts into the list."""
    body: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write("".join(body).encode())

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}", body
    server.shutdown()
    server.server_close()


def test_an_owner_publishes_a_page(
    browser_page: OpenPage, site: Site, world: World, tmp_path: Path
) -> None:
    page = browser_page()
    sign_in_staff(page.context, site.url, world.owner)
    page.goto("/company/careers/")
    page.get_by_label("Name in the address").fill("northwind")
    page.get_by_label("Introduction").fill("We build **boats**.")
    page.get_by_label("Your colour").fill("#ffe000")
    page.get_by_role("button", name=re.compile("Publish page|Save$")).click()
    shows(page, "Saved. Visitors see it within a minute.")

    file = tmp_path / "logo.png"
    file.write_bytes(picture("PNG"))
    page.locator("#logo > summary").click()
    page.get_by_label("Logo", exact=True).set_input_files(file)
    page.get_by_role("button", name="Save logo").click()
    shows(page, "The logo is saved.")
    page.locator("#domain > summary").click()
    page.get_by_label("Domain", exact=True).fill("jobs.harbour.example")
    page.get_by_role("button", name="Save domain").click()
    shows(page, "_next-in-line.jobs.harbour.example")
    usable_by_everybody(page, "careers_settings-domain")
    preview = page.frame_locator(".careers-preview")
    expect(preview.get_by_role("heading", level=1)).to_contain_text("Jobs at")

    page.goto("/c/northwind/")
    expect(page.locator("strong", has_text="boats")).to_be_visible()
    usable_by_everybody(page, "careers-with-logo")


def test_a_company_shows_its_jobs_and_the_form_in_a_frame_on_its_own_site(
    browser_page: OpenPage,
    site: Site,
    world: World,
    elsewhere: tuple[str, list[str]],
    expected_problems: list[str],
) -> None:
    other, body = elsewhere
    expected_problems.append("frame-ancestors 'none'")
    slug, job = world.careers.slug, world.careers.job
    company = Job.objects.get(id=job).company_id

    def allow(*origins: str) -> None:
        values = {"embed_origins": list(origins)}
        save_page(company_id=company, slug=slug, values=values, by=world.owner.id)

    def frame(path: str) -> None:
        body[:] = [f'<iframe src="{site.url}/c/{slug}/embed/{path}" width="600" height="500">']

    allow(other)
    page = browser_page()
    frame("")
    page.goto(other)
    expect(page.frame_locator("iframe").get_by_role("heading", level=2)).to_have_count(2)

    frame(f"jobs/{job}/")
    page.goto(other)
    form = page.frame_locator("iframe")
    form.get_by_label("Your name").fill("Ana Li")
    form.get_by_label("Email address").fill("ana.in.a.frame@example.org")
    with page.context.expect_page() as opened:
        form.get_by_role("button", name="Apply").click()
    expect(opened.value.get_by_label("Code from the email")).to_be_visible()

    allow()
    frame("?q=")
    page.goto(other)
    expect(page.locator("iframe")).to_be_visible()
    assert not any(each.locator("h2").count() for each in page.frames)
