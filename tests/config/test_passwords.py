"""New passwords: long ones of any characters, as they are; neither short, common nor endless."""

from __future__ import annotations

import pytest
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError

from jobs.models import User

LONGEST = "eleven 🐎 " * 14 + "12"


@pytest.mark.parametrize(
    "password", ["correct horse", "passphrase " * 6, LONGEST, "ключ от всех дверей"]
)
def test_any_characters_and_up_to_128_of_them_are_taken(password: str) -> None:
    validate_password(password)


@pytest.mark.parametrize(
    ("password", "code"),
    [
        ("eleven char", "password_too_short"),
        (LONGEST + "3", "password_too_long"),
        ("1qaz2wsx3edc4rfv", "password_too_common"),
        ("928374650192", "password_entirely_numeric"),
    ],
)
def test_a_password_that_is_too_easy_or_too_long_is_refused(password: str, code: str) -> None:
    with pytest.raises(ValidationError) as refused:
        validate_password(password)

    assert code in [error.code for error in refused.value.error_list]


def test_no_character_of_a_password_is_left_out() -> None:
    user = User(email="ada@example.org")
    user.set_password(LONGEST)

    assert len(LONGEST) == 128
    assert user.check_password(LONGEST)
    assert not user.check_password(LONGEST[:-1])
