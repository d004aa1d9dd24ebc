"""The page that keeps an application at a full site: its place is used, with and without scripts.

The product's protocol, queue and page, before an application that is as busy as a test wants.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from queue import SimpleQueue
from threading import Event, Thread
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from pipeline.server.requests import RequestQueue
from tests.server.full_site import PAGE, Busy, Full, alone_in_handover
from tests.server.in_process import adapter_of, serving_here
from tests.support.environment import ROOT
from tests.support.waiting import PATIENCE_SECONDS

pytestmark = pytest.mark.slow

OPENING = f"""<!doctype html><html lang="en"><title>Cook</title>
<form method="post" action="{PAGE}"%s>
<label>Name <input name="name"></label> <label>Email <input name="email"></label>
%s<button>Apply</button></form>"""
WITH_FILE = ' enctype="multipart/form-data"', '<label>CV <input type="file" name="cv"></label>'
WAITING = "We could not take your application yet"


class BusyWithPage(Busy):
    """The same application, which also has the page with the form."""

    fields = "", ""

    def __call__(self, environ: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
        if environ["REQUEST_METHOD"] == "POST":
            for _ in super().__call__(environ, lambda *_: None):
                pass
            body = b"<!doctype html><h1>You have applied</h1>"
        else:
            body = (OPENING % self.fields).encode()
        headers = [("Content-Length", str(len(body))), ("Set-Cookie", "sessionid=1")]
        start("200 OK", [*headers, ("Content-Type", "text/html; charset=utf-8")])
        return [body]


@pytest.fixture
def busy() -> BusyWithPage:
    return BusyWithPage()


@pytest.fixture
def full(busy: BusyWithPage) -> Iterator[Full]:
    """A site that is filled by `fill`, and serves static files as ever."""
    adapter = adapter_of(busy)
    adapter._queue = RequestQueue(2, most_waiting=1)

    async def answer(scope: Any, receive: Any, send: Any) -> None:
        if not scope["path"].startswith("/static/"):
            return await adapter(scope, receive, send)
        file = ROOT / scope["path"].lstrip("/")
        kind = {".js": b"text/javascript", ".css": b"text/css"}[Path(file).suffix]
        headers = [(b"content-type", kind)]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": file.read_bytes()})
        return None

    with alone_in_handover(), _serving_elsewhere(answer) as port:
        made = Full(port, adapter, busy)
        yield made
        made.go_on()


@contextmanager
def _serving_elsewhere(application: Any) -> Iterator[int]:
    """Serve from another thread: in this one, Playwright's loop counts as running."""
    ports: SimpleQueue[int] = SimpleQueue()
    over = Event()

    def serve() -> None:
        with serving_here(application) as port:
            ports.put(port)
            over.wait()

    thread = Thread(target=serve)
    thread.start()
    yield ports.get(timeout=PATIENCE_SECONDS)
    over.set()
    thread.join(PATIENCE_SECONDS)


@pytest.fixture
def open_page(browser: Browser, full: Full) -> Iterator[Callable[..., Page]]:
    """Opens the page with the form in a browser of its own."""
    contexts = []

    def opened(*, javascript: bool) -> Page:
        contexts.append(browser.new_context(java_script_enabled=javascript))
        page = contexts[-1].new_page()
        page.goto(f"http://127.0.0.1:{full.port}{PAGE}")
        page.get_by_label("Name").fill('Ada "A" <&>')
        page.get_by_label("Email").fill("ada@example.org")
        return page

    yield opened
    for context in contexts:
        context.close()


def place_of_ada(full: Full) -> bool:
    return full.busy.places[full.busy.admitted.index("ada")]


def test_a_waiting_page_sends_the_form_again_by_itself_in_its_place(
    full: Full, open_page: Callable[..., Page]
) -> None:
    page = open_page(javascript=True)
    full.fill()

    page.get_by_role("button", name="Apply").click()
    expect(page.locator("h1")).to_have_text(WAITING)
    expect(page.get_by_text("ahead of you")).to_be_visible()
    full.busy.turns.release(100)

    expect(page.locator("h1")).to_have_text("You have applied")
    assert place_of_ada(full)


def test_without_scripts_its_button_sends_the_form_again_in_its_place(
    full: Full, open_page: Callable[..., Page]
) -> None:
    page = open_page(javascript=False)
    full.fill()

    page.get_by_role("button", name="Apply").click()
    expect(page.locator("h1")).to_have_text(WAITING)
    full.let_newcomer_wait()
    full.busy.turns.release(100)
    page.get_by_role("button", name="Send it now").click()

    expect(page.locator("h1")).to_have_text("You have applied")
    assert place_of_ada(full)


def test_without_scripts_a_file_is_chosen_again_and_the_rest_and_the_place_are_kept(
    full: Full, busy: BusyWithPage, open_page: Callable[..., Page], tmp_path: Path
) -> None:
    cv = tmp_path / "cv.pdf"
    cv.write_bytes(b"%PDF-1.7 " + b"- " * 500_000)
    busy.fields = WITH_FILE
    page = open_page(javascript=False)
    page.get_by_label("CV").set_input_files(cv)
    full.fill()

    page.get_by_role("button", name="Apply").click()
    expect(page.locator("h1")).to_have_text(WAITING)
    expect(page.get_by_text("A page cannot keep a file.")).to_be_visible()
    full.busy.turns.release(100)
    page.get_by_label("Choose again: cv.pdf").set_input_files(cv)
    page.get_by_role("button", name="Send it now").click()

    expect(page.locator("h1")).to_have_text("You have applied")
    assert place_of_ada(full)
