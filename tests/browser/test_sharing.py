"""A job is shared: its box is on a page of another site and leads to the form."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from django.conf import settings
from django.urls import reverse

from tests.browser.helpers import sign_in_staff
from tests.browser.site import OpenPage, Site
from tests.browser.world import World

pytestmark = pytest.mark.slow


@pytest.fixture
def site_with(tmp_path: Path) -> Iterator[Callable[[str], str]]:
    """Return the address of a site of files, another origin than ours, whose page has a body."""

    class Quiet(SimpleHTTPRequestHandler):
        def __init__(self, *args: Any) -> None:
            super().__init__(*args, directory=str(tmp_path))

        def log_message(self, *_args: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Quiet) as server:
        Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()

        def write_page(body: str) -> str:
            page = f"<!doctype html><link rel=icon href=data:,><h1>Work with us</h1>{body}"
            (tmp_path / "index.html").write_text(page)
            return f"http://127.0.0.1:{server.server_port}/"

        yield write_page
        server.shutdown()


def test_the_snippet_works_on_a_page_of_another_site(
    browser_page: OpenPage, site: Site, world: World, site_with: Callable[[str], str]
) -> None:
    staff, elsewhere = browser_page(), browser_page()
    sign_in_staff(staff.context, site.url, world.owner)
    staff.goto(reverse("share_job", args=[world.job]))
    snippet = staff.get_by_label("A box with seats").input_value()

    elsewhere.goto(site_with(snippet.replace(settings.SITE_URL, site.url)))
    box = elsewhere.frame_locator("iframe")
    box.get_by_text("waiting.").wait_for()
    with elsewhere.context.expect_page() as opened:
        box.get_by_role("link", name="Apply").click()

    assert opened.value.url == f"{site.url}{reverse('opening', args=[world.job])}"
