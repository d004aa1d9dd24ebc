"""Errors of the client."""

from __future__ import annotations

from typing import Any

import httpx


class ConnectionFailed(Exception):
    """No answer came, after every retry."""


class ApiError(Exception):
    """The API refused a request. Distinguish refusals by `code`, like `DUPLICATE_SUBMISSION`."""

    def __init__(self, answer: httpx.Response) -> None:
        problem = _problem_of(answer)
        self.status = answer.status_code
        self.code = str(problem.get("code", ""))
        self.detail = str(problem.get("detail", answer.reason_phrase))
        self.errors: list[dict[str, Any]] = problem.get("errors", [])
        # The object that is in the way of a 409, if there is one.
        self.existing_id: str | None = problem.get("existing_id")
        self.retry_after = answer.headers.get("retry-after")  # seconds, if it makes sense later
        # Send it with a question to whoever runs the site.
        self.request_id = answer.headers.get("x-request-id", "")
        self.problem = problem
        super().__init__(f"{self.status} {self.code}: {self.detail}")


def _problem_of(answer: httpx.Response) -> dict[str, Any]:
    try:
        found = answer.json()
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
