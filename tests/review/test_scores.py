"""Scorecards: hidden until one's own are given, kept as given, closed by the decision."""

from __future__ import annotations

from uuid import UUID

import pytest

from jobs.models import Company, Role, User
from pipeline.domain.errors import (
    ApplicationNotFound,
    CriteriaChanged,
    ReviewOver,
    TooManyCriteria,
)
from pipeline.domain.states import Outcome
from pipeline.models import Application, Criterion, Score
from pipeline.privacy import my_data
from pipeline.privacy.erase import erase_person
from pipeline.review import decisions
from pipeline.review.scores import CriterionWords, Mark, give, set_criteria
from pipeline.selectors.scores import read_criteria, read_scorecards
from pipeline.services.leaving import remove
from tests.support import factories
from tests.support.accounts import member_of
from tests.support.factories import fresh
from tests.support.together import kinds, together

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def application(company: Company) -> Application:
    """Return the application of someone in review, by two criteria."""
    job = factories.job(company_id=company.id)
    set_criteria(job_id=job, wanted=[CriterionWords("Skill", "Can they?"), CriterionWords("Will")])
    return factories.application(job)


@pytest.fixture
def ana(company: Company) -> User:
    return member_of(company, Role.RECRUITER, email="ana@example.org")


@pytest.fixture
def bo(company: Company) -> User:
    return member_of(company, Role.OWNER, email="bo@example.org")


def marks(application: Application, *values: int, text: str = "") -> dict[UUID, Mark]:
    """Return marks by the job's criteria, in their order."""
    criteria = read_criteria(application.job_id)
    return {row.id: Mark(value, text) for row, value in zip(criteria, values, strict=True)}


def score(application: Application, reviewer: User, *values: int, text: str = "") -> None:
    given = marks(application, *values, text=text)
    give(application_id=application.id, reviewer_id=reviewer.id, marks=given)


def reject(application: Application) -> None:
    actor = factories.RECRUITER
    remove(application_id=application.id, outcome=Outcome.REJECTED, actor=actor)


def test_nobody_sees_the_others_marks_before_their_own_are_given(
    application: Application, ana: User, bo: User
) -> None:
    score(application, ana, 4, 1, text="Knows Zig.")

    before = read_scorecards(application, bo.id)
    score(application, bo, 2, 3)
    after = read_scorecards(application, bo.id)

    assert (before.is_hidden, before.reviewers, before.cards, before.summary) == (True, 1, [], [])
    assert [card.name for card in after.cards] == ["ana@example.org", "bo@example.org"]
    assert [(row.average, row.counts) for row in after.summary] == [
        (3.0, [0, 1, 0, 1]),
        (2.0, [1, 0, 1, 0]),
    ]


def test_a_program_sees_how_many_gave_marks_and_after_the_decision_all(
    application: Application, ana: User
) -> None:
    score(application, ana, 4, 1)

    before = read_scorecards(application, None)
    reject(application)
    after = read_scorecards(fresh(application), None)

    assert (before.is_hidden, before.reviewers, before.cards) == (True, 1, [])
    assert [card.name for card in after.cards] == ["ana@example.org"]


def test_marks_can_be_changed_until_the_decision(application: Application, ana: User) -> None:
    score(application, ana, 4, 1)
    score(application, ana, 3, 2)
    reject(application)

    with pytest.raises(ReviewOver):
        score(application, ana, 1, 1)

    assert list(Score.objects.order_by("criterion__number").values_list("mark", flat=True)) == [
        3,
        2,
    ]


def test_a_decision_that_can_still_be_undone_closes_the_scorecard_until_it_is(
    application: Application, ana: User, settings: object, undo_seconds: int
) -> None:
    decision = UUID(int=1)
    actor = factories.RECRUITER
    decisions.make(
        decision_id=decision,
        job_id=application.job_id,
        application_ids=[application.id],
        outcome=Outcome.REJECTED,
        actor=actor,
    )

    with pytest.raises(ReviewOver):
        score(application, ana, 1, 1)
    decisions.undo(decision_id=decision, job_id=application.job_id, actor=actor)
    score(application, ana, 1, 1)

    assert Score.objects.count() == 2


