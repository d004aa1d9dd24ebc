"""The ledger of idle seats on the figures of a job and on the company's page."""

from __future__ import annotations

from uuid import UUID

from django.test import Client

from jobs.models import Company
from tests.support import factories
from tests.support.history import page


def text_of(client: Client, url: str) -> str:
    response = client.get(url)
    assert response.status_code == 200
    return " ".join(response.content.decode().split())


def test_a_job_s_figures_show_the_loss_as_a_chart_and_a_table(viewer: Client, job: UUID) -> None:
    text = text_of(viewer, page(job, "figures/"))

    assert 'role="img" aria-labelledby="idle-t idle-d"' in text
    assert ", Not answered: 24.0 h" in text
    assert '<caption class="vh">Seat hours lost by week</caption>' in text


def test_the_company_s_page_lists_its_jobs_and_no_other(
    viewer: Client, job: UUID, company: Company
) -> None:
    draft = factories.job(company_id=company.id, open_now=False)
    strange = factories.job()

    text = text_of(viewer, "/company/idle-seats/")

    assert page(job, "figures/") in text
    assert str(draft) not in text
    assert str(strange) not in text


def test_without_jobs_the_company_s_page_says_what_will_appear(viewer: Client) -> None:
    assert "Open a job to see how its seats are used" in text_of(viewer, "/company/idle-seats/")


def test_only_members_see_it(client: Client, job: UUID) -> None:
    assert client.get("/company/idle-seats/").status_code == 302
