"""Codes that strangers cannot burn, and addresses that are one mailbox in one spelling."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import pytest
from django.apps import apps
from django.core import mail
from django.core.exceptions import ValidationError
from django.test import Client

from applicants import codes
from applicants.addresses import checked_address, normal_address
from applicants.codes import MOST_CODES, MOST_TRIES, OWN_CODES, Requester
from applicants.forms import AddressForm
from applicants.models import Applicant, SignInCode
from applicants.people import find_or_create_person
from tests.support.outbox import code_to, wrong

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("mail_at_once")]

ANN = "ann@example.org"
# A Persian domain with a joiner.
PERSIAN = "\u0646\u0627\u0645\u0647\u200c\u0627\u06cc.com"
HERS = Requester("her browser", "192.0.2.1")
STRANGERS = Requester("another browser", "198.51.100.7")


def test_wrong_guesses_of_strangers_cost_the_owner_no_try() -> None:
    codes.send(ANN, by=HERS)
    code = code_to(ANN)

    strangers = [codes.guess(ANN, wrong(code), requester=STRANGERS.handle) for _ in range(9)]

    assert strangers == [None] * 9
    assert codes.guess(ANN, code, requester=HERS.handle) is True


def test_a_code_that_a_stranger_requests_replaces_nothing_and_is_the_strangers_alone() -> None:
    codes.send(ANN, by=HERS)
    hers = code_to(ANN)
    codes.send(ANN, by=STRANGERS)
    strangers = code_to(ANN)

    assert codes.guess(ANN, hers, requester=STRANGERS.handle) is (hers == strangers)
    assert codes.guess(ANN, hers, requester=HERS.handle) is True
    assert codes.guess(ANN, strangers, requester=HERS.handle) is None


def test_a_requester_has_five_tries_at_their_own_code() -> None:
    codes.send(ANN, by=STRANGERS)
    code = code_to(ANN)

    guesses = [
        codes.guess(ANN, wrong(code), requester=STRANGERS.handle) for _ in range(MOST_TRIES + 1)
    ]

    assert guesses == [False] * MOST_TRIES + [None]
    assert codes.guess(ANN, code, requester=STRANGERS.handle) is None


def test_strangers_who_use_up_an_hours_codes_leave_the_owner_hers() -> None:
    """Two networks were enough to keep a victim from every code."""
    for number in range(MOST_CODES + 5):
        codes.send(ANN, by=Requester(f"browser {number}", STRANGERS.network))
    assert len(mail.outbox) == MOST_CODES

    for _ in range(OWN_CODES + 1):
        codes.send(ANN, by=HERS)

    assert len(mail.outbox) == MOST_CODES + OWN_CODES
    assert codes.guess(ANN, code_to(ANN), requester=HERS.handle) is True


def test_new_browsers_in_one_network_get_no_codes_of_their_own() -> None:
    for number in range(MOST_CODES):
        codes.send(ANN, by=Requester(f"browser {number}", f"192.0.2.{number + 50}"))

    for number in range(5):
        codes.send(ANN, by=Requester(f"new browser {number}", STRANGERS.network))

    assert len(mail.outbox) == MOST_CODES + OWN_CODES


def test_nothing_that_is_kept_names_address_browser_or_network() -> None:
    codes.send(ANN, by=HERS)

    kept = b"".join(bytes(value) for value in SignInCode.objects.values_list(
        "request", "address", "network", "digest"
    )[0])  # fmt: skip
    for name in (ANN, HERS.handle, HERS.network):
        assert name.encode() not in kept


@pytest.mark.parametrize(
    ("spelling", "normal"),
    [
        (" Ann@Example.ORG ", ANN),
        ("ann@\uff45xample.org", ANN),
        ("\uff41nn@example.org", ANN),
        ("ann@EXAMPLE。org", ANN),
        ("ann@münchen.example", "ann@xn--mnchen-3ya.example"),
        ("ann@MÜNCHEN.example", "ann@xn--mnchen-3ya.example"),
        ("ann@xn--MNCHEN-3ya.example", "ann@xn--mnchen-3ya.example"),
        ("ann@straße.example", "ann@xn--strae-oqa.example"),
        ("ann@STRASSE.example", "ann@strasse.example"),
        ("ann@\u03b2όλ\u03bfς.example", "ann@xn--nxasmm1c.example"),
        (f"x@{PERSIAN}", "x@xn--mgba3gch31f060k.com"),
        ("ann@xn--i-7iq.example", "ann@xn--i-7iq.example"),
        ('"ann"@example.org', ANN),
        ('"\\a\\n\\n"@example.org', ANN),
        ('"ann.."@example.org', '"ann.."@example.org'),
    ],
)
def test_spellings_of_one_mailbox_are_one_person(spelling: str, normal: str) -> None:
    assert checked_address(spelling) == normal
    assert normal_address(normal) == normal
    assert find_or_create_person(spelling) == find_or_create_person(normal)


@pytest.mark.parametrize(
    "address",
    [
        "ann@ex\u200bample.org",
        "a\u200dnn@example.org",
        "ann\u2060@example.org",
        "ann@exam\u00adple.org",
        "ann@example.org\u202e",
        "an\u00a0n@example.org",
        "ann@example\x00.org",
        "ann@exa\ue000mple.org",
        "ann@" + "ü" * 70 + ".org",
        "ann@.org",
        "straße@example.org",
        "ann@i❤.example",
        "ann@[127.0.0.1]",
        "ann@[::1]",
        "ann@10.0.0.25",
        "ann@\uff11\uff10.0.0.25",
        "ann",
        "",
    ],
)
def test_what_cannot_be_seen_or_sent_to_is_no_address(address: str) -> None:
    normal_address(address)  # never fails

    with pytest.raises(ValidationError):
        checked_address(address)


def test_two_domains_that_idna_2003_confused_are_two_people() -> None:
    assert find_or_create_person("info@faß.example") != find_or_create_person("info@fass.example")


def test_people_stored_with_needless_quotes_are_found_again() -> None:
    migration = import_module("applicants.migrations.0007_addresses_without_quotes")
    old = Applicant.objects.create(email='"ann"@example.org')
    twin = Applicant.objects.create(email='"bob"@example.org')
    bob = Applicant.objects.create(email="bob@example.org")

    migration.write_without_quotes(apps, None)

    assert find_or_create_person(ANN) == old
    twin.refresh_from_db()
    assert twin.email == '"bob"@example.org', "another person has the other spelling"
    assert find_or_create_person('"bob"@example.org') == bob


def test_the_form_says_that_an_address_has_invisible_characters() -> None:
    form = AddressForm({"email": "ann\u200b@example.org"})

    assert form.errors["email"] == [
        "This address contains invisible characters. Type it instead of pasting it."
    ]
    assert AddressForm({"email": f"x@{PERSIAN}"}).is_valid()


@pytest.mark.slow
def test_a_stranger_with_thousands_of_networks_has_one() -> None:
    """Anyone gets a /48 of IPv6 addresses for nothing: 65,536 networks, each a client."""
    for number in range(MOST_CODES + 30):
        Client(REMOTE_ADDR=f"2001:db8:7:{number:x}::1").post("/sign-in/", {"email": ANN})

    assert len(mail.outbox) == MOST_CODES
    Client(REMOTE_ADDR="2001:db8:8::1").post("/sign-in/", {"email": ANN})
    assert len(mail.outbox) == MOST_CODES + 1, "its owner is elsewhere"


@pytest.mark.parametrize(
    "path", ["/sign-in/", "/api/v1/auth/code", "/account/login/code/", "/account/password/reset/"]
)
def test_nor_do_they_send_emails_to_everyone(path: str, settings: Any, empty_cache: None) -> None:
    settings.THROTTLE_RATES = settings.THROTTLE_RATES | {"code_request": (2, 3_600)}
    kind = {"content_type": "application/json"} if "api" in path else {}
    for number in range(25):
        stranger = Client(REMOTE_ADDR=f"2001:db8:7:{number:x}::1")
        stranger.post(path, {"email": f"p{number}@example.org"}, **kind)

    assert len(mail.outbox) == 20
