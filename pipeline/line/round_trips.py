"""Round trips of the line's hot path: several prepared statements in each.

While a job's lock is held, every trip to the database and back makes all others on that job wait.
So BEGIN and the first look travel with the lock, and the COMMIT with the write.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from tasks.sql.prepared import Parameters, PreparedStatement, prepared_row, run_prepared

Row = tuple[Any, ...]


def fetch_in_one_trip(*texts: str, parameters: Parameters, commit: bool = False) -> list[list[Row]]:
    """Fetch the rows of each statement in one round trip; each sees what was committed before it.

    With `commit` the transaction ends with it. Django then finds it committed and does nothing
    more. Inside an outer transaction (a test's) there is only a savepoint, which is left to Django.
    Raises django.db.OperationalError when a lock is not obtained in time, IntegrityError.
    """
    return run_prepared([_statement_of_trip(text) for text in texts], parameters, commit=commit)


@cache
def _statement_of_trip(text: str) -> PreparedStatement[Row]:
    """Keep the statements: the texts are few, and put together from names in the code alone."""
    return PreparedStatement(text, prepared_row)
