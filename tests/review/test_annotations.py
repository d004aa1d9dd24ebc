"""Notes, tags, links and assignees: bounded, erased with the person, and in their download."""

from __future__ import annotations

import json
import logging
from typing import Any
from uuid import uuid4

import pytest

from applicants.models import Applicant
from jobs.models import Company, Membership, Role
from pipeline.domain.errors import ApplicationNotFound, AssigneeNotFound, TooManyAnnotations
from pipeline.domain.permissions import Action
from pipeline.models import (
    Application,
    ApplicationAssignee,
    ApplicationLink,
    ApplicationNote,
    ApplicationTag,
)
from pipeline.privacy import my_data
from pipeline.privacy.erase import erase_person
from pipeline.review import annotations as write
from pipeline.selectors.members import read_choices
from pipeline.selectors.review import read_annotations, read_job_tags
from tests.support import factories
from tests.support.accounts import member_of
from tests.support.together import kinds, together

pytestmark = pytest.mark.django_db(transaction=True)

KINDS = (ApplicationNote, ApplicationTag, ApplicationLink, ApplicationAssignee)


@pytest.fixture
def application(company: Company) -> Application:
    """Return an application to a job of the company."""
    return factories.application(factories.job(company_id=company.id))


def annotate(application: Application, company: Company) -> Any:
    """Add one of each kind, and return the member who did."""
    member = member_of(company, Role.RECRUITER)
    write.add_note(application_id=application.id, text="Knows Zig.", author_id=member.id)
    write.add_tag(application_id=application.id, word="  Night   Shift ")
    write.add_link(application_id=application.id, url="https://example.org/cv", label="CV")
    write.assign_application(
        application_id=application.id, company_id=company.id, user_id=member.id
    )
    return member


def test_all_of_it_is_read_again(application: Application, company: Company) -> None:
    member = annotate(application, company)

    kept = read_annotations([application.id])[application.id]

    assert [note.text for note in kept.notes] == ["Knows Zig."]
    assert (kept.tags, kept.assignee) == (["night shift"], member.email)
    assert [(link.label, link.url) for link in kept.links] == [("CV", "https://example.org/cv")]
    assert read_job_tags(application.job_id) == ["night shift"]
    assert (member.id, member.email) in read_choices(
        Action.READ_JOB, company_id=company.id, job_id=application.job_id
    )


def test_each_kind_has_a_limit_that_counts_at_the_same_moment(
    application: Application, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(write, "MOST_TAGS", 1)
    monkeypatch.setattr(write, "MOST_LINKS", 0)
    monkeypatch.setattr(write, "MOST_NOTES", 0)

    answers = together(
        [
            lambda: write.add_tag(application_id=application.id, word="a"),
            lambda: write.add_tag(application_id=application.id, word="b"),
        ]
    )

    assert kinds(answers) == ["ApplicationTag", "TooManyAnnotations"]
    with pytest.raises(TooManyAnnotations):
        write.add_link(application_id=application.id, url="https://example.org", label="")
    with pytest.raises(TooManyAnnotations):
        write.add_note(application_id=application.id, text="x", author_id=uuid4())


def test_a_tag_twice_is_one(application: Application) -> None:
    for word in ("Night", "night "):
        write.add_tag(application_id=application.id, word=word)

    assert ApplicationTag.objects.count() == 1


def test_only_members_of_the_company_are_assigned(
    application: Application, company: Company
) -> None:
    stranger = member_of(factories.company())
    of = {"application_id": application.id, "company_id": company.id}

    with pytest.raises(AssigneeNotFound):
        write.assign_application(user_id=stranger.id, **of)
    member = member_of(company)
    for user_id in (member.id, None):
        write.assign_application(user_id=user_id, **of)
    assert not ApplicationAssignee.objects.exists()


def test_a_former_member_is_assigned_nothing(application: Application, company: Company) -> None:
    member = annotate(application, company)
    before = read_annotations([application.id])[application.id]

    Membership.objects.filter(user=member, company=company).delete()
    elsewhere = factories.company()
    Membership.objects.create(user=member, company=elsewhere, role=Role.RECRUITER)

    kept = read_annotations([application.id])[application.id]
    assert (before.assignee, kept.assignee, kept.assignee_id) == (member.email, "", None)
    assert before.stamp != kept.stamp


def test_the_tags_of_a_job_are_read_one_by_one_from_its_index(application: Application) -> None:
    people = [application, *factories.applications(application.job_id, 20)]
    for person in people:
        for word in ("night", "day"):
            write.add_tag(application_id=person.id, word=word)
    write.add_tag(application_id=factories.application(factories.job()).id, word="elsewhere")

    assert read_job_tags(application.job_id) == ["day", "night"]
    assert read_job_tags(uuid4()) == []


def test_the_security_log_names_who_removed_a_note(
    application: Application, company: Company, caplog: pytest.LogCaptureFixture
) -> None:
    member = annotate(application, company)
    of = {"application_id": application.id, "company_id": company.id, "member_id": member.id}
    caplog.set_level(logging.INFO, logger="security")

    write.remove_note(note_id=ApplicationNote.objects.get().id, **of)
    write.remove_note(note_id=1, **of)  # is not there

    (record,) = [each for each in caplog.records if each.msg == "note.removed"]
    named = (record.application, record.company, record.member)
    assert named == (str(application.id), str(company.id), str(member.id))


def test_an_erased_person_leaves_nothing_and_gets_nothing_new(
    application: Application, company: Company
) -> None:
    annotate(application, company)

    erase_person(applicant_id=application.applicant_id)

    assert [kind._default_manager.count() for kind in KINDS] == [0, 0, 0, 0]
    with pytest.raises(ApplicationNotFound):
        write.add_tag(application_id=application.id, word="late")


def test_a_note_written_while_the_person_is_erased_does_not_stay(
    application: Application, company: Company
) -> None:
    member = member_of(company)

    together(
        [
            lambda: erase_person(applicant_id=application.applicant_id),
            lambda: write.add_note(application_id=application.id, text="x", author_id=member.id),
        ]
    )

    assert not ApplicationNote.objects.exists()


def test_the_person_reads_it_in_the_download_without_the_members_names(
    application: Application, company: Company
) -> None:
    member = annotate(application, company)

    kept = my_data.collect(Applicant.objects.get(id=application.applicant_id))

    (mine,) = kept["applications"]
    assert mine["kept_by_the_company"]["tags"] == ["night shift"]
    assert mine["kept_by_the_company"]["notes"][0]["text"] == "Knows Zig."
    assert member.email not in json.dumps(kept, default=str)


def test_notes_stay_when_their_author_leaves(application: Application, company: Company) -> None:
    member = annotate(application, company)
    Membership.objects.filter(user=member).delete()

    member.delete()

    kept = read_annotations([application.id])[application.id]
    assert (kept.notes[0].author, kept.assignee) == (None, "")
