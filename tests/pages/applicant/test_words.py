"""Words of the pages that applicants read: few, in short sentences that are easy to read."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import timedelta
from functools import partial
from typing import Any
from uuid import UUID

import pytest
from django.test import Client

from jobs.models import Job, JobPosting
from jobs.policies import DAY
from pipeline.domain.states import Outcome, Reason
from pipeline.figures.forecast import POSITIONS
from pipeline.form.questions import Question
from pipeline.form.versions import publish
from pipeline.mail.links import LinkedOffer, make_offer_token
from pipeline.management.demo.plans import COMPANIES, MOVING, STORY
from pipeline.models import Application, JobForecast
from pipeline.notifications import previews
from pipeline.services.jobs import close_job, pause_job
from pipeline.services.turns import defer, pass_next, preaccept
from tests.services.test_verify import unverified
from tests.support import factories
from tests.support.applicants import confirm, decide, mine, owner_signed_in
from tests.support.clock import database_now, let_time_pass
from tests.support.forms import FIVE
from tests.support.lottery import lottery
from tests.support.push import SITE_KEY
from tests.support.reading import (
    count_words,
    grade_of,
    long_sentences,
    sentences_of,
    visible_blocks,
)

pytestmark = pytest.mark.django_db(transaction=True)

MOST_OF_A_JOB = 120  # words on the page of a job that are not its own
MOST_OF_AN_EMAIL = 110
MOST_WORDS, MOST_GRADE = 20, 8.0  # of a sentence; of a page
# Words of those who run a line. The proof, which is folded away, may name the hash.
NEVER = re.compile(r"promot|decay|cool-?down|\bhash\b|log head|tamper", re.I)
PEOPLE, LOCATION = 22, "Harbour yard"


def of_demo() -> Iterator[Any]:
    """Yield what the demo's public jobs are made of."""
    for job in (*(job for company in COMPANIES for job in company.jobs), MOVING, STORY):
        if not getattr(job, "is_draft", False):
            yield pytest.param(job, id=job.posting.title)


def own_texts(job_id: UUID, questions: tuple[Question, ...] = ()) -> list[str]:
    """Return the texts of a job's page that its company wrote."""
    posting = JobPosting.objects.select_related("job__company").get(job_id=job_id)
    texts = [posting.title, posting.location, posting.job.company.name]
    texts += posting.description.splitlines()
    for each in questions:
        texts += [each.label, each.help, each.unit, *each.choices]
    return [text for text in texts if text]


def words_on(
    job_id: UUID, questions: tuple[Question, ...] = (), client: Client | None = None
) -> int:
    page = (client or Client()).get(f"/jobs/{job_id}/")
    assert page.status_code == 200
    return count_words(visible_blocks(page.content.decode(), own=own_texts(job_id, questions)))


@pytest.mark.parametrize("planned", list(of_demo()))
@pytest.mark.parametrize("people", [0, 9])
def test_a_job_of_the_demo_has_few_words_that_are_not_its_own(planned: Any, people: int) -> None:
    job = factories.job(capacity=planned.capacity, **vars_of(planned.policy))
    JobPosting.objects.filter(job_id=job).update(
        title=planned.posting.title,
        description=planned.posting.description,
        location=planned.posting.location,
        review_target_seconds=3 * DAY,
    )
    factories.applications(job, people)
    if planned.questions:
        publish(job_id=job, questions=planned.questions, actor=factories.RECRUITER)

    assert words_on(job, planned.questions) <= MOST_OF_A_JOB


def vars_of(policy: Any) -> dict[str, Any]:
    return dict(policy.values())


def paused() -> UUID:
    job = factories.job()
    factories.applications(job, 3)
    pause_job(job_id=job, actor=factories.RECRUITER)
    return job


def closed() -> UUID:
    job = factories.job()
    factories.applications(job, 3)
    close_job(job_id=job, actor=factories.RECRUITER)
    factories.settle_all()
    return job


def filled() -> UUID:
    job = factories.job(hiring={"positions_to_fill": 1}, capacity=2)
    factories.applications(job, 4)
    Job.objects.filter(id=job).update(hired_count=1)
    return job


def with_forecast() -> UUID:
    job = factories.job()
    factories.applications(job, PEOPLE)
    forecast_for(job)
    return job


