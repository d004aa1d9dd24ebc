"""Time limit for pages that read long logs as of one instant."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec

from django.db import OperationalError
from django.http import HttpRequest, HttpResponseBase
from django.shortcuts import render
from psycopg.errors import QueryCanceled

from pipeline.database import statement_time
from pipeline.database.instants import snapshot

P = ParamSpec("P")
LONGEST_SECONDS = 5.0  # for one statement of such a page


def time_limited(
    view: Callable[Concatenate[HttpRequest, P], HttpResponseBase],
) -> Callable[Concatenate[HttpRequest, P], HttpResponseBase]:
    """Run a read-only view at one instant, and answer 503 if the database takes too long."""

    @wraps(view)
    def time_limited_view(
        request: HttpRequest, /, *args: P.args, **kwargs: P.kwargs
    ) -> HttpResponseBase:
        try:
            with snapshot():
                statement_time.limit(LONGEST_SECONDS)
                return view(request, *args, **kwargs)
        except OperationalError as error:
            if not isinstance(error.__cause__, QueryCanceled):
                raise
            answer = render(request, "errors/slow.html", status=503)
            answer["Retry-After"] = "30"
            return answer

    return time_limited_view
