"""Names of clients, by which the event loop shares out what it has."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from hashlib import blake2b
from typing import Any

from pipeline.web.asgi_types import Message
from pipeline.web.client_address import ACCEPTED_CREDENTIAL, client_network_of

MOST_KNOWN = 10_000


class Clients:
    """Credentials that have been accepted lately.

    Any other is worth no more than the address it comes from: else whoever makes up credentials
    would count as many clients.
    """

    def __init__(self) -> None:
        self._known: OrderedDict[bytes, None] = OrderedDict()

    def name_of(self, scope: Message) -> str:
        """Return the name of a request's client."""
        credential = _credential_in(scope)
        if credential in self._known:
            self._known.move_to_end(credential)
            return credential.hex()
        return address_of(scope)

    def note(self, scope: Message, environ: Mapping[str, Any]) -> None:
        """Note a request's credential, if the API has accepted it (`ACCEPTED_CREDENTIAL`)."""
        credential = _credential_in(scope)
        if credential and environ.get(ACCEPTED_CREDENTIAL):
            self._known[credential] = None
            if len(self._known) > MOST_KNOWN:
                self._known.popitem(last=False)


def address_of(scope: Message) -> str:
    """Return the network address of a request's client."""
    return client_network_of((scope.get("client") or ("",))[0])


def _credential_in(scope: Message) -> bytes:
    for name, value in scope["headers"]:
        if name == b"authorization":
            return blake2b(value, digest_size=16).digest()
    return b""
