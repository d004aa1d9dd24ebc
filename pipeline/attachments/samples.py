"""Small documents that the project makes itself, for the demo: no real person's."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

_LEFT, _TOP, _LEADING = 72, 760, 18


def make_pdf(pages: Sequence[Sequence[str]]) -> bytes:
    """Return a PDF with lines of ASCII text on its pages."""
    objects = list(_objects(pages))
    body, places = b"%PDF-1.4\n", []
    for number, each in enumerate(objects, start=1):
        places.append(len(body))
        body += b"%d 0 obj\n%s\nendobj\n" % (number, each)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    count = len(objects) + 1
    return body + (
        b"xref\n0 %d\n0000000000 65535 f \n%strailer\n<< /Size %d /Root 1 0 R >>\n"
        b"startxref\n%d\n%%%%EOF\n" % (count, table, count, len(body))
    )


def _objects(pages: Sequence[Sequence[str]]) -> Iterator[bytes]:
    kids = b" ".join(b"%d 0 R" % (4 + 2 * n) for n in range(len(pages)))
    yield b"<< /Type /Catalog /Pages 2 0 R >>"
    yield b"<< /Type /Pages /Kids [%s] /Count %d >>" % (kids, len(pages))
    yield b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"
    for n, lines in enumerate(pages):
        yield (
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 842] /Contents %d 0 R"
            b" /Resources << /Font << /F1 3 0 R >> >> >>" % (5 + 2 * n)
        )
        shown = b"".join(b"(%s) Tj T*\n" % _escape(line) for line in lines)
        text = b"BT /F1 12 Tf %d TL %d %d Td\n%sET" % (_LEADING, _LEFT, _TOP, shown)
        yield b"<< /Length %d >>\nstream\n%s\nendstream" % (len(text), text)


def _escape(line: str) -> bytes:
    plain = line.encode("ascii", "replace")
    return plain.replace(b"\\", b"\\\\").replace(b"(", b"\\(").replace(b")", b"\\)")


def make_cv(name: str, job: str) -> bytes:
    """Return a CV of an invented person."""
    return make_pdf(
        [
            [
                name,
                "",
                f"Applies for: {job}",
                "",
                "Experience",
                "- Three years in a team of six, on call every fourth week",
                "- Two years of night shifts before that",
                "",
                "Languages: English, and enough of another to be kind in it",
                "",
                "This document was made by the demo. The person does not exist.",
            ]
        ]
    )
