"""Upload a file and attach it, in a process that kills itself at a step."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import UUID

import django
from django.test import override_settings

django.setup()

from pipeline.attachments import scan, storage, uploads  # noqa: E402
from pipeline.models import Application  # noqa: E402
from tests.support.documents import PDF, storages_in  # noqa: E402

MINE = uploads.holder_of("browser", "mine")


def _kill(*_: Any, **__: Any) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _after(module: Any, name: str) -> None:
    """Kill the process once a function has returned."""
    real: Callable[..., Any] = getattr(module, name)

    def run_then_die(*given: Any, **named: Any) -> None:
        real(*given, **named)
        _kill()

    setattr(module, name, run_then_die)


def _write_half(key: str, file: Any) -> None:
    path = Path(storage.attachment_storage().path(key))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(file.read()[: len(PDF) // 2])
    _kill()


STEPS: dict[str, Callable[[], None]] = {
    "after the row is created": lambda: _after(uploads, "create"),
    "after the attempt is noted": lambda: _after(uploads, "_begin_attempt"),
    "while the bytes are written": lambda: setattr(storage, "write", _write_half),
    "after the bytes are written": lambda: _after(storage, "write"),
    "before the row is complete": lambda: setattr(scan, "is_on", _kill),
    "after the row is complete": lambda: _after(uploads, "_complete"),
    "before it is attached": lambda: setattr(uploads, "_refuse_attaching", _kill),
    "after it is attached": lambda: _after(uploads, "attach_later"),
    "before its removal is committed": lambda: _after(uploads, "forget"),
    "after its removal": lambda: _after(uploads, "remove"),
    "after its bytes are removed": lambda: setattr(storage, "_note_in_file", _kill),
    "after that is listed": lambda: _after(storage, "_note_in_file"),
    "never": lambda: None,
}


def main(step: str, application_id: str, folder: str) -> None:
    """Upload, attach, remove; die at the step."""
    application = Application.objects.select_related("job").get(id=UUID(application_id))
    with override_settings(
        STORAGES=storages_in(Path(folder)),
        ATTACHMENT_REMOVALS_FILE=Path(folder).parent / "removed.jsonl",
    ):
        STEPS[step]()
        row = uploads.add(
            company_id=application.job.company_id,
            job_id=application.job_id,
            holder=MINE,
            name="cv.pdf",
            size_bytes=len(PDF),
            content=[PDF],
        )
        uploads.attach_later([row.id], application_id=application.id, question_id=None, holder=MINE)
        uploads.remove(row.id, application_id=application.id)
        storage.remove_due()
