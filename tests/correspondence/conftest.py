"""An application at a company whose site takes answers by email."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from jobs.models import Company
from pipeline.models import Application
from tests.support import factories
from tests.support.correspondence import REPLY_ADDRESS


@pytest.fixture(autouse=True)
def site(settings: Any, attachment_folder: Path) -> None:
    settings.NOTIFY = True
    settings.REPLY_ADDRESS = REPLY_ADDRESS
    settings.SITE_URL = "https://line.example"
    settings.DEFAULT_FROM_EMAIL = "Next in Line <no-reply@line.example>"


@pytest.fixture
def application(company: Company) -> Application:
    """An application of Ana Li to a job of the company."""
    job_id = factories.job(company_id=company.id)
    return factories.application(job_id, factories.applicant(name="Ana Li"))
