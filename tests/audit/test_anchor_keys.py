"""The key that signs anchors: one kind, and one of several that are made at the same time."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from django.core.management import CommandError

from pipeline.audit import anchors
from pipeline.audit.task import KEY
from tasks.errors import Fatal
from tests.audit.test_anchors import verify
from tests.support.handlers import Run

pytestmark = pytest.mark.django_db(transaction=True)


def pem_of(key: Any) -> bytes:
    """Return a private key as in a file."""
    form, plain = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    return bytes(key.private_bytes(serialization.Encoding.PEM, form, plain))


def test_a_key_of_another_kind_neither_signs_nor_verifies(
    rejected: UUID, file: Path, settings: Any
) -> None:
    anchors.append()
    key = Path(settings.ANCHOR_KEY_FILE)
    key.write_bytes(pem_of(generate_private_key(SECP256R1())))

    with pytest.raises(CommandError, match="is not an Ed25519 key"):
        verify(anchors=file, key=key)
    with pytest.raises(Fatal, match="is not an Ed25519 key"):
        Run(KEY, {}, None)


def test_who_is_second_to_make_the_key_signs_with_that_of_the_first(
    rejected: UUID, file: Path, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, link = pem_of(Ed25519PrivateKey.generate()), os.link
    key = Path(settings.ANCHOR_KEY_FILE)

    def link_as_second(of: Path, name: Path) -> None:
        if name == key:
            key.write_bytes(first)
        link(of, name)

    monkeypatch.setattr(os, "link", link_as_second)
    anchors.append()

    assert key.read_bytes() == first
    assert "agree with all 1" in verify(anchors=file, key=key)
    assert [each.name for each in sorted(key.parent.iterdir())] == ["anchor_key", "anchor_key.pub"]
