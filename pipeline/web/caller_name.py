"""Caller of a request, as log lines name it."""

from __future__ import annotations

from contextlib import suppress

from django.contrib.auth import SESSION_KEY
from django.db import Error
from django.http import HttpRequest

from applicants.browser import KEY as APPLICANT

ANONYMOUS = "anonymous"
# The request has a session cookie, but nothing has read the session yet.
UNREAD = "session"


class CallerName:
    """Name of a request's caller for log lines: `key:ID`, `member:ID` or `applicant:ID`.

    Uses only what the request has already read, so a log line costs no query.
    """

    def __init__(self, request: HttpRequest) -> None:
        self._request = request

    def __str__(self) -> str:
        """Return the caller's kind and id, or `anonymous` without a credential."""
        known = self._request.__dict__
        if name := getattr(type(known.get("user")), "log_name", None):
            return str(name.fget(known["user"]))
        session = known.get("session")
        if session is None or session.session_key is None:
            return ANONYMOUS
        if "_session_cache" not in session.__dict__:
            return UNREAD
        for key, kind in ((SESSION_KEY, "member"), (APPLICANT, "applicant")):
            if key in session:
                return f"{kind}:{session[key]}"
        return ANONYMOUS

    __repr__ = __str__

    @property
    def accepted_name(self) -> str:
        """Return the caller's name if the request's credential was read and holds, else nothing."""
        name = str(self)
        return "" if name in (ANONYMOUS, UNREAD) else name

    def look_up(self) -> None:
        """Read the session if nothing has yet; without a database the name stays `session`."""
        session = self._request.__dict__.get("session")
        if session is not None and session.session_key is not None:
            with suppress(Error):
                session.get(SESSION_KEY)
