"""Logos of companies: any picture is read with limits and encoded anew as PNG."""

from __future__ import annotations

from hashlib import sha256
from io import BytesIO
from typing import IO, NamedTuple

from PIL import Image

from jobs.pictures import DIGEST_LENGTH, read_picture

MOST_SIDE = 512  # of what is kept
MOST_KEPT_BYTES = 2**18


class Logo(NamedTuple):
    """Encoded logo."""

    data: bytes  # PNG
    width: int
    height: int

    @property
    def digest(self) -> str:
        """Return the name of its content."""
        return sha256(self.data).hexdigest()[:DIGEST_LENGTH]


def encode(file: IO[bytes], size: int) -> Logo:
    """Return a file of `size` bytes as a logo: its first picture, upright, without metadata.

    Raises PictureRefused.
    """
    upright = read_picture(file, size, most_side=MOST_SIDE)
    upright.thumbnail((MOST_SIDE, MOST_SIDE))
    return _written(upright)


def _written(picture: Image.Image) -> Logo:
    data = _as_png(picture)
    if len(data) > MOST_KEPT_BYTES:  # a photograph
        data = _as_png(picture.quantize(256, method=Image.Quantize.FASTOCTREE))
    return Logo(data, *picture.size)


def _as_png(picture: Image.Image) -> bytes:
    written = BytesIO()
    picture.save(written, "PNG", optimize=True)
    return written.getvalue()
