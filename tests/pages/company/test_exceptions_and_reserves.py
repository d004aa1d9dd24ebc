"""The pages of an exception and of reserved seats: who may, what is refused, and what is shown."""

from __future__ import annotations

import pytest
from django.test import Client

from jobs.models import Company, Role
from pipeline.domain.states import GroupKind
from pipeline.models import Application, LineException
from pipeline.services.reserved import Reserve, reserve_seats
from tests.support import factories
from tests.support.accounts import browser_of, member_of
from tests.support.pages import follow, page_of

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def line(company: Company) -> list[Application]:
    """One in the only seat and two who wait."""
    return factories.applications(factories.job(company_id=company.id), 3)


@pytest.fixture
def recruiter(company: Company) -> Client:
    return browser_of(member_of(company, Role.RECRUITER))


def ahead(person: Application) -> str:
    return f"/company/applications/{person.id}/move-ahead/"


def test_an_exception_says_whom_it_passes_and_takes_a_reason(
    recruiter: Client, line: list[Application]
) -> None:
    assert "<b>1 person</b> is passed" in page_of(recruiter, ahead(line[2]))
    for given in ({"reason": "FRIEND"}, {"reason": "OTHER"}, {"reason": "OTHER", "text": " "}):
        assert recruiter.post(ahead(line[2]), given).status_code == 422
    moved_on = {"reason": "OUR_ERROR", "promised": "7"}
    assert recruiter.post(ahead(line[2]), moved_on).status_code == 422
    assert not LineException.objects.exists()

    done = follow(recruiter, ahead(line[2]), {"reason": "OUR_ERROR", "promised": "2"})

    assert "is first in line now. Everyone passed gets an email." in done
    assert factories.line(line[0].job_id)[0] == line[2].id
    assert ahead(line[2]) not in done


def test_who_is_first_or_seated_cannot_be_moved_and_a_viewer_moves_nobody(
    company: Company, recruiter: Client, line: list[Application]
) -> None:
    for person in line[:2]:
        assert recruiter.get(ahead(person)).status_code == 302
    viewer = browser_of(member_of(company, Role.VIEWER))
    assert viewer.post(ahead(line[2]), {"reason": "OUR_ERROR"}).status_code == 403
    assert not LineException.objects.exists()


def test_an_owner_reserves_seats_and_everyone_reads_for_whom_and_why(company: Company) -> None:
    job = factories.job(company_id=company.id, capacity=3)
    path = f"/company/jobs/{job}/reserved-seats/"
    owner = browser_of(member_of(company, Role.OWNER))
    given = {"seats": "2", "kind": "OWN", "sentence": "", "code": "XYZ"}

    refused = owner.post(path, given)
    done = follow(owner, path, given | {"sentence": "For apprentices of our school."})

    assert refused.status_code == 422
    assert "Reserved seats are saved." in done
    public = page_of(Client(), f"/jobs/{job}/")
    assert "2 of 3 seats are reserved for a group that the company describes." in public
    assert "For apprentices of our school." in public
    assert "XYZ" not in public
    assert "0 of 2 taken" in page_of(Client(), f"/jobs/{job}/facts/")
    board = page_of(owner, f"/company/jobs/{job}/")
    assert board.count("Free, and reserved") == 2
    assert browser_of(member_of(company, Role.RECRUITER)).post(path, given).status_code == 403


def test_a_recruiter_confirms_a_person_who_said_so_when_applying(
    company: Company, recruiter: Client
) -> None:
    job = factories.job(company_id=company.id, capacity=2)
    reserve = Reserve(1, GroupKind.INTERNAL)
    reserve_seats(job_id=job, reserve=reserve, actor=factories.RECRUITER)
    factories.application(job)
    person = factories.application(job, group_code="")
    silent = factories.application(job)
    path = f"/company/applications/{person.id}/group/"

    assert path in page_of(recruiter, f"/company/applications/{person.id}/")
    assert "group-title" not in page_of(recruiter, f"/company/applications/{silent.id}/")
    done = follow(recruiter, path, {"decision": "confirm"})

    assert "Confirmed. The person can take a reserved seat." in done
    assert factories.fresh(person).reserved_seat
    assert "Nobody of the group" not in done
