"""Secrets at rest, and signatures that the reference library verifies."""

from __future__ import annotations

import time
from typing import Any
from uuid import uuid4

import pytest
import standardwebhooks

from pipeline.models import WebhookEndpoint
from pipeline.webhooks.endpoints import (
    SecretUnreadable,
    create_webhook_endpoint,
    decrypt_webhook_signing_secret,
    encrypt_webhook_signing_secret,
    is_webhook_signing_secret_readable,
    new_webhook_signing_secret,
    reencrypt_endpoint_secrets,
    rotate_endpoint_secret,
    webhook_signatures,
)
from tests.support import factories

BODY = b'{"type":"job.opened"}'


def signed_headers(*secrets: str) -> dict[str, str]:
    now = int(time.time())
    signature = webhook_signatures("msg_1", now, BODY, secrets)
    return {
        "webhook-id": "msg_1",
        "webhook-timestamp": str(now),
        "webhook-signature": signature,
    }


def test_the_reference_library_verifies_a_signature() -> None:
    secret = new_webhook_signing_secret()

    found = standardwebhooks.Webhook(secret).verify(BODY, signed_headers(secret))

    assert found == {"type": "job.opened"}


def test_while_a_secret_is_replaced_either_verifies_and_no_other() -> None:
    new, old = new_webhook_signing_secret(), new_webhook_signing_secret()
    headers = signed_headers(new, old)

    assert standardwebhooks.Webhook(new).verify(BODY, headers)
    assert standardwebhooks.Webhook(old).verify(BODY, headers)
    with pytest.raises(standardwebhooks.WebhookVerificationError):
        standardwebhooks.Webhook(new_webhook_signing_secret()).verify(BODY, headers)


def test_a_changed_body_does_not_verify() -> None:
    secret = new_webhook_signing_secret()

    with pytest.raises(standardwebhooks.WebhookVerificationError):
        standardwebhooks.Webhook(secret).verify(BODY + b" ", signed_headers(secret))


def test_a_sealed_secret_shows_nothing_and_differs_each_time() -> None:
    secret, endpoint_id = new_webhook_signing_secret(), uuid4()

    first, second = (
        encrypt_webhook_signing_secret(secret, endpoint_id),
        encrypt_webhook_signing_secret(secret, endpoint_id),
    )

    assert first != second
    assert secret.encode() not in first
    assert (
        decrypt_webhook_signing_secret(first, endpoint_id)
        == decrypt_webhook_signing_secret(second, endpoint_id)
        == secret
    )


def test_a_secret_is_bound_to_its_endpoint() -> None:
    sealed = encrypt_webhook_signing_secret(new_webhook_signing_secret(), uuid4())

    with pytest.raises(SecretUnreadable):
        decrypt_webhook_signing_secret(sealed, uuid4())


def test_a_key_before_the_present_one_still_decrypts(settings: Any) -> None:
    secret, endpoint_id = new_webhook_signing_secret(), uuid4()
    sealed, before = encrypt_webhook_signing_secret(secret, endpoint_id), settings.SECRET_KEY
    settings.SECRET_KEY = "another key of this site, for now"

    with pytest.raises(SecretUnreadable):
        decrypt_webhook_signing_secret(sealed, endpoint_id)
    settings.SECRET_KEY_FALLBACKS = [before]

    assert decrypt_webhook_signing_secret(sealed, endpoint_id) == secret


@pytest.mark.django_db(transaction=True)
def test_after_a_change_of_the_key_secrets_are_encrypted_anew(settings: Any) -> None:
    made, secret = create_webhook_endpoint(
        company_id=factories.company().id, url="https://example.org/"
    )
    rotate_endpoint_secret(company_id=made.company_id, endpoint_id=made.id)
    before, unchanged = settings.SECRET_KEY, reencrypt_endpoint_secrets()
    settings.SECRET_KEY = "another key of this site, for now"
    lost = reencrypt_endpoint_secrets()
    settings.SECRET_KEY_FALLBACKS = [before]

    again = reencrypt_endpoint_secrets()
    settings.SECRET_KEY_FALLBACKS = []

    made.refresh_from_db()
    assert (unchanged, lost, again, reencrypt_endpoint_secrets()) == (0, 0, 1, 0)
    assert made.old_secret is not None
    assert decrypt_webhook_signing_secret(made.old_secret, made.id) == secret


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(("lost", "kept"), [("secret", "old_secret"), ("old_secret", "secret")])
def test_a_lost_secret_does_not_keep_the_other_from_being_encrypted_anew(
    settings: Any, lost: str, kept: str
) -> None:
    made, _ = create_webhook_endpoint(company_id=factories.company().id, url="https://example.org/")
    rotate_endpoint_secret(company_id=made.company_id, endpoint_id=made.id)
    WebhookEndpoint.objects.update(**{lost: b"x" * 60})
    settings.SECRET_KEY_FALLBACKS = [settings.SECRET_KEY]
    settings.SECRET_KEY = "another key of this site, for now"

    counts = [reencrypt_endpoint_secrets() for _ in range(2)]
    settings.SECRET_KEY_FALLBACKS = []

    made.refresh_from_db()
    assert counts == [1, 0]
    assert is_webhook_signing_secret_readable(getattr(made, kept), made.id)
    assert bytes(getattr(made, lost)) == b"x" * 60


@pytest.mark.django_db(transaction=True)
def test_a_secret_under_the_present_key_does_not_hide_one_under_the_key_before(
    settings: Any,
) -> None:
    made, _ = create_webhook_endpoint(company_id=factories.company().id, url="https://example.org/")
    settings.SECRET_KEY_FALLBACKS = [settings.SECRET_KEY]
    settings.SECRET_KEY = "another key of this site, for now"
    rotate_endpoint_secret(company_id=made.company_id, endpoint_id=made.id)

    count = reencrypt_endpoint_secrets()
    settings.SECRET_KEY_FALLBACKS = []

    made.refresh_from_db()
    assert count == 1
    assert is_webhook_signing_secret_readable(made.old_secret or b"", made.id)
