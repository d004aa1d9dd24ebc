"""Languages of the site: one declaration, which the settings and `manage.py translations` read.

A language is offered once its catalogue in `locale/` is complete. CONTRIBUTING.md says how to add
one.
"""

from __future__ import annotations

SOURCE = "en"  # in which the strings of the code are written

# Every language with a catalogue, named as its speakers name it.
NAMES = {
    SOURCE: "English",
    "de": "Deutsch",
    "fr": "Français",
    "es": "Español",
    "pt-br": "Português (Brasil)",
    "pl": "Polski",
    "uk": "Українська",
    "tr": "Türkçe",
    "ar": "العربية",
    "zh-hans": "简体中文",
}

# Languages of these whose catalogue is not complete yet: nobody can choose them.
UNFINISHED: frozenset[str] = frozenset()

# The languages that people can choose. `manage.py translations` fails if one is incomplete.
OFFERED = tuple(code for code in NAMES if code not in UNFINISHED)
