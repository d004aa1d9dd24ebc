"""Rules for what people write: names, and texts of several lines."""

from __future__ import annotations

import re
import unicodedata

from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _

# Format characters that reorder or hide what follows them, as a part of a regular expression.
REORDERING = "\u202a-\u202e\u2066-\u206f\ufff9-\ufffb\U000e0000-\U000e007f"
# Word writes some line breaks as a vertical tab, others as U+2028.
_LINE_BREAKS = re.compile("\r\n|[\r\x0b\x0c\x85\u2028\u2029]")
# The tags after a black flag show whose it is (Scotland’s, for example), and so they stay.
_FLAG = "\U0001f3f4[\U000e0030-\U000e007a]+\U000e007f"
_REMOVED = re.compile(f"({_FLAG})|[\x01-\x08\x0e-\x1f\x7f-\x9f{REORDERING}]")


def plain_text(text: str) -> str:
    """Return a text in its normal form: NFC, plain line breaks, no blanks at its ends.

    Control characters and those that reorder what follows are removed, not refused as in a name: in
    a long text nobody finds them, and they come along when text is pasted. NUL stays, to be refused
    by the field: it never comes from people.
    """
    lines = _LINE_BREAKS.sub("\n", text)
    return unicodedata.normalize("NFC", _REMOVED.sub(r"\1", lines)).strip()


# One rule for the names that people read: of people, companies, jobs, places, keys and tags.


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
        raise ValidationError(
            _("Remove line breaks and other invisible characters."), code="invalid"
        )
    if not any(map(_is_visible, plain)):
        raise ValidationError(_("Enter at least one letter or digit."), code="invalid")
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


# One form of a name for comparing: the same as that of `pipeline_folded` in the database.


_LONG = {"ß": "ss", "æ": "ae", "œ": "oe", "þ": "th", "ð": "d"}
# Letters that no normal form takes apart, and Arabic ones that keyboards write differently.
_ALIKE = str.maketrans(
    "øłđħıςŋŧəɓɗƙƴ\u06cc\u0649\u06a9\u06d5\u06c1\u0629\u0671",
    "oldhi\u03c3ntebdky\u064a\u064a\u0643\u0647\u0647\u0647\u0627",
) | {ord(letter): letters for letter, letters in _LONG.items()}
# Accents, vowel signs, apostrophes, joiners, marks of direction, and what only stretches a word.
_DROPPED = re.compile(
    "[\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u05bf-\u05c7\u05f3\u05f4\u0610-\u061a\u061c"
    "\u0640\u064b-\u065f\u0670\u06d6-\u06dc\u00ad\u00b7\u02b9-\u02bf\u1ab0-\u1aff\u1dc0-\u1dff"
    "\u200b-\u200f\u2018\u2019\u201b\u202a-\u202e\u2032\u2060-\u2069\u20d0-\u20f0"
    "\ufe00-\ufe0f\ufe20-\ufe2f\ufeff'`]"
)


def folded_name(text: str) -> str:
    """Return a name as searches compare it: without case, accents, apostrophes and joiners."""
    small = unicodedata.normalize("NFKD", text.replace("\u00b4", "")).lower()
    return unicodedata.normalize("NFC", _DROPPED.sub("", small).translate(_ALIKE))
