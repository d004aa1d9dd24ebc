"""Facts that other sites show with a link to a job."""

from __future__ import annotations

from django.conf import settings
from django.urls import reverse

from jobs.models import Job
from pipeline.careers import markdown
from pipeline.careers.job_posting import careers_of

LONGEST_SUMMARY = 200  # characters


def describe(job: Job) -> dict[str, str]:
    """Return a summary of a job and the address of its picture."""
    path = reverse("job_picture", args=[job.id, picture_version(job)])
    return {
        "summary": summary(job.posting.description),
        "picture": f"{settings.SITE_URL}{path}",
    }


def summary(text: str) -> str:
    """Return the beginning of a formatted text, in one line of plain text."""
    plain = markdown.to_plain(text)
    if len(plain) <= LONGEST_SUMMARY:
        return plain
    return plain[:LONGEST_SUMMARY].rpartition(" ")[0] + "…"


def picture_version(job: Job) -> str:
    """Return the version of a job's picture: another address after each change."""
    page = careers_of(job.company)
    look = f"-{page.colour or 'own'}-{page.logo_digest[:8]}" if page else ""
    return f"{job.posting.version}{look}".strip("-")
