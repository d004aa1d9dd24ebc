"""Logos of companies: any picture is read with limits and encoded anew as PNG."""

from __future__ import annotations

from hashlib import sha256
from io import BytesIO
from typing import IO, NamedTuple

from django.utils.translation import gettext as _
from PIL import Image, ImageOps

MOST_BYTES = 2 * 2**20
MOST_PIXELS = 12_000_000  # 48 MB while it is read
MOST_SIDE = 512  # of what is kept
FEWEST_SIDE = 16
MOST_KEPT_BYTES = 2**18
KINDS = ("PNG", "JPEG", "WEBP")
DIGEST_LENGTH = 32


class LogoRefused(ValueError):
    """The file cannot be a logo. The text says why, and what to do."""


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

    The size of the picture is read from its head, before anything is unpacked. Raises LogoRefused.
    """
    if size > MOST_BYTES:
        raise LogoRefused(_("Choose a file of at most 2 MB."))
    try:
        with Image.open(file, formats=KINDS) as picture:
            if picture.width * picture.height > MOST_PIXELS:
                raise LogoRefused(_("Choose a picture of at most 12 million pixels."))
            if min(picture.size) < FEWEST_SIDE:
                raise LogoRefused(_("Choose a picture of at least 16 pixels on each side."))
            picture.draft("RGB", (MOST_SIDE, MOST_SIDE))  # JPEG alone: unpacks fewer pixels
            upright = ImageOps.exif_transpose(picture).convert("RGBA")
    except LogoRefused:
        raise
    except (OSError, SyntaxError, ValueError, EOFError, Warning, MemoryError,
            Image.DecompressionBombError):  # fmt: skip
        raise LogoRefused(
            _("This is no PNG, JPEG or WebP picture, or it is damaged. Choose another file.")
        ) from None
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
