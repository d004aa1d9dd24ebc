"""Fields in a company's text, like {name}: checking and filling them. Pure.

They are replaced in one pass and by name alone. So nothing that is filled in is read again, and no
text can reach anything but these values.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Mapping
from difflib import get_close_matches

from django.utils.translation import gettext as _
from django.utils.translation import ngettext, pgettext

from pipeline.wording.english import isolated, joined

MOST_FIELDS = 10
LONGEST_NAME = 60
# A field, or a brace that belongs to none.
_BRACED = re.compile(r"\{([^{}\n]*)\}|[{}]")
# What stands between the letters of a name, and joins them in some scripts: nothing of which a mail
# program makes a link. A dot only ends a word.
_BETWEEN = frozenset(" '-\u2010\u2018\u2019\u00b7\u30fb\u200c\u200d")
_DOTTED = re.compile(r"\.(?= |$)")


class UnusableText(ValueError):
    """Text with a field that cannot be filled in. The message says which, where, and what to do."""


def check(text: str, known: Collection[str], *, lone_braces: bool = False) -> None:
    """Check the fields of a text. Raises UnusableText for the first that is not known.

    With `lone_braces`, a brace that belongs to no field is part of the text.
    """
    found = [each for each in _BRACED.finditer(text) if each[1] is not None or not lone_braces]
    for each in found:
        if (each[1] or "").strip() in known:
            continue
        place = _describe_place(text, each.start())
        fitting = joined([f"{{{name}}}" for name in known])
        if each[1] is None:
            raise UnusableText(
                _("%(place)s: %(brace)s belongs to no field. Fields are written like %(fields)s.")
                % {"place": place, "brace": each[0], "fields": fitting}
            )
        near = get_close_matches(each[1].strip().lower(), known, n=1)
        meant = f"{{{near[0]}}}" if near else fitting
        raise UnusableText(
            _("%(place)s: %(field)s is not a field here. Use %(fields)s.")
            % {"place": place, "field": each[0], "fields": meant}
        )
    if len(found) > MOST_FIELDS:
        many = ngettext("Use at most %(most)s field.", "Use at most %(most)s fields.", MOST_FIELDS)
        raise UnusableText(many % {"most": MOST_FIELDS})


def _describe_place(text: str, at: int) -> str:
    line, column = text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at)
    if "\n" in text:
        return _("Line %(line)d, character %(column)d") % {"line": line, "column": column}
    return _("Character %(column)d") % {"column": column}


def fill(text: str, values: Mapping[str, str]) -> str:
    """Return a text with its fields filled in. Unknown ones stay as they are written."""
    return _BRACED.sub(lambda found: values.get((found[1] or "").strip(), found[0]), text)


def greeted_name(name: str) -> str:
    """Return a name for the greeting of an email; empty if it could be more than a name.

    A company can enter any name for a person whose address it has. No email is sent to an address
    that is not proved otherwise, so no stranger can.
    """
    letters = _DOTTED.sub("", name)
    is_name = letters[:1].isalpha() and all(map(_is_of_a_name, letters))
    return isolated(name) if is_name and len(name) <= LONGEST_NAME else ""


def _is_of_a_name(character: str) -> bool:
    return unicodedata.category(character)[0] in "LM" or character in _BETWEEN


def filled_name(name: str) -> str:
    """Return what stands for {name}: the name as emails greet it, or a word for it."""
    # Translators: stands for the name of a person who has given none: “Hello applicant,”.
    return name or pgettext("instead of a name", "applicant")
