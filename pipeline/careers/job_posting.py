"""Jobs as search engines read them: JobPosting of schema.org, complete by Google's rules.

https://developers.google.com/search/docs/appearance/structured-data/job-posting
"""

from __future__ import annotations

import json
from typing import Any

from django.conf import settings
from django.urls import reverse
from django.utils.safestring import SafeString

from jobs.models import Company, Job, JobPosting, JobStatus
from jobs.postings import Workplace, plain_amount
from pipeline.careers import markdown
from pipeline.models import CareersPage

# Characters that could end the script element, or begin a comment in it.
_ESCAPED = {ord(char): f"\\u{ord(char):04x}" for char in "<>&\u2028\u2029"}


def describe(job: Job) -> dict[str, Any] | None:
    """Return an open job as a JobPosting; None if a required property is unknown.

    Google requires a description and the country. Its posting and company must have been read.
    """
    posting = job.posting
    description = markdown.to_html(posting.description)
    if job.status != JobStatus.OPEN or job.is_test or not (description and posting.country):
        return None
    assert job.opened_at is not None  # noqa: S101  it is open
    said: dict[str, Any] = {
        "@context": "https://schema.org/",
        "@type": "JobPosting",
        "title": posting.title,
        "description": str(description),
        "datePosted": job.opened_at.isoformat(timespec="seconds"),
        "hiringOrganization": describe_company(job.company),
        "identifier": {
            "@type": "PropertyValue",
            "name": job.company.name,
            "value": str(job.id),
        },
        "url": f"{settings.SITE_URL}{reverse('opening', args=[job.id])}",
        "directApply": True,
        **_place(posting),
    }
    if job.closes_at:
        said["validThrough"] = job.closes_at.isoformat(timespec="seconds")
    if posting.employment_type:
        said["employmentType"] = posting.employment_type
    if posting.has_pay:
        said["baseSalary"] = _pay(posting)
    if posting.department:
        said["employmentUnit"] = {"@type": "Organization", "name": posting.department}
    if job.positions_left:
        said["totalJobOpenings"] = job.positions_left
    return said


def describe_company(company: Company) -> dict[str, Any]:
    """Return a company as an Organization, with its own page and logo if it has them."""
    page = careers_of(company)
    said = {"@type": "Organization", "name": company.name}
    if page:
        said["sameAs"] = page_url(page)
    if page and page.logo_digest:
        said["logo"] = logo_url(page)
    return said


def careers_of(company: Company) -> CareersPage | None:
    """Return a company's careers page, if it has one: read before, or read now."""
    return getattr(company, "careers", None)


def page_url(page: CareersPage) -> str:
    """Return the public address of a careers page: the company's own domain, or below the site."""
    if domain := page.proved_domain:
        return f"https://{domain}/"
    return f"{settings.SITE_URL}{reverse('careers', args=[page.slug])}"


def logo_url(page: CareersPage) -> str:
    """Return the public address of a company's logo."""
    path = reverse("careers_logo", args=[page.company_id, page.logo_digest])
    return f"{settings.SITE_URL}{path}"


def _place(posting: JobPosting) -> dict[str, Any]:
    country = {"@type": "Country", "name": posting.country}
    if posting.workplace == Workplace.REMOTE:
        return {"jobLocationType": "TELECOMMUTE", "applicantLocationRequirements": country}
    address = {"@type": "PostalAddress", "addressCountry": posting.country}
    if posting.location:
        address["addressLocality"] = posting.location
    return {"jobLocation": {"@type": "Place", "address": address}}


def _pay(posting: JobPosting) -> dict[str, Any]:
    low, high = posting.pay_minimum, posting.pay_maximum
    value: dict[str, Any] = {"@type": "QuantitativeValue", "unitText": posting.pay_period}
    if low == high or low is None or high is None:
        amount = low if low is not None else high
        assert amount is not None  # noqa: S101  by the table's constraint
        value["value"] = _number(plain_amount(amount))
    else:
        value |= {
            "minValue": _number(plain_amount(low)),
            "maxValue": _number(plain_amount(high)),
        }
    return {"@type": "MonetaryAmount", "currency": posting.pay_currency, "value": value}


def _number(amount: str) -> int | float:
    return float(amount) if "." in amount else int(amount)


def script(said: dict[str, Any]) -> SafeString:
    """Return structured data as the element of a page."""
    text = json.dumps(said, ensure_ascii=False).translate(_ESCAPED)
    return SafeString(f'<script type="application/ld+json">{text}</script>')
