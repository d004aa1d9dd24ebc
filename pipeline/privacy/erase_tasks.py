"""Erasure of an address from background work, where a company may have written it."""

from __future__ import annotations

import json
import re

from django.db import connection

# The columns that may contain an address, by table, and whether they hold JSON.
PLACES: dict[str, dict[str, bool]] = {
    "tasks_task": {
        **dict.fromkeys(("payload", "result", "errors", "progress"), True),
        "idempotency_key": False,
    },
    "tasks_taskevent": {"data": True},
    "tasks_taskact": {"data": True},
    "tasks_schedule": {"name": False, "payload": True},
}
ERASED = "erased"


def erase_in_tasks(address: str) -> None:
    """Replace an address, given in its normal form, in any case in tasks, schedules and their log.

    Finished tasks are kept for only a few days, so searching them needs no index.
    """
    in_json = json.dumps(address, ensure_ascii=False)[1:-1]
    before, after = r"(?<![\w.!#$%&'*+/=?^`{|}~-])", r"(?![\w-]|\.\w)"
    values = {"pattern": f"{before}{re.escape(in_json)}{after}", "word": in_json, "erased": ERASED}
    with connection.cursor() as cursor:
        for table, columns in PLACES.items():
            changed = "regexp_replace({0}::text, %(pattern)s, %(erased)s, 'gi'){1}"
            changes = ", ".join(
                f"{name} = {changed.format(name, '::jsonb' if is_json else '')}"
                for name, is_json in columns.items()
            )
            found = " OR ".join(
                f"position(%(word)s IN lower({name}::text)) > 0" for name in columns
            )
            cursor.execute(f"UPDATE {table} SET {changes} WHERE {found}", values)  # noqa: S608 -- of names that stand above
