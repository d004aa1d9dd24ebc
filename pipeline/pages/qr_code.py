"""QR codes as SVG."""

from __future__ import annotations

import qrcode
from django.utils.html import format_html
from django.utils.safestring import SafeString

QUIET_MODULES = 3  # of empty space on each side
_DRAWING = (
    '<svg {} viewBox="0 0 {size} {size}" role="img" shape-rendering="crispEdges" aria-label="{}">'
)


def draw_inline(text: str, label: str) -> SafeString:
    """Draw a QR code as an element of a page, because our policy allows no data: images."""
    size, dots = _dots(text)
    head = format_html(_DRAWING, SafeString('class="qr"'), label, size=size)
    return format_html('{}<path d="{}"/></svg>', head, dots)


def draw_file(text: str, label: str) -> str:
    """Draw a QR code as an SVG file: dark on light, at any size."""
    size, dots = _dots(text)
    head = format_html(_DRAWING, SafeString('xmlns="http://www.w3.org/2000/svg"'), label, size=size)
    ground = '<rect width="100%" height="100%" fill="#fff"/>'
    return f'{head}{ground}<path d="{dots}" fill="#000"/></svg>\n'


def _dots(text: str) -> tuple[int, str]:
    """Return the width of a QR code in modules, and the path of its dark ones."""
    code = qrcode.QRCode(border=QUIET_MODULES)
    code.add_data(text)
    rows = code.get_matrix()
    dots = [(x, y) for y, row in enumerate(rows) for x, dark in enumerate(row) if dark]
    return len(rows), "".join(f"M{x} {y}h1v1h-1z" for x, y in dots)
