"""Errors raised by this package."""

from __future__ import annotations

from django.utils.translation import gettext as _


class CompanyNotFound(Exception):
    """There is no company with that id."""

    def __str__(self) -> str:
        return _("There is no such company.")


class RequestDecided(Exception):
    """The request for a company was decided otherwise before."""


class ApiKeyNotFound(Exception):
    """The company has no such key."""


class BadName(ValueError):
    """The name is empty, too long, or contains unprintable characters."""


class BadLifetime(ValueError):
    """The lifetime of the key is too short or too long."""


class JobsNotOfCompany(ValueError):
    """A key cannot be limited to these jobs: they are too many, or not all of its company."""


class BadRetention(ValueError):
    """The retention period of personal data is too short or too long."""


class SecondStepMissing(Exception):
    """An owner who has no second step cannot require one of others."""


class BadPassword(ValueError):
    """The password is refused. The arguments are the reasons."""


class AddressTaken(Exception):
    """Another account has this address."""


class MemberNotFound(Exception):
    """The company has no such member."""


class AlreadyMember(Exception):
    """The company's team already has a member with this address."""


class TooManyOnJob(Exception):
    """The job has as many members of its own as it may have, or the member as many jobs."""


class InvitationNotFound(Exception):
    """The link does not exist, or does not work any more."""


class TooManyInvitations(Exception):
    """The company has as many open links as it may have."""


class LastOwner(Exception):
    """The company would be left without an owner."""
