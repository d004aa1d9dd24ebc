"""Send the site's due emails, over and over: a worker for a database that tests empty under it.

Run as a program with the site's environment. A real worker would miss its own row.
"""

from __future__ import annotations

import time

import django

PAUSE_SECONDS = 0.1
# Asked ten times a second while the browser's tests run, so it costs as little as can be.
IS_DUE = "SELECT EXISTS (SELECT FROM tasks_task WHERE status = 'PENDING' AND run_after <= now())"


def pump() -> None:
    """Run until killed."""
    from django.db import Error, connection

    from tests.support.task_runs import run_due_tasks

    while True:
        try:
            with connection.cursor() as cursor:
                cursor.execute(IS_DUE)
                [is_due] = cursor.fetchone() or [False]
            if is_due:
                run_due_tasks("email.private", "email.event", "email.bulk")
        except Error:
            connection.close()
        time.sleep(PAUSE_SECONDS)


if __name__ == "__main__":
    django.setup()
    pump()
