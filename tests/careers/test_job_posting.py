"""Jobs as search engines read them: right by Google's rules whatever the posting says."""

from __future__ import annotations

import copy
import json
import re
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.test import Client
from hypothesis import given
from hypothesis import strategies as st
from uuid_utils.compat import uuid7

from jobs.models import Company, Job, JobPosting, JobStatus
from jobs.postings import CURRENCIES, EmploymentType, PayPeriod, Workplace, countries, languages
from pipeline.careers.job_posting import describe, script
from pipeline.models import CareersPage
from pipeline.services.jobs import close_job, pause_job
from tests.careers.google import faults
from tests.support import factories

NOW = datetime(2026, 11, 28, 12, tzinfo=UTC)
WHOLE = {
    "title": "Ship's cook",
    "description": "Cooks for a **crew** of twelve.\n\n- Early\n- Late",
    "location": "Rotterdam",
    "country": "NL",
    "employment_type": "FULL_TIME",
    "workplace": "ON_SITE",
    "department": "Galley",
    "language": "en",
    "pay_minimum": Decimal("3500"),
    "pay_maximum": Decimal("4200"),
    "pay_currency": "EUR",
    "pay_period": "MONTH",
}


def posted(company: Company | None = None, /, **facts: Any) -> Job:
    """Return an open job that is in no database."""
    job = Job(
        id=uuid7(),
        status=JobStatus.OPEN,
        opened_at=NOW,
        closes_at=NOW + timedelta(days=30),
        company=company or Company(name="Harbour & Sons"),
        hired_count=0,
        positions_to_fill=2,
    )
    Company._meta.get_field("careers").set_cached_value(
        job.company,
        CareersPage(company=job.company, slug="harbour", logo_digest="0" * 32) if company else None,
    )
    JobPosting(job=job, **WHOLE | facts)
    return job


def test_a_whole_posting_says_everything_that_google_asks_for() -> None:
    said = describe(posted(Company(name="Harbour & Sons")))

    assert said is not None
    assert faults(said) == []
    recommended = {
        *("validThrough", "employmentType", "identifier", "baseSalary", "directApply"),
        *("title", "description", "datePosted", "hiringOrganization", "jobLocation"),
    }
    assert recommended <= said.keys()
    assert said["hiringOrganization"].keys() >= {"name", "sameAs", "logo"}
    assert said["baseSalary"]["value"] == {
        "@type": "QuantitativeValue",
        "minValue": 3500,
        "maxValue": 4200,
        "unitText": "MONTH",
    }
    assert said["validThrough"] == "2026-12-28T12:00:00+00:00"
    assert "<strong>crew</strong>" in said["description"]


def test_remote_work_names_the_country_where_people_may_be() -> None:
    said = describe(posted(workplace="REMOTE"))

    assert said is not None
    assert faults(said) == []
    assert said["jobLocationType"] == "TELECOMMUTE"
    assert said["applicantLocationRequirements"] == {"@type": "Country", "name": "NL"}
    assert "jobLocation" not in said


AMOUNT = st.none() | st.decimals(1, 99_999, places=2)


@st.composite
def pay(draw: Any) -> dict[str, Any]:
    low, high = draw(AMOUNT), draw(AMOUNT)
    if low is None and high is None:
        return dict.fromkeys(("pay_minimum", "pay_maximum")) | {
            "pay_currency": "",
            "pay_period": "",
        }
    if low is not None and high is not None:
        low, high = sorted((low, high))
    return {
        "pay_minimum": low,
        "pay_maximum": high,
        "pay_currency": draw(st.sampled_from(CURRENCIES)),
        "pay_period": draw(st.sampled_from(PayPeriod.values)),
    }


@given(
    pay=pay(),
    facts=st.fixed_dictionaries(
        {
            "description": st.sampled_from(["", "Cooks.", "# Cook\n\n- a\n- b", "<b>x</b>"]),
            "location": st.sampled_from(["", "Rotterdam"]),
            "country": st.sampled_from(["", *countries()]),
            "employment_type": st.sampled_from(["", *EmploymentType.values]),
            "workplace": st.sampled_from(["", *Workplace.values]),
            "department": st.sampled_from(["", "Galley"]),
            "language": st.sampled_from(["", *languages()]),
        }
    ),
)
def test_whatever_is_said_is_right_or_nothing_is_said(
    pay: dict[str, Any], facts: dict[str, Any]
) -> None:
    said = describe(posted(**facts, **pay))

    if facts["country"] and facts["description"]:
        assert faults(said) == []
    else:
        assert said is None


@pytest.mark.parametrize(
    "spoil",
    [
        lambda said: said.pop("title"),
        lambda said: said.pop("description"),
        lambda said: said.pop("jobLocation"),
        lambda said: said["jobLocation"]["address"].pop("addressCountry"),
        lambda said: said.update(employmentType="fulltime"),
        lambda said: said.update(jobLocationType="REMOTE"),
        lambda said: said.update(datePosted="2026-11-28T12:00:00"),
        lambda said: said.update(salary=1),
        lambda said: said["baseSalary"].update(currency="euro"),
        lambda said: said["baseSalary"]["value"].update(unitText="FORTNIGHT"),
        lambda said: said["baseSalary"]["value"].update(minValue=5_000),
        lambda said: said["hiringOrganization"].update(logo="/logo.png"),
        lambda said: said["hiringOrganization"].update(name=""),
    ],
)
def test_the_rules_find_what_is_wrong(spoil: Any) -> None:
    said: Any = copy.deepcopy(describe(posted(Company(name="Harbour"))))
    spoil(said)

    try:
        found = faults(said)
    except KeyError as missing:
        found = [str(missing)]

    assert found


def test_nothing_in_it_can_end_the_script() -> None:
    said = describe(
        posted(title="</script><script>alert(1)</script><!--", department="A & B\u2028")
    )

    assert said is not None
    written = script(said)
    assert written.count("<") == 2
    assert json.loads(re.sub("<[^>]*>", "", written)) == said


@pytest.mark.django_db(transaction=True)
def test_the_page_of_an_open_job_says_it_and_a_closed_one_does_not(visitor: Client) -> None:
    job = factories.job()
    JobPosting.objects.filter(job_id=job).update(**WHOLE)

    def said() -> list[str]:
        page = visitor.get(f"/jobs/{job}/").content.decode()
        return re.findall(r'<script type="application/ld\+json">(.*?)</script>', page)

    [text] = said()
    assert faults(json.loads(text)) == []
    pause_job(job_id=job, actor=factories.RECRUITER)
    assert said() == []
    close_job(job_id=job, actor=factories.RECRUITER)
    assert said() == []
