"""Validator of new passwords, besides Django's."""

from __future__ import annotations

from django.core.exceptions import ValidationError


class MaximumPasswordLengthValidator:
    """Validator that refuses very long passwords, which would take long to hash."""

    def __init__(self, max_length: int) -> None:
        self.max_length = max_length

    def validate(self, password: str, user: object = None) -> None:
        """Raise ValidationError if a password is too long."""
        if len(password) > self.max_length:
            raise ValidationError(
                f"This password is too long. Use at most {self.max_length} characters.",
                code="password_too_long",
            )

    def get_help_text(self) -> str:
        """Return the rule for people."""
        return f"Your password can have at most {self.max_length} characters."
