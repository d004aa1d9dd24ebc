"""Which clients the event loop tells apart: those whose credential the API has accepted."""

from __future__ import annotations

from pipeline.server.clients import Clients
from pipeline.web.client_address import ACCEPTED_CREDENTIAL


def scope(credential: bytes) -> dict[str, object]:
    return {"client": ("192.0.2.1", 5), "headers": [(b"authorization", credential)]}


def test_a_made_up_credential_is_worth_no_more_than_its_address() -> None:
    clients = Clients()

    clients.note(scope(b"Bearer made-up"), {})

    assert clients.name_of(scope(b"Bearer made-up")) == "192.0.2.1"


def test_an_accepted_credential_is_a_client_of_its_own() -> None:
    clients = Clients()

    clients.note(scope(b"Bearer genuine"), {ACCEPTED_CREDENTIAL: True})

    assert clients.name_of(scope(b"Bearer genuine")) != "192.0.2.1"
