"""Round trips of the line's hot path: several prepared statements in each.

While a job's lock is held, every round trip makes all other changes to that job wait. So BEGIN and
the first reads travel with the lock, and COMMIT with the write.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from tasks.sql.prepared import Parameters, PreparedStatement, prepared_row, run_prepared

Row = tuple[Any, ...]


def fetch_in_one_trip(*texts: str, parameters: Parameters, commit: bool = False) -> list[list[Row]]:
    """Fetch the rows of each statement in one round trip. Each sees what was committed before it.

    With `commit`, the round trip also commits; Django then finds nothing left to commit. Inside an
    outer transaction (a test's), there is only a savepoint, which is left to Django. Raises
    IntegrityError, and django.db.OperationalError if a lock is not obtained in time.
    """
    return run_prepared([_round_trip_statement(text) for text in texts], parameters, commit=commit)


@cache
def _round_trip_statement(text: str) -> PreparedStatement[Row]:
    """Return the statement, cached: texts are few, and built only from names in the code."""
    return PreparedStatement(text, prepared_row)
