"""Passwords of tests: hashed as in production, but in one round instead of a million."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.conf import settings
from django.contrib.auth.hashers import PBKDF2PasswordHasher
from django.test import override_settings


class OneRound(PBKDF2PasswordHasher):
    """The product's hasher; its processes read what it writes, because a hash names its rounds."""

    iterations = 1


@pytest.fixture(scope="session", autouse=True)
def _hash_passwords_quickly() -> Iterator[None]:
    quick = f"{OneRound.__module__}.{OneRound.__qualname__}"
    with override_settings(PASSWORD_HASHERS=[quick, *settings.PASSWORD_HASHERS]):
        yield
