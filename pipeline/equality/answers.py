"""Equal-opportunity answers: kept apart from the application, counted, and erased with the person.

A row is found by a hash of the application's id under the site's secret key. So this code can show
a person their own row, erase it, and count those of a company; whoever has only the database can
link no row to anybody. The rows of a day are written again together every night, in random order.
"""

from __future__ import annotations

import hmac
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.conf import settings
from django.db import connection

from pipeline.models import Application, EqualityAnswers

_PURPOSE = b"pipeline.equality "
_AT_ONCE = 1_000


@dataclass(frozen=True, slots=True)
class EqualityGiven:
    """Choices that a person made, by question."""

    choices: Mapping[str, str]

    def rows(
        self, application: Application, *, is_new: bool, at: datetime
    ) -> Iterable[EqualityAnswers]:
        """Return what is kept beside a new application, and names it to nobody."""
        if is_new and self.choices:
            key = _key(settings.SECRET_KEY, application.id)
            yield EqualityAnswers(key=key, choices=dict(self.choices), is_mixed=False)


def _key(secret: str, application_id: UUID) -> bytes:
    return hmac.digest(_PURPOSE + secret.encode(), application_id.bytes, "sha256")


def keys_of(application_ids: Iterable[UUID]) -> dict[bytes, UUID]:
    """Return the keys of applications, under the present secret and former ones."""
    secrets = [settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS]
    return {_key(secret, each): each for each in application_ids for secret in secrets}


def read_choices(application_ids: Iterable[UUID]) -> list[tuple[UUID, dict[str, str]]]:
    """Return the choices of people, by application, in a query for each thousand."""
    keys, found = keys_of(application_ids), []
    for some in _slices(list(keys)):
        rows = EqualityAnswers.objects.filter(key__in=some).values_list("key", "choices")
        found += [(keys[bytes(key)], choices) for key, choices in rows]
    return found


def forget(application_ids: Collection[UUID]) -> None:
    """Remove the answers of erased people."""
    for some in _slices(list(keys_of(application_ids))):
        EqualityAnswers.objects.filter(key__in=some).delete()


def _slices(keys: list[bytes]) -> Iterable[list[bytes]]:
    return (keys[at : at + _AT_ONCE] for at in range(0, len(keys), _AT_ONCE))


_MIX = """
WITH apart AS (DELETE FROM pipeline_equalityanswers WHERE NOT is_mixed RETURNING key, choices)
INSERT INTO pipeline_equalityanswers (key, choices, is_mixed)
SELECT key, choices, true FROM apart ORDER BY random()
"""


def mix() -> int:
    """Write the rows of the day again, in random order, and return their number."""
    with connection.cursor() as cursor:
        cursor.execute(_MIX)
        return cursor.rowcount
