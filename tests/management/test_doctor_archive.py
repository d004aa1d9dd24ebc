"""`manage.py doctor` on logs that are in the archive alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pipeline.audit.archive import archive_logs, archived_log_path
from pipeline.audit.removal import remove_archived_logs
from tests.management.test_doctor import _emails_and_anchors_in_order, found, only
from tests.support.archives import closed_job

__all__ = ["_emails_and_anchors_in_order"]
pytestmark = pytest.mark.django_db(transaction=True)


def test_a_removed_log_whose_file_is_lost_is_a_problem(settings: Any, tmp_path: Path) -> None:
    job_id = closed_job(ago_seconds=500 * 86_400)
    archive_logs(tmp_path, after_days=30)
    assert found("archive") == {}
    remove_archived_logs(tmp_path, after_days=400)

    level, message, advice = only("archive")

    assert (level, "ARCHIVE_DIR is not set" in message) == ("warning", True)
    assert "--skip archive" in advice
    settings.ARCHIVE_DIR = tmp_path
    assert only("archive")[0] == "ok"
    archived_log_path(tmp_path, job_id).unlink()
    level, message, advice = only("archive")
    assert level == "problem"
    assert str(job_id) in message
    assert "from your copy" in advice
