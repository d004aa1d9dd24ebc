"""Feed of open jobs for job boards, in the common form that Indeed described."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from email.utils import format_datetime
from xml.etree import ElementTree

from django.conf import settings
from django.urls import reverse
from django.utils import timezone

from jobs.models import Job
from jobs.postings import Workplace
from pipeline.careers import markdown
from pipeline.web.languages import in_language_of
from pipeline.wording.postings import describe_pay

MOST_JOBS = 1_000
MOST_CHARACTERS = 8 * 2**20  # of all descriptions
# The words of the form for ours.
JOB_TYPES = {
    "FULL_TIME": "fulltime",
    "PART_TIME": "parttime",
    "CONTRACTOR": "contract",
    "TEMPORARY": "temporary",
    "INTERN": "internship",
    "VOLUNTEER": "volunteer",
    "PER_DIEM": "perdiem",
    "OTHER": "other",
}
REMOTE_TYPES = {Workplace.REMOTE: "Fully remote", Workplace.HYBRID: "Hybrid remote"}
# Not allowed in XML 1.0.
_CONTROLS = dict.fromkeys([*range(9), 11, 12, *range(14, 32), 0xFFFE, 0xFFFF])


def build(publisher: str, url: str, jobs: Iterable[Job]) -> bytes:
    """Return the feed of jobs, the newest first, up to a limit of text.

    Their postings and companies must have been read.
    """
    root = ElementTree.Element("source")
    _add(root, "publisher", publisher)
    _add(root, "publisherurl", url)
    _add(root, "lastBuildDate", _date(timezone.now()))
    left = MOST_CHARACTERS
    for job in jobs:
        left -= len(job.posting.description)
        if left < 0:
            break
        _add_job(root, job)
    return ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)


def _add_job(root: ElementTree.Element, job: Job) -> None:
    posting, node = job.posting, ElementTree.SubElement(root, "job")
    with in_language_of(posting.language):  # as the text: one feed for everyone
        pay = describe_pay(posting)
    texts = {
        "title": posting.title,
        "date": _date(job.opened_at),
        "referencenumber": str(job.id),
        "requisitionid": str(job.id),
        "url": f"{settings.SITE_URL}{reverse('opening', args=[job.id])}",
        "company": job.company.name,
        "sourcename": job.company.name,
        "city": posting.location,
        "country": posting.country,
        "description": str(markdown.to_html(posting.description)),
        "salary": pay,
        "jobtype": JOB_TYPES.get(posting.employment_type, ""),
        "category": posting.department,
        "remotetype": REMOTE_TYPES.get(Workplace(posting.workplace), "")
        if posting.workplace
        else "",
        "language": posting.language,
        "expirationdate": _date(job.closes_at),
        "lastactivitydate": _date(posting.updated_at),
    }
    for name, text in texts.items():
        if text:
            _add(node, name, text)


def _date(at: datetime | None) -> str:
    return format_datetime(at.astimezone(UTC), usegmt=True) if at else ""


def _add(parent: ElementTree.Element, name: str, text: str) -> None:
    ElementTree.SubElement(parent, name).text = text.translate(_CONTROLS)
