"""Owners' page of what the team did."""

from __future__ import annotations

from typing import Any

import pytest

from jobs import activity, keys
from jobs.models import Activity, Company, Membership, Role, Scope
from jobs.team import change_role
from pipeline.maintenance.expired_rows import ACTIVITY_DAYS, remove_batch
from pipeline.privacy.erase import erase_person
from tests.support import factories
from tests.support.accounts import browser_of, member_of

pytestmark = pytest.mark.django_db(transaction=True)
PAGE = "/company/activity/"


def text_of(client: Any, query: str = "") -> str:
    content: str = client.get(PAGE + query).content.decode()
    return content.partition("<main")[2]


def test_an_owner_reads_what_members_did_by_member_and_kind(company: Company) -> None:
    owner, other = member_of(company, name="Olga"), member_of(company, Role.VIEWER, name="Vic")
    member = Membership.objects.get(user=other)
    keys.create(company_id=company.id, name="Import", scopes=[Scope.READ], by=owner.id)
    change_role(company_id=company.id, membership_id=member.id, role=Role.RECRUITER, by=owner.id)
    client = browser_of(owner)

    assert "Changed the role of Vic from Viewer to Recruiter" in text_of(client)
    assert "Created the API key “Import”: read" in text_of(client, "?kind=KEYS")
    assert "Changed the role" not in text_of(client, "?kind=KEYS")
    assert "Import" not in text_of(client, f"?who={other.id}")


@pytest.mark.parametrize("role", [Role.VIEWER, Role.RECRUITER])
def test_only_owners_read_it(company: Company, role: Role) -> None:
    assert browser_of(member_of(company, role)).get(PAGE).status_code == 403


def test_it_can_be_downloaded(company: Company) -> None:
    owner = member_of(company, name="Olga")
    keys.create(company_id=company.id, name="=1+1", scopes=[Scope.READ], by=owner.id)

    answer = browser_of(owner).get(PAGE + "?format=csv&kind=KEYS")

    lines = b"".join(answer.streaming_content).decode().splitlines()
    assert lines[0].endswith("at,who,actor_id,kind,what,job_id,application_id")
    assert len(lines) == 2
    assert "key.created" in lines[1]


def test_a_sign_in_an_export_and_a_changed_job_are_noted(company: Company) -> None:
    job, owner = factories.job(company_id=company.id), member_of(company)
    client = browser_of(owner)

    b"".join(client.get(f"/company/jobs/{job}/applications/?format=csv").streaming_content)

    kinds = set(Activity.objects.filter(company=company).values_list("kind", flat=True))
    assert {"member.signed_in", "export.downloaded"} <= kinds


def test_an_erased_person_leaves_no_id_in_it(company: Company) -> None:
    row = factories.application(factories.job(company_id=company.id))
    kind = activity.KINDS["attachment.opened"]
    activity.note(kind, company_id=company.id, by=None, application_id=row.id)

    erase_person(applicant_id=row.applicant_id)

    assert Activity.objects.get(kind=kind.code).application_id is None


def test_it_is_kept_for_its_time_and_no_longer(company: Company) -> None:
    activity.note(activity.SECOND_STEP, company_id=company.id, by=None, about={"required": "x"})
    Activity.objects.update(at="2020-01-01T00:00:00Z")
    activity.note(activity.SECOND_STEP, company_id=company.id, by=None, about={"required": "y"})

    remove_batch()

    assert ACTIVITY_DAYS == 400
    assert [row.about["required"] for row in Activity.objects.all()] == ["y"]


def test_a_note_fits_the_sentence_of_its_kind() -> None:
    for kind in activity.KINDS.values():
        words = dict.fromkeys(("whom", "role", "before", "name", "scopes", "what"), "x")
        assert str(kind.sentence) % (words | {"required": "x"})
        assert len(kind.code) <= 40
