"""Origin of an application: the link that led to it, as its company named it.

The values travel in the link and in the form. No cookie holds them, and no other site is asked.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from urllib.parse import urlencode

from applicants.texts import cleaned_name
from pipeline.models import SOURCE_LENGTH, Application, ApplicationSource

# The source of those who came without any, and of a link that names this one.
DIRECT = "direct"
UTM = ("utm_source", "utm_medium", "utm_campaign", "utm_term", "utm_content")
PARAMETERS = ("source", *UTM)
_BLANKS = re.compile(r"\s+")


@dataclass(frozen=True, slots=True)
class Origin:
    """Values of a link. `source` is the name that figures count by, in lower case."""

    source: str = DIRECT
    utm_source: str = ""
    utm_medium: str = ""
    utm_campaign: str = ""
    utm_term: str = ""
    utm_content: str = ""

    @classmethod
    def read(cls, given: Mapping[str, Any]) -> Origin:
        """Return the origin in a query, a form or a body; each value cleaned, cut to its length.

        Without `source`, it is `utm_source`; without either, people came directly.
        """
        utm = {name: clean(given.get(name)) for name in UTM}
        source = clean(given.get("source")) or utm["utm_source"]
        return cls(source=clean(source.lower()) or DIRECT, **utm)

    @property
    def values(self) -> dict[str, str]:
        """Return the values that links and forms carry on: none for people who came directly."""
        named = {name: getattr(self, name) for name in PARAMETERS}
        if self.source == DIRECT:
            del named["source"]
        return {name: value for name, value in named.items() if value}

    @property
    def query(self) -> str:
        """Return them as a query with its question mark, or nothing."""
        return f"?{urlencode(self.values)}" if self.values else ""

    def rows(
        self, application: Application, *, is_new: bool, at: datetime
    ) -> Iterable[ApplicationSource]:
        """Return what is kept with an application. One that is taken over keeps its origin."""
        if is_new and self.values:
            named = {name: getattr(self, name) for name in PARAMETERS}
            yield ApplicationSource(application_id=application.id, **named)


def clean(value: Any) -> str:
    """Return a value of a link as it is kept: one line without invisible characters, cut."""
    text = value.replace("\0", "") if isinstance(value, str) else ""
    return _BLANKS.sub(" ", cleaned_name(text[: 10 * SOURCE_LENGTH]))[:SOURCE_LENGTH].strip()


def read_filter(value: str) -> str:
    """Return the source by which a list is filtered, as it is kept; empty: people came directly."""
    named = clean(value.lower())
    return "" if named == DIRECT else named


def link_to(address: str, origin: Origin) -> str:
    """Return a link to a page that names its origin."""
    return f"{address}{origin.query}"


def forget(application_ids: Iterable[Any]) -> None:
    """Empty the origins of erased people: a link can be made for one person."""
    rows = ApplicationSource.objects.filter(application_id__in=list(application_ids))
    rows.update(**dict.fromkeys(PARAMETERS, ""))


def of_row(row: ApplicationSource) -> Origin:
    """Return the origin that is kept in a row."""
    return replace(Origin(), **{name: getattr(row, name) for name in PARAMETERS})
