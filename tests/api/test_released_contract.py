"""The released contract of the API: nothing in it changes in a way that breaks a client."""

from __future__ import annotations

import json

from pipeline.api.openapi.document import build_document
from tools.contract import RELEASED, breaking_changes, compared


def test_no_client_of_the_released_contract_breaks() -> None:
    released = json.loads(RELEASED.read_text())

    assert len(released["paths"]) > 50
    assert breaking_changes(released, compared(build_document())) == []
