"""Sources of the demo's people, views of its jobs, and the notice that its company shows."""

from __future__ import annotations

from uuid import UUID
from zlib import crc32

from django.db import connection

from jobs.companies import name_controller
from jobs.models import Company
from pipeline.consents.versions import NOTICE, POOL, Wanted, publish
from pipeline.equality.questions import choose
from pipeline.sources.origin import Origin

# Most people come directly.
_SOURCES = ("", "", "", "linkedin", "linkedin", "newsletter", "job board")
_NOTICE = (
    "We keep what you send with your application, to decide on it, and nobody else gets it. Who"
    " reviews it is on our team. Ask us at any time what we have about you."
)
_POOL_MONTHS = 12

_VIEWS = """
INSERT INTO pipeline_jobviews (job_id, day, source, views)
SELECT person.job_id, person.applied_at::date, coalesce(origin.source, 'direct'),
       sum(2 + length(coalesce(origin.source, '')) %% 4)
FROM pipeline_application person JOIN jobs_job job ON job.id = person.job_id
LEFT JOIN pipeline_applicationsource origin ON origin.application_id = person.id
WHERE job.company_id = %s GROUP BY 1, 2, 3
ON CONFLICT DO NOTHING
"""


def origin_of(name: str) -> Origin:
    """Return where a person of the demo came from, always the same."""
    return Origin.read({"source": _SOURCES[crc32(name.encode()) % len(_SOURCES)]})


def count_views(company_id: UUID) -> None:
    """Count people who looked at a company's jobs: more than applied."""
    with connection.cursor() as cursor:
        cursor.execute(_VIEWS, [company_id])


def tell_people(company: Company) -> None:
    """Show a notice and ask about the talent pool where people apply to a company's jobs."""
    name = f"{company.name.removesuffix(' (demo)')} Ltd"
    contact = "privacy@demo.example"
    name_controller(company_id=company.id, legal_name=name, contact=contact, by=None)
    wanted = [Wanted(NOTICE, _NOTICE, True), Wanted(POOL, "", False, months=_POOL_MONTHS)]
    publish(company_id=company.id, wanted=wanted, seen=(), by=None)
    choose(company_id=company.id, codes=["gender", "age"], by=None)
