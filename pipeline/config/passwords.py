"""Validator of new passwords, besides Django's."""

from __future__ import annotations

from django.core.exceptions import ValidationError


class MaximumLengthValidator:
    """Refuses passwords that nobody remembers and whose hashing would take long."""

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
        """Return what people read about it."""
        return f"Your password can have at most {self.max_length} characters."
