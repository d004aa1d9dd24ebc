"""Secrets at rest, and signatures that the reference library verifies."""

from __future__ import annotations

import time
from typing import Any
from uuid import uuid4

import pytest
import standardwebhooks

from pipeline.models import WebhookEndpoint
from pipeline.outgoing.sealed import SecretUnreadable
from pipeline.webhooks import endpoints
from pipeline.webhooks.endpoints import (
    SEAL,
    generate_secret,
    reencrypt_secrets,
    rotate_secret,
    sign_delivery,
)
from tests.support import factories

BODY = b'{"type":"job.opened"}'


def signed_headers(*secrets: str) -> dict[str, str]:
    now = int(time.time())
    signature = sign_delivery("msg_1", now, BODY, secrets)
    return {
        "webhook-id": "msg_1",
        "webhook-timestamp": str(now),
        "webhook-signature": signature,
    }


def test_the_reference_library_verifies_a_signature() -> None:
    secret = generate_secret()

    found = standardwebhooks.Webhook(secret).verify(BODY, signed_headers(secret))

    assert found == {"type": "job.opened"}


def test_while_a_secret_is_replaced_either_verifies_and_no_other() -> None:
    new, old = generate_secret(), generate_secret()
    headers = signed_headers(new, old)

    assert standardwebhooks.Webhook(new).verify(BODY, headers)
    assert standardwebhooks.Webhook(old).verify(BODY, headers)
    with pytest.raises(standardwebhooks.WebhookVerificationError):
        standardwebhooks.Webhook(generate_secret()).verify(BODY, headers)


def test_a_changed_body_does_not_verify() -> None:
    secret = generate_secret()

    with pytest.raises(standardwebhooks.WebhookVerificationError):
        standardwebhooks.Webhook(secret).verify(BODY + b" ", signed_headers(secret))


def test_a_sealed_secret_shows_nothing_and_differs_each_time() -> None:
    secret, endpoint_id = generate_secret(), uuid4()

    first, second = (
        SEAL.close(secret, endpoint_id),
        SEAL.close(secret, endpoint_id),
    )

    assert first != second
    assert secret.encode() not in first
    assert SEAL.open(first, endpoint_id) == SEAL.open(second, endpoint_id) == secret


def test_a_secret_is_bound_to_its_endpoint() -> None:
    sealed = SEAL.close(generate_secret(), uuid4())

    with pytest.raises(SecretUnreadable):
        SEAL.open(sealed, uuid4())


def test_a_key_before_the_present_one_still_decrypts(settings: Any) -> None:
    secret, endpoint_id = generate_secret(), uuid4()
    sealed, before = SEAL.close(secret, endpoint_id), settings.SECRET_KEY
    settings.SECRET_KEY = "another key of this site, for now"

    with pytest.raises(SecretUnreadable):
        SEAL.open(sealed, endpoint_id)
    settings.SECRET_KEY_FALLBACKS = [before]

    assert SEAL.open(sealed, endpoint_id) == secret


@pytest.mark.django_db(transaction=True)
def test_after_a_change_of_the_key_secrets_are_encrypted_anew(settings: Any) -> None:
    made, secret = endpoints.create(company_id=factories.company().id, url="https://example.org/")
    rotate_secret(company_id=made.company_id, endpoint_id=made.id)
    before, unchanged = settings.SECRET_KEY, reencrypt_secrets()
    settings.SECRET_KEY = "another key of this site, for now"
    lost = reencrypt_secrets()
    settings.SECRET_KEY_FALLBACKS = [before]

    again = reencrypt_secrets()
    settings.SECRET_KEY_FALLBACKS = []

    made.refresh_from_db()
    assert (unchanged, lost, again, reencrypt_secrets()) == (0, 0, 1, 0)
    assert made.old_secret is not None
    assert SEAL.open(made.old_secret, made.id) == secret


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(("lost", "kept"), [("secret", "old_secret"), ("old_secret", "secret")])
def test_a_lost_secret_does_not_keep_the_other_from_being_encrypted_anew(
    settings: Any, lost: str, kept: str
) -> None:
    made, _ = endpoints.create(company_id=factories.company().id, url="https://example.org/")
    rotate_secret(company_id=made.company_id, endpoint_id=made.id)
    WebhookEndpoint.objects.update(**{lost: b"x" * 60})
    settings.SECRET_KEY_FALLBACKS = [settings.SECRET_KEY]
    settings.SECRET_KEY = "another key of this site, for now"

    counts = [reencrypt_secrets() for _ in range(2)]
    settings.SECRET_KEY_FALLBACKS = []

    made.refresh_from_db()
    assert counts == [1, 0]
    assert SEAL.is_readable(getattr(made, kept), made.id)
    assert bytes(getattr(made, lost)) == b"x" * 60


@pytest.mark.django_db(transaction=True)
def test_a_secret_under_the_present_key_does_not_hide_one_under_the_key_before(
    settings: Any,
) -> None:
    made, _ = endpoints.create(company_id=factories.company().id, url="https://example.org/")
    settings.SECRET_KEY_FALLBACKS = [settings.SECRET_KEY]
    settings.SECRET_KEY = "another key of this site, for now"
    rotate_secret(company_id=made.company_id, endpoint_id=made.id)

    count = reencrypt_secrets()
    settings.SECRET_KEY_FALLBACKS = []

    made.refresh_from_db()
    assert count == 1
    assert SEAL.is_readable(made.old_secret or b"", made.id)
