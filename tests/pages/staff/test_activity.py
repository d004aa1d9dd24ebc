"""Owners' page of what the team did."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from io import BytesIO
from typing import Any
from uuid import UUID

import pytest
from django.utils import timezone
from PIL import Image

from jobs import activity, keys
from jobs.companies import name_controller
from jobs.models import Activity, Company, Membership, Role, Scope
from jobs.retention import set_company_period
from jobs.team import change_role
from pipeline.careers.domains import set_domain
from pipeline.careers.pages import save_page, set_logo
from pipeline.chat import channels
from pipeline.consents.pool import set_months
from pipeline.domain.states import Actor, ActorKind
from pipeline.equality.questions import choose
from pipeline.maintenance.expired_rows import ACTIVITY_DAYS, remove_batch
from pipeline.models import ChatChannel
from pipeline.privacy.erase import erase_person
from pipeline.services.jobs import SeatPlan, cancel_seats, plan_seats
from pipeline.texts import letterheads
from pipeline.texts.kinds import KINDS, OFFER
from pipeline.texts.words import save_text
from pipeline.webhooks import endpoints
from tests.support import factories
from tests.support.accounts import browser_of, member_of
from tests.support.chat import channel

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
        words = dict.fromkeys(("whom", "role", "before", "name", "scopes", "what", "kind"), "x")
        words |= dict.fromkeys(
            ("required", "jobs", "seats", "people", "domain", "group", "hint"), "x"
        )
        assert str(kind.sentence) % words
        assert len(kind.code) <= 40


ACTS: dict[str, Callable[[UUID, UUID, UUID], Any]] = {
    "letterhead.changed": lambda c, _j, by: letterheads.save(
        company_id=c, sender_name="Acme People", seen=0, by=by
    ),
    "text.changed": lambda c, _j, by: save_text(
        company_id=c, kind=KINDS[OFFER], parts={"opening": "Dear all"}, seen=0, by=by
    ),
    "careers.changed": lambda c, _j, by: save_page(company_id=c, slug="acme", values={}, by=by),
    "careers.domain_changed": lambda c, _j, by: (
        save_page(company_id=c, slug="acme", values={}, by=by),
        set_domain(company_id=c, domain="jobs.acme.example", by=by),
    ),
    "careers.logo_changed": lambda c, _j, by: (
        save_page(company_id=c, slug="acme", values={}, by=by),
        set_logo(company_id=c, file=a_picture(), size=len(a_picture().getvalue()), by=by),
    ),
    "consents.published": lambda c, _j, by: set_months(company_id=c, months=6, by=by),
    "controller.named": lambda c, _j, by: name_controller(
        company_id=c, legal_name="Acme GmbH", contact="", by=by
    ),
    "keep_days.changed": lambda c, _j, by: set_company_period(company_id=c, keep_days=90, by=by),
    "equality.chosen": lambda c, _j, by: choose(company_id=c, codes=["age"], by=by),
    "seats.planned": lambda _c, j, by: planned_by(j, by),
    "seats.cancelled": lambda _c, j, by: cancel_seats(
        job_id=j, planned_id=planned_by(j, by), actor=acting(by)
    ),
    "chat.added": lambda c, _j, by: channel_by(c, by),
    "chat.changed": lambda c, _j, by: channels.change(
        company_id=c, channel_id=channel_by(c, by).id, changes={"is_active": False}, by=by
    ),
    "chat.deleted": lambda c, _j, by: channels.delete(
        company_id=c, channel_id=channel_by(c, by).id, by=by
    ),
    "webhook.created": lambda c, _j, by: endpoint_by(c, by),
    "webhook.changed": lambda c, _j, by: endpoints.change(
        company_id=c, endpoint_id=endpoint_by(c, by), changes={"is_active": False}, by=by
    ),
    "webhook.secret_rotated": lambda c, _j, by: endpoints.rotate_secret(
        company_id=c, endpoint_id=endpoint_by(c, by), by=by
    ),
    "webhook.deleted": lambda c, _j, by: endpoints.delete(
        company_id=c, endpoint_id=endpoint_by(c, by), by=by
    ),
}


def acting(by: UUID) -> Actor:
    return Actor(ActorKind.COMPANY, by)


def planned_by(job: UUID, by: UUID) -> UUID:
    plan = SeatPlan(seats=1, first_at=timezone.now() + timedelta(days=2))
    return plan_seats(job_id=job, plan=plan, actor=acting(by)).id


def channel_by(company_id: UUID, by: UUID) -> ChatChannel:
    return channel(company_id, "https://hooks.slack.com/services/a", by=by)


def endpoint_by(company_id: UUID, by: UUID) -> UUID:
    return endpoints.create(company_id=company_id, url="https://a.example/", by=by)[0].id


def a_picture() -> BytesIO:
    file = BytesIO()
    Image.new("RGB", (64, 64)).save(file, "PNG")
    return file


@pytest.mark.parametrize("code", ACTS)
def test_owners_read_who_changed_words_pages_seats_and_webhooks(
    company: Company, code: str, settings: Any
) -> None:
    settings.WEBHOOK_ALLOW_PRIVATE = True
    owner, job = member_of(company, name="Eli Sato"), factories.job(company_id=company.id)

    ACTS[code](company.id, job, owner.id)

    act = Activity.objects.filter(kind=code).get()
    assert (act.company_id, act.actor_id) == (company.id, owner.id)
    assert (act.job_id == job) == code.startswith("seats.")
    [told] = activity.tell([act])
    assert told.actor == "Eli Sato"
    assert told.text in text_of(browser_of(owner))
