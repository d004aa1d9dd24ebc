"""Pictures of the guide, taken from a running demo: four pages, and half a minute of a line moving.

Start the site (`python3 run.py`), then pass its two one-click links, the owner's and the
applicant's:

    python -m tools.pictures OWNERS_LINK APPLICANTS_LINK
"""

from __future__ import annotations

import base64
import struct
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from playwright.sync_api import Browser, CDPSession, Page, sync_playwright

from tools import ROOT

PICTURES = ROOT / "docs" / "pictures"
CHROMIUM = Path("/usr/bin/chromium")
SHELL = Path("/usr/bin/chromium-headless-shell")  # the same without windows, if it is there
MOVING_JOB = "Boatbuilder"
WIDE, FILMED, NARROW = 1280, 760, 360
TALL = 4_000  # no need to scroll
EVENTS = 30  # of the animation; each is held for what is left of a second
EVENT_MS, FRAME_MS, FRAMES = 1_000, 100, 7
QUALITY = 85
# How far a demo's own clock has to run before its pages are quiet enough for a picture.
SETTLE_MS = 1_500

SEEK = """seq => {
    const slider = document.getElementById("seq");
    slider.value = seq;
    slider.dispatchEvent(new Event("input"));
}"""
IS_SHOWN = """seq => document.querySelector("#moment [data-says]")?.dataset.says
    .startsWith(`Event ${seq.toLocaleString("en")} of`)"""
MOVES = "[...document.getAnimations()].filter(one => one.effect.target.closest('#moment'))"
FREEZE = f"at => {MOVES}.forEach(one => {{ one.pause(); one.currentTime = at; }})"
IS_MOVING = f"{MOVES}.length > 0"


class Box(NamedTuple):
    """Part of a page, in even pixels, as frames of an animation require."""

    x: int
    y: int
    width: int
    height: int


class Frame(NamedTuple):
    """Picture of a part of an animation, and how long it is shown."""

    image: bytes
    left: int
    top: int
    box: Box
    milliseconds: int


def take_pictures(owners_link: str, applicants_link: str) -> None:
    """Take all pictures again."""
    program = str(SHELL if SHELL.exists() else CHROMIUM)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        with opened(browser, owners_link, WIDE) as page:
            board = address_of_job(page, MOVING_JOB)
            shoot(page, board, "pipeline")
            page.goto(f"{board}replay/")
            shoot(page, f"{board}replay/?seq={max(1, last_event(page) - EVENTS)}", "replay")
            shoot(page, "/company/work/", "work")
        with opened(browser, applicants_link, NARROW) as page:
            shoot(page, "/me/", "my-turn", is_whole=False)
        with opened(browser, owners_link, FILMED, motion="no-preference") as page:
            page.set_viewport_size({"width": FILMED, "height": TALL})
            page.goto(f"{board}replay/")
            (PICTURES / "line.webp").write_bytes(film(page))
        browser.close()


@contextmanager
def opened(browser: Browser, link: str, width: int, motion: str = "reduce") -> Iterator[Page]:
    """Open the demo as one of its people, in a browser of their own."""
    site = "/".join(link.split("/")[:3])
    context = browser.new_context(
        base_url=site,
        viewport={"width": width, "height": 900},
        color_scheme="light",
        reduced_motion="reduce" if motion == "reduce" else "no-preference",
        timezone_id="Europe/Berlin",
    )
    page = context.new_page()
    page.goto(link)  # its script presses the button
    page.wait_for_url(lambda address: "/demo/" not in address)
    yield page
    context.close()


def address_of_job(page: Page, title: str) -> str:
    """Return the path of a job's board, from the list of the company's jobs."""
    page.goto("/company/")
    return page.get_by_role("link", name=title).first.get_attribute("href") or ""


def shoot(page: Page, address: str, name: str, *, is_whole: bool = True) -> None:
    """Take the picture of a page, or of what a screen shows of it."""
    page.goto(address)
    page.wait_for_timeout(SETTLE_MS)
    page.screenshot(path=PICTURES / f"{name}.png", full_page=is_whole)


