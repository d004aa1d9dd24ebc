"""The page that gives a place back: what follows, before it is done, and who may do it."""

from __future__ import annotations

import pytest
from django.test import Client

from jobs.models import Company, Role
from pipeline.models import Application, DecisionNote
from pipeline.services.jobs import close_job
from tests.support import factories
from tests.support.accounts import browser_of, member_of
from tests.support.applicants import owner_signed_in
from tests.support.clock import let_time_pass
from tests.support.pages import follow, page_of

pytestmark = pytest.mark.django_db(transaction=True)

GIVEN = {"reason": "ACCOMMODATION", "note": "Was in hospital."}


def missed_seat(company: Company, **policy: object) -> list[Application]:
    """Three people: the first missed the only seat, the second is offered it, the third waits."""
    job_id = factories.job(company_id=company.id, acknowledge_first_seat=True, **policy)
    people = [
        factories.application(job_id, factories.applicant(name=name))
        for name in ("Ana Li", "Bo Berg", "Cy Okafor")
    ]
    let_time_pass(job_id, factories.WINDOW)
    factories.settle_all()
    return people


@pytest.fixture
def recruiter(company: Company) -> Client:
    return browser_of(member_of(company, Role.RECRUITER))


def path_of(application: Application) -> str:
    return f"/company/applications/{application.id}/"


def back(application: Application) -> str:
    return f"{path_of(application)}reinstate/"


@pytest.mark.parametrize("misses_kept", [0, 3])
def test_the_page_says_what_follows_and_then_it_happens(
    company: Company, recruiter: Client, misses_kept: int
) -> None:
    ana, _bo, cy = missed_seat(company, max_decays=misses_kept)
    assert back(ana) in page_of(recruiter, path_of(ana))

    page = page_of(recruiter, back(ana))
    assert "they are number 1 in line again, and 1 person behind moves back by one" in page
    done = follow(recruiter, back(ana), GIVEN)

    assert "Ana Li has their place back and is number 1 in line." in done
    assert "Was in hospital." in done
    assert "an accommodation for the applicant" in done
    assert back(ana) not in done
    assert factories.line(ana.job_id) == [ana.id, cy.id]


def test_a_free_seat_is_promised_and_offered(company: Company, recruiter: Client) -> None:
    job_id = factories.job(company_id=company.id, acknowledge_first_seat=True)
    alone = factories.application(job_id)
    let_time_pass(job_id, factories.WINDOW)
    factories.settle_all()

    assert "it goes to them at once" in page_of(recruiter, back(alone))
    assert "gets the free seat" in follow(recruiter, back(alone), GIVEN)


def test_a_reason_is_required_and_the_note_has_a_limit(company: Company, recruiter: Client) -> None:
    ana, *_others = missed_seat(company)

    for given in ({"note": "x"}, {"reason": "OTHER"}, GIVEN | {"note": "x" * 1_001}):
        assert recruiter.post(back(ana), given).status_code == 422

    assert not DecisionNote.objects.exists()
    assert factories.fresh(ana).decay_count == 1


def test_another_miss_since_is_not_given_back_unseen(company: Company, recruiter: Client) -> None:
    ana, *_others = missed_seat(company)

    answer = recruiter.post(back(ana), GIVEN | {"promised": "1"})

    assert answer.status_code == 422
    assert "The line has moved on" in answer.content.decode()


def test_who_missed_nothing_has_no_such_page(company: Company, recruiter: Client) -> None:
    ana, _bo, cy = missed_seat(company)

    for path in (back(cy), back(ana)):
        if path == back(ana):
            close_job(job_id=ana.job_id, actor=factories.RECRUITER)
        answer = recruiter.get(path)
        assert (answer.status_code, answer["Location"]) == (302, path.removesuffix("reinstate/"))
    assert recruiter.post(back(cy), GIVEN).status_code == 302
    assert "REINSTATED" not in factories.event_names(ana.job_id)


def test_a_second_application_is_named_as_the_obstacle(company: Company, recruiter: Client) -> None:
    ana, *_others = missed_seat(company, max_decays=0)
    factories.application(ana.job_id, ana.applicant)

    assert "already has an application in this line" in follow(recruiter, back(ana), GIVEN)


def test_a_viewer_and_a_stranger_give_nothing_back(company: Company) -> None:
    ana, *_others = missed_seat(company)
    viewer = browser_of(member_of(company, Role.VIEWER))
    stranger = browser_of(member_of(factories.company(), Role.OWNER))

    assert back(ana) not in page_of(viewer, path_of(ana))
    assert viewer.post(back(ana), GIVEN).status_code == 403
    assert stranger.get(back(ana)).status_code == 404
    assert stranger.post(back(ana), GIVEN).status_code == 404
    assert factories.fresh(ana).decay_count == 1


def test_both_sides_read_why(company: Company, recruiter: Client) -> None:
    ana, _bo, cy = missed_seat(company)
    follow(recruiter, back(ana), GIVEN)

    mine = page_of(owner_signed_in(ana), f"/me/applications/{ana.id}/")
    assert "The company gave you back the place" in mine
    assert "You missed the deadline. You are now number" not in mine
    assert "hospital" not in mine
    theirs = page_of(owner_signed_in(cy), f"/me/applications/{cy.id}/")
    assert "Someone is ahead of you again" in theirs
    assert "Ana" not in theirs
    log = page_of(recruiter, f"/company/jobs/{ana.job_id}/timeline/")
    assert "got their place back" in log
    only = page_of(recruiter, f"/company/jobs/{ana.job_id}/timeline/?event=REINSTATED")
    assert "got their place back" in only
