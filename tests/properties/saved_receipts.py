"""Receipts that people save during a random history and the program checks at its end."""

from __future__ import annotations

import json
import runpy
from typing import Any
from uuid import UUID

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from pipeline.audit.receipts import issue_receipt, public_receipt_keys
from tests.support.receipts import VERIFIER, whole_log


class SavedReceipts:
    """Receipts of the people of one job, by application."""

    def __init__(self) -> None:
        self._of: dict[UUID, list[dict[str, Any]]] = {}

    def save(self, application_id: UUID) -> None:
        """Save one more receipt, as a file would hold it."""
        receipt = json.loads(json.dumps(issue_receipt(application_id)))
        self._of.setdefault(application_id, []).append(receipt)

    def assert_all_hold(self, job_id: UUID, *, of_sandbox: bool = False) -> None:
        """Run the program over the receipts of each person and the log without names.

        It says of a sandbox's receipts that they are tests, and must find nothing else.
        """
        verify, log = runpy.run_path(str(VERIFIER))["verify"], whole_log(job_id)
        keys = {
            key.id: Ed25519PublicKey.from_public_bytes(key.raw) for key in public_receipt_keys()
        }
        for receipts in self._of.values():
            problems, _proofs = verify(
                keys, [(f"{n}", each) for n, each in enumerate(receipts)], log
            )
            said = [each for each in problems if "sandbox" in each]
            assert problems == said
            assert of_sandbox == bool(said)
