"""A worker whose acknowledgements are not fenced: the control that the fence is what is tested."""

import re
from typing import Any

import psycopg

from tests.faults.tasks.settings import *  # noqa: F403

FENCE = re.compile(r"AND t\.attempt = g\.attempt AND t\.worker = g\.worker\s")
_execute = psycopg.Connection.execute


def _unfenced(self: psycopg.Connection[Any], query: Any, *args: Any, **options: Any) -> Any:
    text = FENCE.sub("", query) if isinstance(query, str) else query
    return _execute(self, text, *args, **options)


psycopg.Connection.execute = _unfenced  # type: ignore[method-assign] -- only in this worker