def forecast_for(job: UUID) -> None:
    """Let people in any place be offered a seat in 4 to 9 days."""
    known = {str(place): [4 * DAY, 9 * DAY, 20] for place in POSITIONS}
    JobForecast.objects.create(
        job_id=job, seq=1, made_at=database_now(), positions=known, settled=0, came_true=0
    )


def closing() -> UUID:
    soon = database_now() + timedelta(days=3)
    job = factories.job(hiring={"closes_at": soon}, capacity=2)
    factories.applications(job, 3)
    return job


def drawn() -> UUID:
    job = lottery(capacity=2)
    factories.applications(job, 3)
    return job


EDGES: dict[str, Callable[[], UUID]] = {
    "paused": paused,
    "closed": closed,
    "filled": filled,
    "closing": closing,
    "with a forecast": with_forecast,
    "drawn by lot": drawn,
    "quiet hours": lambda: factories.job(
        quiet_from="22:00", quiet_to="08:00", quiet_weekends=True, acknowledge_first_seat=True
    ),
}


@pytest.mark.parametrize("edge", EDGES)
def test_a_job_in_any_state_has_few_words_that_are_not_its_own(edge: str) -> None:
    assert words_on(EDGES[edge]()) <= MOST_OF_A_JOB


def test_the_count_of_words_is_not_blind() -> None:
    job = factories.job()
    JobPosting.objects.filter(job_id=job).update(description=("word " * 300).strip())
    page = Client().get(f"/jobs/{job}/").content.decode()

    assert count_words(visible_blocks(page)) > 300
    assert words_on(job) < 100


# The pages of an application, in the states that people see it in.


def waiting(**policy: Any) -> Application:
    job = factories.job(capacity=2, **policy)
    return factories.applications(job, 6)[4]


def with_wishes() -> Application:
    person = waiting()
    later = database_now() + timedelta(days=2)
    actor = factories.owner_of(person)
    defer(application_id=person.id, not_before=later, actor=actor)
    preaccept(application_id=person.id, accept_until=later + timedelta(days=1), actor=actor)
    return person


def passing() -> Application:
    person = waiting()
    pass_next(application_id=person.id, wanted=True, actor=factories.owner_of(person))
    return person


def forecast() -> Application:
    person = waiting()
    forecast_for(person.job_id)
    return person


def offered(**policy: Any) -> Application:
    return factories.application(factories.job(acknowledge_first_seat=True, **policy))


def in_review() -> Application:
    person = offered()
    JobPosting.objects.filter(job_id=person.job_id).update(review_target_seconds=3 * DAY)
    confirm(person)
    return person


def missed(**policy: Any) -> Application:
    person = offered(cooldown_seconds=DAY, **policy)
    let_time_pass(person.job_id, factories.WINDOW)
    factories.settle_all()
    return person


def ended(outcome: Outcome) -> Application:
    person = factories.application(factories.job())
    decide(person, outcome, reason=Reason.NOT_A_MATCH)
    return person


def released() -> Application:
    job = factories.job()
    _holder, person = factories.applications(job, 2)
    close_job(job_id=job, actor=factories.RECRUITER)
    factories.settle_all()
    return person


def held_up() -> Application:
    person = waiting()
    pause_job(job_id=person.job_id, actor=factories.RECRUITER)
    return person


STATES: dict[str, Callable[[], Application]] = {
    "waiting": waiting,
    "waiting, with a forecast": forecast,
    "not before a date, and yes in advance": with_wishes,
    "passing the next turn": passing,
    "offered": offered,
    "offered, the last miss": lambda: offered(max_decays=0),
    "in review": in_review,
    "missed": missed,
    "missed too often": lambda: missed(max_decays=0),
    **{each.value.lower(): partial(ended, each) for each in (Outcome.REMOVED, Outcome.REJECTED)},
    "hired": partial(ended, Outcome.HIRED),
    "released": released,
    "paused": held_up,
    "in the draw": lambda: Application.objects.filter(job_id=drawn()).latest("applied_at"),
    "to be verified": lambda: unverified(factories.job(), factories.applicant()),
}
ACTS = ("", "not-before/", "yes/", "pass/", "withdraw/", "look-again/", "name/", "places/")
SITE_PAGES = ("/", "/privacy/", "/me/", "/me/data/", "/me/data/erase/", "/me/devices/")


