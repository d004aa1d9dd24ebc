"""Refusals of this package."""

from __future__ import annotations


class CompanyNotFound(Exception):
    """There is no company with that id."""


class ApiKeyNotFound(Exception):
    """The company has no such key."""


class BadName(ValueError):
    """A name is empty, too long, or holds characters that cannot be shown."""


class BadLifetime(ValueError):
    """A key would be valid for too short or too long."""


class BadRetention(ValueError):
    """Personal data would be kept for too short or too long."""


class SecondStepMissing(Exception):
    """An owner without a second step cannot require one of the others."""


class BadPassword(ValueError):
    """A password is refused; the reasons are the arguments."""


class MemberNotFound(Exception):
    """The company has no such member."""


class AlreadyMember(Exception):
    """Somebody with that address is in the company's team already."""


class LastOwner(Exception):
    """The company would be left without an owner."""
