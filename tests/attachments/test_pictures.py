"""Pictures lose where and when they were taken, and nothing of what they show."""

from __future__ import annotations

import io
import time
from struct import pack
from zlib import crc32

import pytest

from pipeline.attachments import kinds, pictures
from pipeline.domain.errors import FileKindRefused
from tests.support import documents

SECRET = b"GPS 52.5163 13.3777, by Mallory"
SCAN = b"\x12\x34\xff\x00\x56\xff\xd0\x78" * 20_000  # stuffed bytes and restarts, over one piece
SOI, EOI = b"\xff\xd8", b"\xff\xd9"
FRAME = b"\x08\x00\x10\x00\x10\x01\x01\x11\x00"


def segment(marker: int, data: bytes) -> bytes:
    return bytes((0xFF, marker)) + pack(">H", len(data) + 2) + data


def exif(orientation: int | None, *, order: str = ">") -> bytes:
    """The data of EXIF: the maker, perhaps the orientation, and a place."""
    entries = [(0x010F, 2, 4, 0x41424300)]
    if orientation is not None:
        turned = orientation << 16 if order == ">" else orientation
        entries.append((0x0112, 3, 1, turned))
    mark = b"MM" if order == ">" else b"II"
    body = b"".join(pack(f"{order}HHII", *each) for each in entries)
    head = mark + pack(f"{order}HIH", 42, 8, len(entries))
    return head + body + bytes(4) + SECRET


def jpeg(*segments: bytes, end: bytes = EOI) -> bytes:
    picture = segment(0xDB, b"\0" + bytes(64)) + segment(0xC2, FRAME)
    scans = (segment(0xDA, b"\x01\x01\0\0?\0") + SCAN) * 2
    return SOI + b"".join(segments) + picture + scans + end


def chunk(name: bytes, data: bytes) -> bytes:
    return pack(">I", len(data)) + name + data + pack(">I", crc32(name + data))


def png(*chunks: bytes) -> bytes:
    head, tail = documents.PNG[:33], documents.PNG[33:]
    return head + b"".join(chunks) + tail


def stripped(content: bytes) -> bytes:
    source, target = io.BytesIO(content), io.BytesIO()
    pictures.copy_without_metadata(source, target, kinds.detect(source))
    return target.getvalue()


JFIF = segment(0xE0, b"JFIF\0\x01\x01\0\0\x01\0\x01\0\0")
PROFILE = segment(0xE2, b"ICC_PROFILE\0\x01\x01 profile")
ADOBE = segment(0xEE, b"Adobe\0d\0\0\0\0\x01")


@pytest.mark.parametrize(
    "unwanted",
    [
        segment(0xE1, b"Exif\0\0" + exif(None)),
        segment(0xE1, b"http://ns.adobe.com/xap/1.0/\0" + SECRET),
        segment(0xED, b"Photoshop 3.0\0" + SECRET),
        segment(0xE2, b"MPF\0" + SECRET),
        segment(0xE0, b"JFXX\0" + SECRET),
        segment(0xEF, SECRET),
        segment(0xFE, SECRET),
        b"\xff\xff" + segment(0xFE, SECRET)[1:],  # fill bytes before a marker
    ],
    ids=["exif", "xmp", "iptc", "more pictures", "thumbnail", "unknown", "comment", "filled"],
)
def test_a_jpeg_keeps_its_picture_and_colours_alone(unwanted: bytes) -> None:
    content = jpeg(JFIF, unwanted, PROFILE, ADOBE)

    assert stripped(content) == jpeg(JFIF, PROFILE, ADOBE)
    assert stripped(stripped(content)) == stripped(content)


def test_what_follows_the_picture_goes_too_and_a_lost_end_is_put_right() -> None:
    assert stripped(jpeg(JFIF) + jpeg(segment(0xFE, SECRET))) == jpeg(JFIF)
    assert stripped(jpeg(JFIF, end=b"")) == jpeg(JFIF)


def test_a_thumbnail_in_the_first_segment_goes() -> None:
    with_thumbnail = segment(0xE0, b"JFIF\0\x01\x01\0\0\x01\0\x01\x01\x01abc")

    assert stripped(jpeg(with_thumbnail)) == jpeg(JFIF)


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("orientation", range(1, 9))
def test_a_picture_that_is_turned_stays_so(orientation: int, order: str) -> None:
    data = exif(orientation, order=order)

    for kept in (
        stripped(jpeg(JFIF, segment(0xE1, b"Exif\0\0" + data))),
        stripped(png(chunk(b"eXIf", data))),
    ):
        assert SECRET not in kept
        found = kept.find(b"MM\0*")
        if orientation == 1:
            assert found < 0
        else:
            entry = pack(">HHIHH", 0x0112, 3, 1, orientation, 0)
            assert kept[found:][:26] == b"MM\0*" + pack(">IH", 8, 1) + entry + bytes(4)


@pytest.mark.parametrize("name", [b"tEXt", b"zTXt", b"iTXt", b"tIME", b"eXIf", b"acTL", b"prVt"])
def test_a_png_keeps_its_picture_and_colours_alone(name: bytes) -> None:
    kept = [chunk(b"gAMA", pack(">I", 45_455)), chunk(b"pHYs", bytes(9))]

    content = png(*kept, chunk(name, SECRET)) + SECRET

    assert stripped(content) == png(*kept)


@pytest.mark.parametrize(
    "content",
    [
        SOI + b"\xff",
        SOI + JFIF + b"\xff\xe1\xff\xffshort",
        SOI + JFIF + b"\xff\xe1\x00\x01",
        SOI + b"\xff\xe0\x00",
        SOI + segment(0xFE, b"") * 30_000 + EOI,
        documents.PNG[:-1],
        documents.PNG[:30],
        png(pack(">I", 2**31) + b"IDAT"),
        png(chunk(b"tEXt", b"") * 30_000),
    ],
)
def test_a_damaged_picture_is_refused_and_says_what_to_do(content: bytes) -> None:
    with pytest.raises(FileKindRefused, match="save it again"):
        stripped(content)


@pytest.mark.parametrize("cut", range(0, 120, 7))
def test_no_damage_of_the_metadata_is_an_error_of_its_own(cut: int) -> None:
    data = (b"Exif\0\0" + exif(6))[:cut] + b"\xff" * 40

    assert SECRET not in stripped(jpeg(segment(0xE1, data)))
    assert SECRET not in stripped(png(chunk(b"eXIf", data)))


def test_ten_megabytes_take_a_fraction_of_a_second() -> None:
    content = jpeg(JFIF, end=b"")[: -len(SCAN)] + SCAN * 64 + EOI
    assert len(content) > 10_000_000

    start = time.thread_time()
    stripped(content)

    assert time.thread_time() - start < 1
