"""Manager of staff accounts: it makes and finds them by their addresses."""

from __future__ import annotations

from typing import Any, TypeVar

from django.contrib.auth.models import AbstractUser, BaseUserManager

from applicants.addresses import checked_address, normal_address

U = TypeVar("U", bound=AbstractUser)


class UserManager(BaseUserManager[U]):
    """Manager of staff accounts, which are identified by their email address."""

    def create_user(self, email: str, password: str | None = None, **fields: Any) -> U:
        """Create a staff account. Without a password, it signs in with an emailed code.

        Raises ValidationError if it is not an email address.
        """
        user = self.model(email=checked_address(email), **fields)
        user.set_password(password)
        user.save(using=self._db)
        return user

    def create_superuser(self, email: str, password: str | None = None, **fields: Any) -> U:
        """Create an account that may do everything in the back office."""
        return self.create_user(email, password, is_staff=True, is_superuser=True, **fields)

    def get_by_natural_key(self, username: str | None) -> U:
        """Find an account by its address in any spelling. Raises User.DoesNotExist."""
        return super().get_by_natural_key(normal_address(username or ""))
