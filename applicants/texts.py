"""One rule for texts of several lines that people write: descriptions, notes, letters."""

from __future__ import annotations

import re
import unicodedata

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
