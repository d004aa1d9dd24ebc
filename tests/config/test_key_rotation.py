"""A new SECRET_KEY with the old one as a fallback ends no session and no link."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.core import mail
from django.test import Client

from applicants.models import Applicant
from jobs.models import Company, Role, User
from pipeline.mail.links import LinkedOffer, make_offer_token, read_offer_token
from tests.support.accounts import PASSWORD, browser_of, is_signed_in, member_of
from tests.support.callers import key_of, signed_in

pytestmark = pytest.mark.django_db(transaction=True)
NEW = "a-new-key-of-a-test-0123456789-abcdefghijkl"


@pytest.fixture(autouse=True)
def _fresh_start(transactional_db: None, empty_cache: None, mail_at_once: None) -> None:
    """Start every test with whole rates, and send its emails at once."""


def rotate(settings: Any, *, keep: bool = True) -> None:
    settings.SECRET_KEY_FALLBACKS = [settings.SECRET_KEY] if keep else []
    settings.SECRET_KEY = NEW


@pytest.mark.parametrize("keep", [True, False])
def test_sessions_stay_only_with_the_fallback(
    settings: Any, owner: Client, applicant_page: Client, keep: bool
) -> None:
    rotate(settings, keep=keep)

    assert is_signed_in(owner) is keep
    assert (applicant_page.get("/me/").status_code == 200) is keep


@pytest.mark.parametrize("keep", [True, False])
def test_links_to_confirm_stay_only_with_the_fallback(settings: Any, keep: bool) -> None:
    offer = LinkedOffer(Applicant().id, 7)
    token = make_offer_token(offer)

    rotate(settings, keep=keep)

    assert (read_offer_token(token) == offer) is keep


def test_a_link_to_reset_a_password_stays(settings: Any, company: Company) -> None:
    user: User = member_of(company, Role.OWNER, password=PASSWORD)
    Client().post("/account/password/reset/", {"email": user.email})
    link = re.search(r"/account/password/reset/key/\S+", str(mail.outbox[-1].body))
    assert link

    rotate(settings)

    assert Client().get(link[0]).status_code == 302


def test_keys_and_tokens_do_not_depend_on_it(
    settings: Any, company: Company, applicant: Applicant
) -> None:
    callers = {"/companies/me": key_of(company.id), "/me/applications": signed_in(applicant)}

    rotate(settings, keep=False)

    for path, caller in callers.items():
        assert caller.get(path).status_code == 200


def test_a_new_session_is_signed_with_the_new_key(settings: Any, company: Company) -> None:
    rotate(settings)
    browser = browser_of(member_of(company))

    settings.SECRET_KEY_FALLBACKS = []

    assert is_signed_in(browser)
