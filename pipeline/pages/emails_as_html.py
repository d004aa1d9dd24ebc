"""Emails shown in a browser as HTML, the way a mail program does."""

from __future__ import annotations

from csp.constants import NONE, UNSAFE_INLINE

# An email brings its styles along, and must load nothing.
OF_AN_EMAIL = {
    "default-src": [NONE],
    "style-src": [UNSAFE_INLINE],
    "base-uri": [NONE],
    "form-action": [NONE],
    "frame-ancestors": [NONE],
}
