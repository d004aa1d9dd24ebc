"""One rule for the names that people read: of people, companies, jobs, places, keys and tags."""

from __future__ import annotations

import re
import unicodedata

from django.core.exceptions import ValidationError

from applicants.texts import REORDERING

# Control characters, line ends, and format characters that reorder or hide what follows them.
_REFUSED = re.compile(f"[\x00-\x1f\x7f-\x9f\u2028\u2029{REORDERING}]")
# Characters without width or meaning that come along when a name is copied.
_ZERO_WIDTH = re.compile("[\u00ad\u061c\u200b\u200e\u200f\u2060-\u2064\ufeff]")
# A (non-)joiner belongs after a letter of a script that joins, or after an emoji.
_LOST_JOINER = re.compile("(?<![^\x00-\u024f\\s\u200c\u200d])[\u200c\u200d]")
_SPACES = re.compile("[\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]")
_BLANK_LETTERS = frozenset("\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")


def checked_name(text: str) -> str:
    """Return a name in its normal form: NFC, ordinary spaces, no characters without width.

    Raises ValidationError (Django's), which says what to do.
    """
    plain = _normal_name(text)
    if _REFUSED.search(plain):
        raise ValidationError("Remove line breaks and other invisible characters.", code="invalid")
    if not any(map(_is_visible, plain)):
        raise ValidationError("Enter at least one letter or digit.", code="invalid")
    return plain


def cleaned_name(text: str) -> str:
    """Return the name of a thing in its normal form, without what `checked_name` refuses."""
    return _REFUSED.sub("", _normal_name(text)).strip()


def _normal_name(text: str) -> str:
    plain = _LOST_JOINER.sub("", _ZERO_WIDTH.sub("", text))
    return unicodedata.normalize("NFC", _SPACES.sub(" ", plain).strip())


def _is_visible(character: str) -> bool:
    """Tell whether a character alone can be a name: a letter, a digit or a symbol."""
    return unicodedata.category(character)[0] in "LNS" and character not in _BLANK_LETTERS
