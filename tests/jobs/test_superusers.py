"""`manage.py createsuperuser` with an address that cannot have an account."""

from __future__ import annotations

import pytest
from django.core.management import CommandError, call_command

from jobs.models import User

pytestmark = pytest.mark.django_db

LONG_IN_ASCII = f"{'a' * 60}@{'.'.join(['bücherbücherbücher'] * 8)}.example"


@pytest.mark.parametrize(
    ("address", "says"),
    [
        ("OPS@Example.ORG", "already taken"),
        ("\uff4fps@example.org", "already taken"),
        ("ann@[192.0.2.1]", "valid email address"),
        ("ann@192.0.2.1", "valid email address"),
        ("a\u200bnn@example.org", "valid email address"),
        ("ann@example", "valid email address"),
        (LONG_IN_ASCII, "at most 254 characters"),
        ("", "cannot be blank"),
    ],
)
def test_it_is_refused_in_one_sentence(address: str, says: str) -> None:
    User.objects.create_superuser("ops@example.org")

    with pytest.raises(CommandError, match=says):
        call_command("createsuperuser", interactive=False, email=address)
    assert User.objects.count() == 1
