"""Every endpoint, called with a portal token, and with a key that only makes such tokens."""

from __future__ import annotations

from typing import Any

import pytest

from jobs.models import Company, Scope
from tests.api.test_access import EXPECTED, NO_FILE, NO_FURTHER, NO_UPLOAD, Scene, ask
from tests.api.test_portal_tokens import portal
from tests.support.callers import key_of

ALLOWED = {
    ("GET", "/jobs"),
    ("GET", "/jobs/{job}"),
    ("GET", "/jobs/{job}/privacy"),
    ("GET", "/applications/{application}"),
    ("post", "/applications/{application}/acknowledge"),
    ("post", "/applications/{application}/withdraw"),
    ("GET", "/applicants/{applicant}"),
    ("GET", "/applicants/{applicant}/applications"),
    ("GET", "/applications/{application}/timeline"),
    ("GET", "/applications/{application}/contests"),
    ("GET", "/applications/{application}/receipt"),
    ("GET", "/applications/{application}/log"),
    ("GET", "/applications/{application}/answers"),
    ("GET", "/applications/{application}/files"),
    ("GET", "/applications/{application}/group-claim"),
    ("GET", "/applicants/{applicant}/timeline"),
}
# It may ask for these, and there are none.
ABSENT = {("GET", NO_FILE), ("GET", NO_UPLOAD), ("post", f"{NO_FURTHER}/answer")}
# It may do these, though not so: a body without a job, files of someone in review.
REFUSED = {
    ("post", "/uploads"): 400,
    ("delete", NO_UPLOAD): 204,
    ("post", "/applications/{application}/files"): 409,
    ("delete", NO_FILE): 409,
}
# These take no credential, so they say the same to everyone.
WITHOUT = {("post", "/auth/code"): 202, ("post", "/auth/token"): 401}


@pytest.mark.parametrize("row", EXPECTED, ids=lambda row: f"{row[0]} {row[1]}")
def test_a_portal_does_what_it_is_for_and_nothing_else(company: Company, row: Any) -> None:
    method, path, body, _ = row
    scene = Scene(company)
    scene.callers["portal"] = portal(key_of(company.id), scene.applicant_id)

    status = ask(method, path, body)(scene.callers["portal"], scene).status_code

    asks = method == "post" and path in (
        "/applications/{application}/contests",
        "/applications/{application}/answers",
        "/applications/{application}/group-claim",
    )
    if asks or path in (
        "/applications/{application}/defer",
        "/applications/{application}/preaccept",
        "/applications/{application}/pass",
        "/applications/{application}/pass-next",
    ):
        assert status == 409  # it may, and the person does not wait
    elif (method, path) in ALLOWED:
        assert status == 200
    elif (method, path) in ABSENT:
        assert status == 404
    elif (method, path) in REFUSED:
        assert status == REFUSED[method, path]
    elif (method, path) in WITHOUT:
        assert status == WITHOUT[method, path]
    else:
        assert status in ((403, 404) if "{draft}" in path else (403,))


@pytest.mark.parametrize("row", EXPECTED, ids=lambda row: f"{row[0]} {row[1]}")
def test_the_scope_itself_reads_and_writes_nothing(company: Company, row: Any) -> None:
    method, path, body, _ = row
    scene = Scene(company)
    scene.callers["key"] = key_of(company.id, Scope.APPLICANT_TOKENS)

    status = ask(method, path, body)(scene.callers["key"], scene).status_code

    if path == "/applicants/{applicant}/tokens":
        assert status == 201
    elif path in ("/jobs/{job}", "/jobs/{job}/privacy") and method == "GET":
        assert status == 200  # as for anyone
    elif (method, path) in WITHOUT:
        assert status == WITHOUT[method, path]
    else:
        assert status in ((403, 404) if "{draft}" in path else (403,))
