"""A file of anchors of each test's own, and a job worth anchoring."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from pipeline.domain.states import Outcome, Reason
from pipeline.services.leaving import remove
from tests.support import factories


@pytest.fixture
def file(settings: Any, tmp_path: Path) -> Path:
    """Keep each test's anchors in a separate folder."""
    settings.ANCHOR_FILE = tmp_path / "kept" / "anchors.jsonl"
    settings.ANCHOR_KEY_FILE = tmp_path / "secret" / "anchor_key"
    return Path(settings.ANCHOR_FILE)


@pytest.fixture
def rejected() -> UUID:
    """Return a job with a decision of its company."""
    job_id = factories.job()
    first, *_ = factories.applications(job_id, 3)
    remove(
        application_id=first.id,
        outcome=Outcome.REJECTED,
        reason=Reason.NOT_A_MATCH,
        actor=factories.RECRUITER,
    )
    return job_id
