"""The language of an answer: by the address, a choice, or the browser; of an email the person's."""

from __future__ import annotations

from typing import Any

import pytest
from django.conf import settings as site_settings
from django.test import Client
from django.utils import translation

from applicants.models import Applicant
from applicants.people import remember_language
from jobs.accounts import set_language
from jobs.models import User
from pipeline.web.languages import choose_by_headers, in_language_of
from tests.support import factories, pseudo_language
from tests.support.accounts import PASSWORD, browser_of, member_of, sign_in
from tests.support.applicants import applicant_browser
from tests.support.outbox import code_to

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def languages(settings: Any) -> None:
    """A site that offers English, German and the pseudo-languages."""
    pseudo_language.install()
    settings.LANGUAGES = [("en", "English"), ("de", "Deutsch"), *pseudo_language.NAMES.items()]
    settings.LANGUAGES_BIDI = ["qpb"]


def language_of(answer: Any) -> str:
    return str(answer["Content-Language"])


@pytest.mark.parametrize(
    ("accepted", "language"),
    [
        ("", "en"),
        ("de-AT,de;q=0.9,en;q=0.8", "de"),
        ("fr,qps;q=0.5", "qps"),
        ("fr", "en"),
        ("x" * 5_000, "en"),
    ],
)
def test_a_page_is_in_the_first_language_of_the_browser_that_is_offered(
    accepted: str, language: str
) -> None:
    answer = Client().get("/", headers={"accept-language": accepted})

    assert language_of(answer) == language
    assert f'<html lang="{language}"' in answer.content.decode()
    assert {"Accept-Language", "Cookie"} <= {each.strip() for each in answer["Vary"].split(",")}
    assert not answer.cookies


def test_a_page_read_from_the_right_says_so_and_speaks_pseudo() -> None:
    text = Client().get("/?lang=qpb").content.decode()

    assert '<html lang="qpb" dir="rtl">' in text
    assert pseudo_language.BEGIN in text


def test_a_choice_is_kept_in_the_browser_and_goes_before_its_languages() -> None:
    visitor = Client(headers={"accept-language": "qps"})

    answer = visitor.post("/language/", {"language": "de", "next": "/privacy/?lang=qps&x=1"})

    assert answer["Location"] == "/privacy/?x=1"
    cookie = answer.cookies[site_settings.LANGUAGE_COOKIE_NAME]
    assert (cookie.value, cookie["httponly"], cookie["samesite"]) == ("de", True, "Lax")
    assert language_of(visitor.get("/privacy/")) == "de"
    assert language_of(visitor.get("/privacy/?lang=qpb")) == "qpb"
    assert language_of(visitor.get("/privacy/?lang=xx")) == "de"


@pytest.mark.parametrize("language", ["", "xx", "fr", "../de"])
def test_a_language_that_is_not_offered_is_not_kept(language: str) -> None:
    answer = Client().post("/language/", {"language": language, "next": "https://evil.example/"})

    assert answer.status_code == 200
    assert not answer.cookies.get(site_settings.LANGUAGE_COOKIE_NAME)
    assert "evil.example" not in answer.content.decode()


def test_a_choice_is_kept_with_the_applicant_and_with_the_member() -> None:
    person, owner = factories.applicant(), member_of(factories.company())

    applicant_browser(person).post("/language/", {"language": "de"})
    browser_of(owner).post("/language/", {"language": "qps"})

    assert Applicant.objects.get(id=person.id).chosen_language == "de"
    assert User.objects.get(id=owner.id).chosen_language == "qps"


@pytest.mark.parametrize("whose", ["applicant", "member"])
def test_a_persons_own_page_shows_their_choice_and_takes_it_back(whose: str) -> None:
    person, owner = factories.applicant(), member_of(factories.company())
    is_member = whose == "member"
    browser = browser_of(owner) if is_member else applicant_browser(person)
    path = "/account/" if is_member else "/me/data/"
    german = '<option value="de" lang="de"{}>Deutsch</option>'
    assert german.format("") in browser.get(path).content.decode()

    chosen = browser.post("/language/", {"language": "de", "next": path})
    shown = browser.get(path, headers={"accept-language": "qps"})
    back = browser.post("/language/", {"language": "browser", "next": path})

    assert (chosen["Location"], back["Location"]) == (path, path)
    assert language_of(shown) == "de"
    assert '<option value="de" selected>Deutsch</option>' in shown.content.decode()
    assert language_of(browser.get(path, headers={"accept-language": "qps"})) == "qps"
    select = browser.get(path).content.decode().partition('id="own-language"')[2]
    assert "selected" not in select.partition("</select>")[0]
    kept = User.objects.get(id=owner.id) if is_member else Applicant.objects.get(id=person.id)
    assert kept.chosen_language == ""


