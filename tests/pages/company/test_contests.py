"""The pages on which a company reads requests to look again, and answers them."""

from __future__ import annotations

import pytest
from django.test import Client

from jobs.models import Company, Role
from pipeline.domain.contests import ContestAnswer, ContestReason
from pipeline.domain.states import Actor, ActorKind, Outcome
from pipeline.models import Application, Contest
from pipeline.services.contests import answer_contest, contest
from pipeline.services.jobs import close_job
from pipeline.services.leaving import remove
from tests.support import factories
from tests.support.accounts import browser_of, member_of
from tests.support.clock import let_time_pass
from tests.support.pages import follow, page_of

pytestmark = pytest.mark.django_db(transaction=True)
DAY = 86_400
LIST = "/company/look-again/"


@pytest.fixture
def recruiter(company: Company) -> Client:
    return browser_of(member_of(company, Role.RECRUITER))


@pytest.fixture
def asked(company: Company) -> Contest:
    """Ana, who waited and was rejected, asks why. Someone else waits behind her."""
    return ask(rejected(company))


def rejected(
    company: Company, name: str = "Ana Li", actor: Actor = factories.RECRUITER
) -> Application:
    job_id = factories.job(company_id=company.id)
    factories.application(job_id)
    person = factories.application(job_id, factories.applicant(name=name))
    factories.application(job_id)
    remove(application_id=person.id, outcome=Outcome.REJECTED, actor=actor)
    return person


def ask(application: Application, text: str = "I have a <licence>.") -> Contest:
    return contest(application_id=application.id, text=text, actor=factories.owner_of(application))


def form_of(asked: Contest) -> str:
    return f"/company/applications/{asked.application_id}/look-again/{asked.id}/"


def person_of(asked: Contest) -> str:
    return f"/company/applications/{asked.application_id}/"


def test_the_first_page_the_list_and_the_application_lead_to_the_form(
    recruiter: Client, asked: Contest
) -> None:
    assert "1 applicant has asked you to look at an application again" in " ".join(
        page_of(recruiter, "/company/").split()
    )
    listed = page_of(recruiter, LIST)
    assert "Ana Li" in listed
    assert person_of(asked) in listed
    assert form_of(asked) in listed
    seen = page_of(recruiter, person_of(asked))
    assert "I have a &lt;licence&gt;." in seen
    assert form_of(asked) in seen
    assert "I have a &lt;licence&gt;." in page_of(recruiter, form_of(asked))


def test_an_answer_that_changes_gives_the_place_back(recruiter: Client, asked: Contest) -> None:
    given = {"reason": "NEW_INFORMATION", "text": "Thank you, we did not know."}

    done = follow(recruiter, form_of(asked), given)

    assert "Answered. We will email the applicant." in done
    assert "The place was given back" in done
    assert "Thank you, we did not know." in done
    assert factories.line(asked.job_id)[0] == asked.application_id
    assert "has asked you to look" not in page_of(recruiter, "/company/")


def test_an_answer_that_upholds_changes_nothing(recruiter: Client, asked: Contest) -> None:
    done = follow(recruiter, form_of(asked), {"reason": "DECISION_STANDS", "text": ""})

    assert "It stays as it is" in done
    assert factories.status_of(asked.application) == "REJECTED"
    again = follow(recruiter, form_of(asked), {"reason": "OUR_ERROR", "text": ""})
    assert "already been answered" in again
    assert factories.status_of(asked.application) == "REJECTED"


def test_without_a_reason_nothing_is_answered(recruiter: Client, asked: Contest) -> None:
    refused = recruiter.post(form_of(asked), {"text": "Hm."})

    assert refused.status_code == 422
    assert "Choose one." in refused.content.decode()
    assert Contest.objects.get(id=asked.id).is_open


def test_a_refused_answer_stays_on_the_page(recruiter: Client, asked: Contest) -> None:
    close_job(job_id=asked.job_id, actor=factories.RECRUITER)

    page = follow(recruiter, form_of(asked), {"reason": "OUR_ERROR", "text": "Sorry"})

    assert "The job is closed, so there is no place to give back." in page
    assert "Sorry" in page
    assert Contest.objects.get(id=asked.id).is_open


def test_whoever_decided_reads_that_another_should_look(company: Company) -> None:
    member = member_of(company, Role.RECRUITER)
    own = ask(rejected(company, actor=Actor(ActorKind.COMPANY, member.id)))
    others = ask(rejected(company, "Bo Berg"))

    hint = "You made this decision yourself."
    assert hint in page_of(browser_of(member), form_of(own))
    assert hint not in page_of(browser_of(member), form_of(others))


def test_the_list_is_filtered_and_says_what_is_overdue(
    company: Company, recruiter: Client, asked: Contest
) -> None:
    let_time_pass(asked.job_id, 15 * DAY)
    ask(rejected(company, "Bo Berg"))
    done = ask(rejected(company, "Cy Okafor"))
    answer_contest(
        contest_id=done.id,
        application_id=done.application_id,
        answer=ContestAnswer.UPHELD,
        reason=ContestReason.DECISION_STANDS,
        actor=factories.RECRUITER,
    )

    def names(query: str) -> list[str]:
        page = page_of(recruiter, LIST + query)
        return [name for name in ("Ana Li", "Bo Berg", "Cy Okafor") if name in page]

    assert names("") == ["Ana Li", "Bo Berg", "Cy Okafor"]
    assert names("?state=OPEN") == ["Ana Li", "Bo Berg"]
    assert names("?state=OVERDUE") == ["Ana Li"]
    assert names("?state=ANSWERED") == ["Cy Okafor"]
    assert names("?state=no&after=no") == ["Ana Li", "Bo Berg", "Cy Okafor"]
    assert "Overdue" in page_of(recruiter, person_of(asked))
    assert "The first answer was due" in " ".join(page_of(recruiter, "/company/").split())


def test_a_viewer_reads_and_does_not_answer(company: Company, asked: Contest) -> None:
    viewer = browser_of(member_of(company, Role.VIEWER))

    listed = page_of(viewer, LIST)
    assert "Ana Li" in listed
    assert form_of(asked) not in listed
    assert form_of(asked) not in page_of(viewer, person_of(asked))
    assert viewer.get(form_of(asked)).status_code == 403
    sent = viewer.post(form_of(asked), {"reason": "OUR_ERROR"})
    assert sent.status_code == 403
    assert Contest.objects.get(id=asked.id).is_open


def test_another_company_finds_nothing(asked: Contest) -> None:
    stranger = browser_of(member_of(factories.company(), Role.OWNER))

    assert "Ana Li" not in page_of(stranger, LIST)
    assert stranger.get(form_of(asked)).status_code == 404
    assert stranger.post(form_of(asked), {"reason": "OUR_ERROR"}).status_code == 404