def check_words(html: str, own: list[str]) -> None:
    """Check the words of a page, also of its closed parts, except the proof."""
    read = re.sub(r"<details(?![^>]*id=.proof.)", "<details open", html)
    blocks = visible_blocks(read, own=[*own, "Engineer"])
    sentences = sentences_of(blocks)
    assert not NEVER.search(" ".join(blocks)), NEVER.findall(" ".join(blocks))
    assert not long_sentences(sentences, most=MOST_WORDS)
    assert not sentences or grade_of(sentences) <= MOST_GRADE, (grade_of(sentences), sentences)


@pytest.mark.parametrize("state", STATES)
def test_an_application_is_easy_to_read(state: str) -> None:
    person = STATES[state]()
    client, own = owner_signed_in(person), own_texts(person.job_id)
    read = 0

    for act in ACTS:
        page = client.get(mine(person, act))
        if page.status_code == 200:
            check_words(page.content.decode(), own)
            read += 1

    assert read


@pytest.mark.parametrize("edge", EDGES)
def test_a_job_and_its_rules_are_easy_to_read(edge: str) -> None:
    job = EDGES[edge]()
    publish_questions = edge not in ("closed",)
    if publish_questions:
        publish(job_id=job, questions=FIVE, actor=factories.RECRUITER)

    for path in (f"/jobs/{job}/", f"/jobs/{job}/facts/"):
        own = own_texts(job, FIVE)
        check_words(Client().get(path).content.decode(), own)


@pytest.mark.parametrize("path", SITE_PAGES)
def test_the_other_pages_are_easy_to_read(path: str, settings: Any) -> None:
    person, settings.VAPID_PRIVATE_KEY = offered(), SITE_KEY

    page = owner_signed_in(person).get(path)

    assert page.status_code == 200
    check_words(page.content.decode(), own_texts(person.job_id))


@pytest.mark.parametrize("path", ["/sign-in/", "/code/", "confirm"])
def test_the_pages_before_signing_in_are_easy_to_read(path: str, visitor: Client) -> None:
    person = offered()
    visitor.post(f"/jobs/{person.job_id}/apply/", {"name": "Bo", "email": "bo@example.org"})
    seq = factories.events(person.job_id)[2].seq
    path = path.replace("confirm", f"/confirm/{make_offer_token(LinkedOffer(person.id, seq))}/")

    page = visitor.get(path)

    assert page.status_code == 200
    check_words(page.content.decode(), own_texts(person.job_id))


STRANGE = (
    "At the deadline the seat goes to the next in line, and you go to the back of the line, and the"
    " next person who joins passes you, notwithstanding any reinstatement."
)


def test_a_strange_sentence_would_be_found() -> None:
    page = f"<main><p>{STRANGE}</p><p>You will be promoted.</p></main>"

    sentences = sentences_of(visible_blocks(page))

    assert long_sentences(sentences) == [STRANGE]
    assert grade_of([STRANGE]) > MOST_GRADE
    with pytest.raises(AssertionError, match="promot"):
        check_words(page, [])
    hidden = f"<main><details><summary>More</summary><p>{STRANGE}</p></details></main>"
    assert visible_blocks(hidden) == ["More"]


# The emails.


APPLICANT_KINDS = [
    kind for kind in previews.KINDS if not kind.startswith(("digest", "review-", "alert-"))
]


@pytest.mark.parametrize("kind", APPLICANT_KINDS)
def test_an_email_is_short_easy_to_read_and_has_one_button(kind: str) -> None:
    sample = previews.find(kind)
    assert sample is not None

    text = re.sub(r"^Proof .*|https://\S+", "", sample.text, flags=re.M)
    sentences = sentences_of(text.split("\n\n"))

    assert not NEVER.search(text)
    assert not long_sentences(sentences, most=MOST_WORDS)
    assert grade_of(sentences) <= MOST_GRADE, (grade_of(sentences), sentences)
    assert count_words([text]) <= MOST_OF_AN_EMAIL
    links = re.findall(r"https://\S+", sample.text)
    assert len(links) == len(set(links))
    if sample.html:
        assert sample.html.count("display: inline-block") <= 1
        assert sample.html.count("<a href") == len(links)
