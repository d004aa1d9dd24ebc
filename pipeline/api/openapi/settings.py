"""drf-spectacular's settings."""

from __future__ import annotations

from typing import Any

_DESCRIPTION = """\
A hiring pipeline that moves itself: each job has a fixed number of seats
and a strictly ordered waitlist. When a seat opens, it is offered to the next in line, who must
acknowledge it before a deadline.

**Conventions.** JSON in UTF-8. Times are RFC 3339 in UTC; durations are `…_seconds`, and
whole, except in figures. A field
without a value is `null`, never missing; unknown fields in a request are refused. Ids are opaque.
Requests for anything that is not yours return 404.

**Errors** are `application/problem+json` (RFC 9457). Distinguish them by `code`.

**Repeating** a POST is safe with an `Idempotency-Key`.

**Lists** come in pages: follow `next_cursor`, or the `Link` header.

[docs/api.md] in the repository walks through all of it with curl.
"""


def spectacular_settings(session_cookie: str) -> dict[str, Any]:
    """Return the settings; `session_cookie`: the name of the browser session's cookie."""
    bearer = {"type": "http", "scheme": "bearer"}
    security = {
        "apiKey": bearer
        | {
            "bearerFormat": "nilk_…",
            "description": "A company's API key, with any of the scopes `read`, `write` and "
            "`applicant-tokens`.",
        },
        "applicantToken": bearer
        | {"bearerFormat": "nila_…", "description": "An applicant's token."},
        "portalToken": bearer
        | {
            "bearerFormat": "nilp_…",
            "description": "A company's own site, which acts for one of its applicants.",
        },
        "session": {
            "type": "apiKey",
            "in": "cookie",
            "name": session_cookie,
            "description": "A browser's session. Changes also need the CSRF token in "
            "X-CSRFToken. A member of several companies names one in X-Company.",
        },
    }
    return {
        "TITLE": "Next in Line",
        "VERSION": "1",
        "DESCRIPTION": _DESCRIPTION.replace("[docs/api.md]", "`docs/api.md`"),
        "OAS_VERSION": "3.1.0",
        # Tests compare the document with the code: `doctor` need not make it on each site again.
        "ENABLE_DJANGO_DEPLOY_CHECK": False,
        "SCHEMA_PATH_PREFIX": "/api/v1",
        "SCHEMA_PATH_PREFIX_TRIM": True,
        "SERVERS": [{"url": "/api/v1"}],
        "SERVE_INCLUDE_SCHEMA": False,
        "GET_MOCK_REQUEST": "pipeline.api.openapi.document.no_request",
        "SERVE_URLCONF": "pipeline.urls",
        "SORT_OPERATIONS": True,
        "ENUM_GENERATE_CHOICE_DESCRIPTION": False,
        "PREPROCESSING_HOOKS": ["pipeline.api.openapi.document.described_paths"],
        "POSTPROCESSING_HOOKS": ["pipeline.api.openapi.document.finish"],
        "APPEND_COMPONENTS": {"securitySchemes": security},
        "SWAGGER_UI_DIST": "SIDECAR",
        "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
        "SWAGGER_UI_SETTINGS": {"deepLinking": True, "validatorUrl": None},
    }
