"""The end of reminders and digests, by a link or a mail program's own button."""

from __future__ import annotations

import pytest
from django.test import Client

from applicants.models import Applicant
from jobs.models import Membership, Role
from pipeline.mail.links import unsubscribe_url
from tests.support import factories
from tests.support.accounts import member_of
from tests.support.pages import text_of

pytestmark = pytest.mark.django_db(transaction=True)


def path_of(what: str, of: object) -> str:
    return "/unsubscribe/" + unsubscribe_url(what, of).partition("/unsubscribe/")[2]  # type: ignore[arg-type]


def test_opening_the_link_changes_nothing_and_the_button_ends_the_reminders() -> None:
    person = factories.applicant()
    path, browser = path_of("reminders", person.id), Client(enforce_csrf_checks=True)

    opened = browser.get(path)
    assert "Stop reminders of deadlines" in text_of(opened)
    assert Applicant.objects.get(id=person.id).reminders
    done = browser.post(path)

    assert "We no longer send you reminders" in text_of(done)
    assert not Applicant.objects.get(id=person.id).reminders


@pytest.mark.parametrize("what", ["digest", "alerts"])
def test_a_mail_program_ends_a_members_emails_of_one_company(what: str) -> None:
    user = member_of(factories.company(), Role.OWNER)
    member_of(factories.company(), Role.OWNER)
    member = Membership.objects.get(user=user)

    answer = Client(enforce_csrf_checks=True).post(
        path_of(what, member.id), {"List-Unsubscribe": "One-Click"}
    )

    assert answer.status_code == 200
    assert list(Membership.objects.order_by("id").values_list(what, flat=True)) == [False, True]


@pytest.mark.parametrize("method", ["get", "post"])
def test_a_forged_link_does_nothing(method: str) -> None:
    person = factories.applicant()

    answer = getattr(Client(), method)(path_of("reminders", person.id)[:-3] + "x/")

    assert answer.status_code == 404
    assert Applicant.objects.get(id=person.id).reminders
