"""Pictures of pages, and how much two of them differ. The browser draws, shrinks and compares.

A picture is kept at a fraction of its size: each of its dots is the mean of a square of the page.
So a file is small, and the edges of letters, which other versions of the browser draw a little
differently, hardly count; a changed colour, a moved block and another height do.
"""

from __future__ import annotations

import base64
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from playwright.sync_api import Page

from tests.browser.helpers import PICTURES
from tests.browser.site import WIDTHS

KEPT = Path(__file__).parent / "kept_pictures"
SCHEMES = ("light", "dark")
# Set, no picture is compared: each becomes the one that later runs compare with.
IS_REMAKING = os.environ.get("PICTURES") == "remake"

SHRUNK = 8  # dots of the page, in each direction, that one dot of a picture stands for
STEP = 8  # of a colour's red, green and blue in a picture: fewer colours make smaller files
MOST_DIFFERENCE = 10  # of a colour's red, green or blue, 0 to 255, before a dot counts as another
MOST_DOTS = 10  # other dots of a picture: an area of 16 by 40 dots of the page

# What differs each time: random ids and secrets, hashes made of them, the port of the server;
# and letters of scripts for which a machine may have another font, or none.
_SAME_WORDS = r"""
() => {
  const same = (text) => text
    .replace(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/gi, (id) => id.replace(/\w/g, "0"))
    .replace(/\b(?=\w*\d)[0-9a-f]{5,}\b/gi, (hash) => "0".repeat(hash.length))
    .replace(/(127\.0\.0\.1|localhost):\d+/g, "$1:8000")
    .replace(/\b[\w-]{20,}\b/g, (token) => /\d/.test(token) ? "0".repeat(token.length) : token);
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const text = same(walker.currentNode.data);
    if (text !== walker.currentNode.data) walker.currentNode.data = text;
  }
  for (const field of document.querySelectorAll("input, textarea")) field.value = same(field.value);
  const each = (parts, name, value) =>
    document.querySelectorAll(parts).forEach((part) => { part.style[name] = value; });
  each(".qr, .other-script", "visibility", "hidden");
  each(".live", "display", "none"); // its words may be others, and shorter
  return document.fonts.ready.then(() => undefined);
}
"""
_SHRINK = """
async ([png, by, step]) => {
  const whole = await createImageBitmap(await (await fetch(png)).blob());
  const canvas = document.createElement("canvas");
  canvas.width = Math.round(whole.width / by);
  canvas.height = Math.round(whole.height / by);
  const pen = canvas.getContext("2d");
  pen.imageSmoothingQuality = "high";
  pen.drawImage(whole, 0, 0, canvas.width, canvas.height);
  const dots = pen.getImageData(0, 0, canvas.width, canvas.height);
  dots.data.forEach((value, at) => { if (at % 4 < 3) dots.data[at] = value - (value % step); });
  pen.putImageData(dots, 0, 0);
  return canvas.toDataURL("image/webp", 1);
}
"""
_COMPARE = """
async ([before, after, most]) => {
  const dots = async (url) => {
    const picture = await createImageBitmap(await (await fetch(url)).blob());
    const canvas = new OffscreenCanvas(picture.width, picture.height);
    const pen = canvas.getContext("2d");
    pen.drawImage(picture, 0, 0);
    return pen.getImageData(0, 0, picture.width, picture.height);
  };
  const [old, now] = [await dots(before), await dots(after)];
  const size = (one) => `${one.width} by ${one.height}`;
  if (size(old) !== size(now))
    return { dots: Infinity, where: `as it is ${size(now)}, and was ${size(old)}` };
  let others = 0, left = Infinity, top = Infinity, right = 0, bottom = 0;
  for (let at = 0; at < old.data.length; at += 4) {
    const far = [0, 1, 2].map((part) => Math.abs(old.data[at + part] - now.data[at + part]));
    if (Math.max(...far) <= most) continue;
    const x = (at / 4) % old.width, y = Math.floor(at / 4 / old.width);
    others += 1;
    [left, top] = [Math.min(left, x), Math.min(top, y)];
    [right, bottom] = [Math.max(right, x), Math.max(bottom, y)];
  }
  const where = others ? `between ${left}, ${top} and ${right}, ${bottom}` : "";
  return { dots: others, where };
}
"""


@dataclass(frozen=True)
class Difference:
    """Number of a picture's dots that are others, and where they are, in dots of the picture."""

    dots: float
    where: str

    @property
    def is_seen(self) -> bool:
        """Return whether the pictures differ by more than the tolerance."""
        return self.dots > MOST_DOTS


def kept_files(name: str) -> list[Path]:
    """Return the files of a page's pictures, in each scheme and width."""
    return [KEPT / f"{name}-{scheme}-{width}.webp" for scheme in SCHEMES for width in WIDTHS]


def differences(page: Page, name: str, studio: Page) -> Iterator[str]:
    """Compare the open page with its kept pictures, or keep new ones; name what is seen.

    A picture that differs is put into `screenshots/`, beside the one that was kept.
    """
    usual = page.viewport_size
    assert usual
    page.evaluate(_SAME_WORDS)
    for path in kept_files(name):
        _, scheme, width = path.stem.rsplit("-", 2)
        page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        page.set_viewport_size({**usual, "width": WIDTHS[width]})
        taken = take(page, studio)
        if IS_REMAKING:
            write(taken, path)
        elif not path.exists():
            yield f"{path.stem}: no picture is kept"
        elif (found := compare(read(path), taken, studio)).is_seen:
            write(taken, PICTURES / f"{path.stem}-now.webp")
            write(read(path), PICTURES / f"{path.stem}-before.webp")
            yield f"{path.stem}: {found.dots} dots differ, {found.where}"
    page.set_viewport_size(usual)


def take(page: Page, studio: Page) -> str:
    """Return a shrunk picture of the whole page as a data URL. `studio` is an empty page."""
    png = page.screenshot(full_page=True, animations="disabled", caret="hide")
    return str(studio.evaluate(_SHRINK, [_data_url(png, "png"), SHRUNK, STEP]))


def compare(before: str, after: str, studio: Page) -> Difference:
    """Return how much two pictures differ, both as data URLs."""
    return Difference(**studio.evaluate(_COMPARE, [before, after, MOST_DIFFERENCE]))


def read(path: Path) -> str:
    """Return a kept picture as a data URL."""
    return _data_url(path.read_bytes(), "webp")


def write(picture: str, path: Path) -> None:
    """Write a picture to a file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(base64.b64decode(picture.partition(",")[2]))


def _data_url(content: bytes, kind: str) -> str:
    return f"data:image/{kind};base64,{base64.b64encode(content).decode()}"
