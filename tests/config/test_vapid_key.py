"""The key of notifications: made once on a developer's machine, and never for others."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.config import env, keys


def test_with_the_embedded_database_one_key_is_made_and_kept_to_its_owner(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(env, "STATE_DIR", tmp_path)
    monkeypatch.setattr(env, "TESTING", False)
    monkeypatch.setattr(env, "DATABASE_URL", "")
    monkeypatch.delenv("VAPID_PRIVATE_KEY", raising=False)

    first, second = env.vapid_private_key(), env.vapid_private_key()

    assert first == second
    assert len(keys.parse_vapid(first)) == 32
    assert [(each.name, each.stat().st_mode & 0o777) for each in tmp_path.iterdir()] == [
        ("vapid_key", 0o600)
    ]


def test_with_a_database_of_its_own_a_site_has_the_key_that_is_set_or_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(env, "STATE_DIR", tmp_path)
    monkeypatch.setattr(env, "TESTING", False)
    monkeypatch.setattr(env, "DATABASE_URL", "postgres://line")
    monkeypatch.delenv("VAPID_PRIVATE_KEY", raising=False)
    assert env.vapid_private_key() == ""

    monkeypatch.setenv("VAPID_PRIVATE_KEY", "a key")

    assert env.vapid_private_key() == "a key"
    assert not [*tmp_path.iterdir()]