def test_the_language_of_a_members_browser_is_for_emails_alone() -> None:
    user = member_of(factories.company(), password=PASSWORD)
    sign_in(user.email, client=Client(headers={"accept-language": "qps"}))

    elsewhere = Client(headers={"accept-language": "de"})
    answer = sign_in(user.email, client=elsewhere)

    assert site_settings.LANGUAGE_COOKIE_NAME not in answer.cookies
    assert language_of(elsewhere.get("/privacy/")) == "de"
    assert User.objects.get(id=user.id).languages == ("", "de")


def test_a_members_choice_counts_in_each_browser_after_signing_in() -> None:
    user = member_of(factories.company(), password=PASSWORD)
    set_language(user_id=user.id, language="qps")
    browser = Client(headers={"accept-language": "de"})

    sign_in(user.email, client=browser)

    assert language_of(browser.get("/privacy/")) == "qps"
    assert User.objects.get(id=user.id).languages == ("qps", "")


def test_an_applicants_choice_counts_in_each_browser_and_is_not_replaced_by_one(
    mail_at_once: None,
) -> None:
    person = factories.applicant()
    remember_language(person.id, "qps")
    browser = Client(headers={"accept-language": "de"})
    browser.post("/sign-in/", {"email": person.email})

    browser.post("/code/", {"code": code_to(person.email)})

    assert language_of(browser.get("/privacy/")) == "qps"
    assert Applicant.objects.get(id=person.id).languages == ("qps", "de")


def test_search_engines_find_a_public_page_in_every_language() -> None:
    text = Client().get("/privacy/").content.decode()

    for language in ("en", "de", "qps"):
        address = f"{site_settings.SITE_URL}/privacy/?lang={language}"
        assert f'<link rel="alternate" hreflang="{language}" href="{address}">' in text
    assert 'hreflang="x-default"' in text
    assert "hreflang=" not in Client().get("/sign-in/").content.decode()


def test_a_problem_follows_the_language_and_its_code_does_not() -> None:
    answers = [
        Client().get("/api/v1/nothing", headers={"accept-language": language})
        for language in ("en", "qps")
    ]

    english, pseudo = (answer.json() for answer in answers)
    assert [language_of(answer) for answer in answers] == ["en", "qps"]
    assert list(english) == list(pseudo)
    assert (english["type"], english["code"]) == (pseudo["type"], pseudo["code"])
    assert "Accept-Language" in answers[0]["Vary"]


def test_the_event_loop_chooses_by_cookie_then_by_the_browsers_languages() -> None:
    def chosen(**headers: bytes) -> str:
        pairs = [(name.replace("_", "-").encode(), value) for name, value in headers.items()]
        return choose_by_headers({"headers": pairs})

    cookie = site_settings.LANGUAGE_COOKIE_NAME.encode()
    assert chosen() == "en"
    assert chosen(accept_language=b"fr, de;q=0.3") == "de"
    assert chosen(accept_language=b"de", cookie=b"a=b; " + cookie + b"=qps") == "qps"
    assert chosen(accept_language=b"\xff" * 20, cookie=cookie + b"=xx") == "en"


def test_text_for_a_person_is_in_the_first_language_that_is_offered() -> None:
    def used(*codes: str) -> str | None:
        with translation.override("qps"), in_language_of(*codes):
            return translation.get_language()

    assert [used("de", "qpb"), used("", "de"), used("fr", ""), used()] == ["de", "de", "en", "en"]


def test_each_language_is_offered_in_its_own_name() -> None:
    page = Client().get("/language/?lang=qps").content.decode()

    for name in ("English", "Deutsch"):
        assert f">{name}</button>" in page


def test_the_site_has_a_default_language(settings: Any) -> None:
    settings.DEFAULT_LANGUAGE = "de"

    answers = [
        Client().get("/", headers={"accept-language": accepted}) for accepted in ("", "fr", "en")
    ]

    assert [language_of(answer) for answer in answers] == ["de", "de", "en"]
    with in_language_of("", "fr"):
        assert translation.get_language() == "de"


def test_a_member_whose_browser_is_not_in_the_default_language_gets_emails_in_its_own(
    settings: Any,
) -> None:
    settings.DEFAULT_LANGUAGE = "de"
    user = member_of(factories.company(), password=PASSWORD)

    sign_in(user.email, client=Client(headers={"accept-language": "en"}))

    assert User.objects.get(id=user.id).languages == ("", "en")