def test_only_people_in_review_are_scored(application: Application, ana: User) -> None:
    waiting = factories.application(application.job_id)

    with pytest.raises(ReviewOver):
        score(waiting, ana, 4, 4)


def test_marks_are_one_by_each_criterion_of_the_job(application: Application, ana: User) -> None:
    other = factories.job(company_id=factories.company().id)
    set_criteria(job_id=other, wanted=[CriterionWords("Skill"), CriterionWords("Will")])
    foreign = {row.id: Mark(1) for row in read_criteria(other)}
    half = dict(list(marks(application, 1, 1).items())[:1])

    for given in (foreign, half, {}):
        with pytest.raises(CriteriaChanged):
            give(application_id=application.id, reviewer_id=ana.id, marks=given)


def test_criteria_that_change_leave_given_scores_as_they_are(
    application: Application, ana: User
) -> None:
    score(application, ana, 4, 1)
    skill, will = read_criteria(application.job_id)

    set_criteria(
        job_id=application.job_id,
        wanted=[CriterionWords("Will", id=will.id), CriterionWords("Craft", id=skill.id)],
    )

    shown = read_scorecards(application, ana.id)
    assert [row.label for row in shown.criteria] == ["Will", "Craft"]
    assert shown.own
    assert {(each.criterion.label, each.mark) for each in shown.own.scores} == {
        ("Skill", 4),
        ("Will", 1),
    }
    with pytest.raises(CriteriaChanged):
        give(
            application_id=application.id,
            reviewer_id=ana.id,
            marks={skill.id: Mark(1), will.id: Mark(1)},
        )


def test_a_criterion_without_scores_is_deleted_when_it_is_replaced(
    application: Application,
) -> None:
    set_criteria(job_id=application.job_id, wanted=[CriterionWords("Craft")])

    assert [row.label for row in Criterion.objects.all()] == ["Craft"]


def test_a_job_has_at_most_eight_criteria(application: Application) -> None:
    with pytest.raises(TooManyCriteria):
        set_criteria(job_id=application.job_id, wanted=[CriterionWords(f"{n}") for n in range(9)])


def test_a_score_and_a_change_of_its_criterion_at_the_same_moment_keep_its_words(
    application: Application, ana: User
) -> None:
    given = marks(application, 4, 4)
    skill, will = read_criteria(application.job_id)
    changed = [CriterionWords("Craft", id=skill.id), CriterionWords("Will", id=will.id)]

    answers = together(
        [
            lambda: give(application_id=application.id, reviewer_id=ana.id, marks=given),
            lambda: set_criteria(job_id=application.job_id, wanted=changed),
        ]
    )

    scored = {row.criterion.label for row in Score.objects.select_related("criterion")}
    assert (kinds(answers), scored) in [
        (["NoneType", "NoneType"], {"Skill", "Will"}),
        (["CriteriaChanged", "NoneType"], set()),
    ]


def test_a_decision_and_a_score_at_the_same_moment_leave_one_after_the_other(
    application: Application, ana: User
) -> None:
    given = marks(application, 4, 4)

    answers = together(
        [
            lambda: give(application_id=application.id, reviewer_id=ana.id, marks=given),
            lambda: reject(application),
        ]
    )

    assert kinds(answers) in (["NoneType", "NoneType"], ["NoneType", "ReviewOver"])
    assert factories.status_of(application) == "REJECTED"


def test_scores_are_in_the_persons_data_without_names_and_erased_with_it(
    application: Application, ana: User
) -> None:
    score(application, ana, 4, 1, text="Knows Zig.")
    person = application.applicant

    [kept] = my_data.collect(person)["applications"]
    erase_person(applicant_id=person.id)

    told = kept["kept_by_the_company"]["scores"]
    assert [(each["criterion"], each["mark"], each["of"]) for each in told] == [
        ("Skill", 4, 4),
        ("Will", 1, 4),
    ]
    assert {each["text"] for each in told} == {"Knows Zig."}
    assert "ana@example.org" not in str(kept)
    assert not Score.objects.exists()
    with pytest.raises(ApplicationNotFound):
        score(application, ana, 1, 1)