def film(page: Page) -> bytes:
    """Film the replay of the job's last events."""
    panel = page.locator("#moment .this-event")
    camera = page.context.new_cdp_session(page)
    head = last_event(page)
    show_event(page, max(1, head - EVENTS))
    whole = even_box(panel.bounding_box())
    frames = []
    for seq in range(max(1, head - EVENTS) + 1, head + 1):
        show_event(page, seq)
        moves = page.evaluate(IS_MOVING)
        picture = even_box(page.locator("#moment .line-picture").bounding_box())
        page.evaluate(FREEZE, 0)
        frames.append(taken(camera, whole, whole, FRAME_MS))
        for number in range(1, FRAMES if moves else 1):
            page.evaluate(FREEZE, number * FRAME_MS + FRAME_MS)
            frames.append(taken(camera, picture, whole, FRAME_MS))
        rest = EVENT_MS - (FRAMES if moves else 1) * FRAME_MS
        frames[-1] = frames[-1]._replace(milliseconds=FRAME_MS + rest)
    return animation_of(frames, whole)


def last_event(page: Page) -> int:
    """Return the number of the last event that the open replay knows."""
    return int(page.locator("#seq").get_attribute("max") or 1)


def show_event(page: Page, seq: int) -> None:
    """Move the slider, and wait until the picture is that of the event."""
    page.evaluate(SEEK, seq)
    page.wait_for_function(IS_SHOWN, arg=seq)


def even_box(bounds: object) -> Box:
    """Round a part of the page outwards to even pixels."""
    assert isinstance(bounds, dict), "the part is not on the page"
    x, y = int(bounds["x"]) // 2 * 2, int(bounds["y"]) // 2 * 2
    right, bottom = bounds["x"] + bounds["width"], bounds["y"] + bounds["height"]
    return Box(x, y, (int(right) - x + 2) // 2 * 2, (int(bottom) - y + 2) // 2 * 2)


def taken(camera: CDPSession, box: Box, whole: Box, milliseconds: int) -> Frame:
    """Take a frame of a part of the page."""
    clip = {**box._asdict(), "scale": 1}
    how = {"format": "webp", "quality": QUALITY, "clip": clip}
    image = base64.b64decode(camera.send("Page.captureScreenshot", how)["data"])
    return Frame(image, box.x - whole.x, box.y - whole.y, box, milliseconds)


def animation_of(frames: list[Frame], whole: Box) -> bytes:
    """Join pictures to one animated WebP that runs for ever.

    Its format: a header, then for each frame its place, size and time, and the picture's data.
    """

    def three(number: int) -> bytes:
        return struct.pack("<I", number)[:3]

    size = three(whole.width - 1) + three(whole.height - 1)
    parts = [chunk(b"VP8X", b"\x02\x00\x00\x00" + size), chunk(b"ANIM", b"\xff" * 4 + b"\x00\x00")]
    for frame in frames:
        head = three(frame.left // 2) + three(frame.top // 2)
        head += three(frame.box.width - 1) + three(frame.box.height - 1)
        head += three(frame.milliseconds) + b"\x02"  # not blended with what is below
        parts.append(chunk(b"ANMF", head + image_data(frame.image)))
    return chunk(b"RIFF", b"WEBP" + b"".join(parts))


def chunk(name: bytes, data: bytes) -> bytes:
    """Return a chunk of a RIFF file, padded to an even length."""
    return name + struct.pack("<I", len(data)) + data + b"\x00" * (len(data) % 2)


def image_data(image: bytes) -> bytes:
    """Return the chunks of a WebP file that hold its picture."""
    place, found = 12, b""
    while place < len(image):
        name, length = image[place : place + 4], struct.unpack_from("<I", image, place + 4)[0]
        if name in (b"VP8 ", b"VP8L"):  # a page has no transparent parts
            found += chunk(name, image[place + 8 : place + 8 + length])
        place += 8 + length + length % 2
    return found


if __name__ == "__main__":
    take_pictures(*sys.argv[1:])
