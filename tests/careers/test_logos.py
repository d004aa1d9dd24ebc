"""Logos: which files become one, and which are refused before they are unpacked."""

from __future__ import annotations

import struct
import zlib
from io import BytesIO
from typing import Any

import pytest
from PIL import Image

from jobs import pictures
from jobs.pictures import PictureRefused
from pipeline.careers import logos
from pipeline.careers.logos import Logo, encode


def picture(kind: str, size: tuple[int, int] = (200, 100), **options: Any) -> bytes:
    written = BytesIO()
    mode = "RGB" if kind == "JPEG" else "RGBA"
    Image.new(mode, size, "#0b7748").save(written, kind, **options)
    return written.getvalue()


def encoded(data: bytes) -> Logo:
    return encode(BytesIO(data), len(data))


def bomb(width: int, height: int) -> bytes:
    """Return a PNG of some hundred bytes that says that it is this large."""

    def chunk(name: bytes, data: bytes) -> bytes:
        return (
            struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
        )

    head = struct.pack(">IIBBBBB", width, height, 8, 6, 0, 0, 0)
    body = zlib.compress(bytes(10_000))
    signature = b"\x89PNG\r\n\x1a\n"
    return signature + chunk(b"IHDR", head) + chunk(b"IDAT", body) + chunk(b"IEND", b"")


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "WEBP"])
def test_pictures_of_three_kinds_become_png(kind: str) -> None:
    logo = encoded(picture(kind))

    assert logo.data.startswith(b"\x89PNG")
    assert (logo.width, logo.height) == (200, 100)
    assert len(logo.digest) == pictures.DIGEST_LENGTH


def test_a_large_picture_is_made_smaller_and_keeps_its_shape() -> None:
    logo = encoded(picture("PNG", (3_000, 1_500)))

    assert (logo.width, logo.height) == (512, 256)


def test_metadata_is_left_out_and_the_picture_turned_as_it_is_meant() -> None:
    exif = Image.Exif()
    exif[0x0112], exif[0x010E] = 6, "taken at home"

    logo = encoded(picture("JPEG", (200, 100), exif=exif))

    assert (logo.width, logo.height) == (100, 200)
    assert b"taken at home" not in logo.data
    assert not Image.open(BytesIO(logo.data)).getexif()


def test_only_the_first_frame_of_a_moving_picture_stays() -> None:
    frames = [Image.new("RGB", (64, 64), colour) for colour in ("red", "blue")]
    written = BytesIO()
    frames[0].save(written, "WEBP", save_all=True, append_images=frames[1:])

    logo = encoded(written.getvalue())

    assert getattr(Image.open(BytesIO(logo.data)), "n_frames", 1) == 1


def test_a_photograph_is_kept_in_few_bytes() -> None:
    noise = Image.effect_noise((1_000, 1_000), 100).convert("RGB")
    written = BytesIO()
    noise.save(written, "JPEG")

    assert len(encoded(written.getvalue()).data) <= 2 * logos.MOST_KEPT_BYTES


@pytest.mark.parametrize("side", [12_000, 20_000, 2**31 - 1])
def test_a_picture_that_would_unpack_to_gigabytes_is_refused(side: int) -> None:
    with pytest.raises(PictureRefused):
        encoded(bomb(side, side))


def test_a_whole_picture_with_too_many_pixels_is_refused() -> None:
    data = picture("PNG", (4_000, 4_000))
    assert len(data) < pictures.MOST_BYTES

    with pytest.raises(PictureRefused, match="12 million pixels"):
        encoded(data)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x89PNG\r\n\x1a\n",
        b'<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>',
        b"GIF89a" + bytes(100),
        b"%PDF-1.7",
        picture("GIF"),
        picture("BMP"),
        picture("TIFF"),
        picture("PNG")[:80],
        picture("JPEG")[:200],
        bomb(100, 100),  # its data is too short
        picture("PNG", (8, 8)),
    ],
)
def test_other_kinds_and_damaged_files_are_refused(data: bytes) -> None:
    with pytest.raises(PictureRefused):
        encoded(data)


def test_a_file_that_is_too_large_is_not_even_read() -> None:
    with pytest.raises(PictureRefused, match="2 MB"):
        encode(BytesIO(b""), pictures.MOST_BYTES + 1)
