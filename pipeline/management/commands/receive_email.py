"""`manage.py receive_email`: take in one email, as a mail server hands it over (pipe)."""

from __future__ import annotations

import sys
from os import EX_DATAERR, EX_NOUSER, EX_OK, EX_TEMPFAIL, EX_UNAVAILABLE
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandParser
from django.db import Error as DatabaseError

from pipeline.domain.errors import AttachmentsAway, LineError


class Command(BaseCommand):
    requires_system_checks = ("environment",)  # the other checks load every URL
    help = (
        "Take in one email from standard input, as Postfix and Exim hand it to a pipe: an"
        " applicant's answer to a message. Prints nothing if all is well. Exit codes are those of"
        f" sysexits: {EX_OK} taken, or dropped as an automatic answer; {EX_DATAERR} too large or no"
        f" email; {EX_NOUSER} no such thread; {EX_UNAVAILABLE} refused, with the reason;"
        f" {EX_TEMPFAIL} try again later."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "recipients", nargs="*", help="the recipients of the envelope; else headers name them"
        )
        parser.add_argument(
            "--sender", help="the sender of the envelope; empty or <> for none (a bounce)"
        )

    def handle(self, *, recipients: list[str], sender: str | None, **_: Any) -> None:
        code, why = self._take(recipients, sender)
        if code != EX_OK:
            self.stderr.write(why)
            sys.exit(code)

    def _take(self, recipients: list[str], sender: str | None) -> tuple[int, str]:
        from pipeline.correspondence import incoming

        # One byte more tells that there are more.
        raw = sys.stdin.buffer.read(settings.INCOMING_EMAIL_BYTES + 1)
        try:
            incoming.take(raw, incoming.Envelope(recipients, sender))
        except incoming.NotForUs:
            return EX_NOUSER, "There is no such address."
        except incoming.Unreadable as error:
            return EX_DATAERR, str(error)
        except (AttachmentsAway, DatabaseError) as error:
            return EX_TEMPFAIL, f"Try again later: {type(error).__name__}"
        except LineError as error:
            return EX_UNAVAILABLE, str(error)
        return EX_OK, ""
