"""Each endpoint, called by each kind of caller: what is not yours does not exist."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest

from jobs.models import ApiKey, Company, Scope
from pipeline.models import Application
from tests.support import factories
from tests.support.callers import Answer, Caller, Callers, key_of, person, signed_in

CALLERS = ["nobody", "revoked", "owner", "stranger", "reader", "writer", "other company"]


class Scene:
    """A job with one person seated and one in line, and everyone who might call."""

    def __init__(self, company: Company) -> None:
        self.job_id = factories.job(company_id=company.id, capacity=1)
        seated, owner = person()
        self.application: Application = factories.application(self.job_id, seated)
        self.applicant_id = seated.id
        factories.application(self.job_id)
        self.draft_id: UUID = factories.job(company_id=company.id, open_now=False)
        self.key_id: UUID = ApiKey.objects.create(
            company=company, name="CI", digest=company.id.bytes, scopes=[Scope.READ]
        ).id
        self.callers = Callers(
            {
                "nobody": Caller,
                "revoked": lambda: _revoked(company.id),
                "owner": lambda: owner,
                "stranger": lambda: person()[1],
                "reader": lambda: key_of(company.id, Scope.READ),
                "writer": lambda: key_of(company.id, Scope.WRITE),
                "other company": lambda: key_of(factories.company().id),
            }
        )


def _revoked(company_id: UUID) -> Caller:
    caller = key_of(company_id)
    newest = ApiKey.objects.filter(name="tests").latest("created_at")
    ApiKey.objects.filter(id=newest.id).update(revoked_at="2026-01-01T00:00:00Z")
    return caller


@pytest.fixture
def scene(company: Company) -> Scene:
    return Scene(company)


def ask(method: str, path: str, body: Any = None) -> Callable[[Caller, Scene], Answer]:
    """A request whose path names things of the scene."""

    def send(caller: Caller, scene: Scene) -> Answer:
        names = {
            "job": scene.job_id,
            "draft": scene.draft_id,
            "application": scene.application.id,
            "applicant": scene.applicant_id,
            "key": scene.key_id,
        }
        where = path.format(**names)
        return caller.get(where) if method == "GET" else getattr(caller, method)(where, body)

    return send


NEW_JOB = {"title": "Cook", "capacity": 1}
BOB = {"name": "Bob", "email": "bob@example.org"}
REMOVED = {"outcome": "REMOVED"}
BACK = {"reason": "OUR_ERROR"}
LATER = {"acknowledge_by": "2126-01-01T00:00:00Z"}
UNDO = {"undo_hiring_seconds": 60}
MARKS = {"scores": [{"criterion_id": "00000000-0000-7000-8000-000000000000", "score": 4}]}
WHY = {"text": "Why?"}
STANDS = {"answer": "UPHELD", "reason": "DECISION_STANDS"}
NO_CONTEST = "/applications/{application}/contests/00000000-0000-7000-8000-000000000000/answer"
ANSWERS: dict[str, Any] = {"answers": {}}
FURTHER = "/applications/{application}/further-questions"
NO_FURTHER = f"{FURTHER}/00000000-0000-7000-8000-000000000000"
ONE_MORE = {
    "question": {"kind": "YES_NO", "label": "Still interested?"},
    "answer_by": "2026-01-01T00:00:00Z",
}
NO_UPLOAD = "/uploads/00000000-0000-7000-8000-000000000000"
NO_FILE = "/applications/{application}/files/00000000-0000-7000-8000-000000000000"
HELLO = {"text": "Hello"}
ADDED = {"upload_ids": ["00000000-0000-7000-8000-000000000000"]}
ANY_TIME = {"not_before": None}
NEXT = {"pass_next": True}
ASKED = {"accept_until": None}
GUESS = {"email": "bob@example.org", "code": "123456"}
NOTED = "/jobs/{job}/verify?seq=1&hash=" + "0" * 64

GROUP_DECISION = "/applications/{application}/group-claim/decide"

EXPECTED: list[tuple[str, str, Any, tuple[int, ...]]] = [
    ("GET", "/jobs", None, (200, 401, 200, 200, 200, 200, 200)),
    ("post", "/jobs", NEW_JOB, (401, 401, 403, 403, 403, 201, 201)),
    ("GET", "/jobs/{job}", None, (200, 401, 200, 200, 200, 200, 200)),
    ("GET", "/jobs/{draft}", None, (404, 401, 404, 404, 200, 200, 404)),
    ("patch", "/jobs/{job}", {"title": "New"}, (401, 401, 403, 403, 403, 200, 404)),
    ("patch", "/jobs/{draft}", {"title": "New"}, (401, 401, 404, 404, 403, 200, 404)),
    ("delete", "/jobs/{draft}", None, (401, 401, 404, 404, 403, 204, 404)),
    ("delete", "/jobs/{job}", None, (401, 401, 403, 403, 403, 409, 404)),
    ("post", "/jobs/{draft}/open", None, (401, 401, 404, 404, 403, 200, 404)),
    ("post", "/jobs/{job}/open", None, (401, 401, 403, 403, 403, 200, 404)),
    ("post", "/jobs/{job}/pause", None, (401, 401, 403, 403, 403, 200, 404)),
    ("post", "/jobs/{job}/close", None, (401, 401, 403, 403, 403, 200, 404)),
    ("GET", "/jobs/{job}/pipeline", None, (401, 401, 403, 403, 200, 200, 404)),
    ("GET", "/jobs/{job}/queue", None, (401, 401, 403, 403, 200, 200, 404)),
    ("GET", "/jobs/{job}/events", None, (401, 401, 403, 403, 200, 200, 404)),
    ("GET", "/jobs/{job}/replay", None, (401, 401, 403, 403, 200, 200, 404)),
    ("GET", "/jobs/{job}/verify", None, (401, 401, 403, 404, 200, 200, 404)),
    ("GET", NOTED, None, (401, 401, 200, 404, 200, 200, 404)),
    ("GET", "/jobs/{draft}/queue", None, (401, 401, 404, 404, 200, 200, 404)),
    ("post", "/jobs/{job}/applications", {}, (400, 401, 409, 201, 403, 400, 404)),
    ("post", "/jobs/{job}/applications", BOB, (202, 401, 400, 400, 403, 201, 404)),
    ("post", "/jobs/{draft}/applications", BOB, (404, 401, 404, 404, 403, 409, 404)),
    ("GET", "/applications/{application}", None, (401, 401, 200, 404, 200, 200, 404)),
    ("patch", "/applications/{application}", {"metadata": {}}, (401, 401, 403, 404, 403, 200, 404)),
    ("GET", "/applications?external_id=x", None, (401, 401, 403, 403, 200, 200, 200)),
    ("GET", "/jobs/{job}/applications", None, (401, 401, 403, 403, 200, 200, 404)),
    ("GET", "/jobs/{job}/form", None, (401, 401, 403, 403, 200, 200, 404)),
    ("post", "/jobs/{job}/form", {"questions": []}, (401, 401, 403, 403, 403, 200, 404)),
    ("GET", "/applications/{application}/answers", None, (401, 401, 200, 404, 200, 200, 404)),
    ("post", "/applications/{application}/answers", ANSWERS, (401, 401, 409, 404, 403, 403, 404)),
    ("post", FURTHER, ONE_MORE, (401, 401, 403, 404, 403, 409, 404)),
    ("post", f"{NO_FURTHER}/answer", {"answer": 1}, (401, 401, 404, 404, 403, 403, 404)),
    ("post", f"{NO_FURTHER}/withdraw", None, (401, 401, 403, 404, 403, 404, 404)),
    ("GET", "/jobs/{draft}/applications", None, (401, 401, 404, 404, 200, 200, 404)),
    ("GET", "/jobs/{job}/privacy", None, (200, 401, 200, 200, 200, 200, 200)),
    ("GET", "/jobs/{draft}/privacy", None, (404, 401, 404, 404, 200, 200, 404)),
    ("GET", "/jobs/{job}/sources", None, (401, 401, 403, 403, 200, 200, 404)),
    ("GET", "/companies/me/sources", None, (401, 401, 403, 403, 200, 200, 200)),
    ("GET", "/jobs/{job}/reports", None, (401, 401, 403, 403, 200, 200, 404)),
    ("post", "/applications/{application}/acknowledge", None, (401, 401, 200, 404, 403, 403, 404)),
    ("post", "/applications/{application}/verify", None, (401, 401, 200, 404, 403, 403, 404)),
    ("post", "/applications/{application}/contests", WHY, (401, 401, 409, 404, 403, 403, 404)),
    ("GET", "/applications/{application}/contests", None, (401, 401, 200, 404, 200, 200, 404)),
    ("post", NO_CONTEST, STANDS, (401, 401, 403, 404, 403, 404, 404)),
    ("GET", "/contests", None, (401, 401, 403, 403, 200, 200, 200)),
    ("post", "/applications/{application}/defer", ANY_TIME, (401, 401, 409, 404, 403, 403, 404)),
    ("post", "/applications/{application}/preaccept", ASKED, (401, 401, 409, 404, 403, 403, 404)),
    ("post", "/applications/{application}/pass", None, (401, 401, 409, 404, 403, 403, 404)),
    ("post", "/applications/{application}/pass-next", NEXT, (401, 401, 409, 404, 403, 403, 404)),
    ("post", "/applications/{application}/withdraw", None, (401, 401, 200, 404, 403, 403, 404)),
    ("post", "/applications/{application}/remove", REMOVED, (401, 401, 403, 404, 403, 200, 404)),
    ("GET", "/applications/{application}/scores", None, (401, 401, 403, 404, 200, 200, 404)),
    ("put", "/applications/{application}/scores", MARKS, (401, 401, 403, 404, 403, 403, 404)),
    ("post", "/applications/{application}/reinstate", BACK, (401, 401, 403, 404, 403, 409, 404)),
    ("post", "/applications/{application}/move-ahead", BACK, (401, 401, 403, 404, 403, 409, 404)),
    ("put", "/jobs/{job}/reserved-seats", {"seats": 0}, (401, 401, 403, 403, 403, 200, 404)),
    ("GET", "/applications/{application}/group-claim", None, (401, 401, 200, 404, 200, 200, 404)),
    ("post", "/applications/{application}/group-claim", {}, (401, 401, 409, 404, 403, 403, 404)),
    ("post", GROUP_DECISION, {"confirm": True}, (401, 401, 403, 404, 403, 409, 404)),
    ("post", "/applications/{application}/extend", LATER, (401, 401, 403, 404, 403, 409, 404)),
    ("post", "/uploads", {}, (401, 401, 400, 400, 403, 400, 400)),
    ("GET", NO_UPLOAD, None, (401, 401, 404, 404, 403, 404, 404)),
    ("delete", NO_UPLOAD, None, (401, 401, 204, 204, 403, 204, 204)),
    ("GET", "/applications/{application}/files", None, (401, 401, 200, 404, 200, 200, 404)),
    ("post", "/applications/{application}/files", ADDED, (401, 401, 409, 404, 403, 409, 404)),
    ("GET", NO_FILE, None, (401, 401, 404, 404, 404, 404, 404)),
    ("delete", NO_FILE, None, (401, 401, 409, 404, 403, 409, 404)),
    ("GET", "/applications/{application}/receipt", None, (401, 401, 200, 404, 200, 200, 404)),
    ("GET", "/applications/{application}/log", None, (401, 401, 200, 404, 200, 200, 404)),
    ("GET", "/applications/{application}/messages", None, (401, 401, 403, 404, 200, 200, 404)),
    ("post", "/applications/{application}/messages", HELLO, (401, 401, 403, 404, 403, 201, 404)),
    ("GET", "/applications/{application}/emails", None, (401, 401, 403, 404, 200, 200, 404)),
    ("GET", "/applicants/{applicant}", None, (401, 401, 200, 404, 200, 200, 404)),
    ("GET", "/applicants/{applicant}/applications", None, (401, 401, 200, 404, 200, 200, 404)),
    ("post", "/applicants/{applicant}/tokens", {}, (401, 401, 403, 403, 403, 403, 404)),
    ("GET", "/jobs/{job}/summary", None, (401, 401, 403, 403, 200, 200, 404)),
    ("GET", "/jobs/{draft}/summary", None, (401, 401, 404, 404, 200, 200, 404)),
    ("GET", "/applications/{application}/timeline", None, (401, 401, 200, 404, 200, 200, 404)),
    ("GET", "/applicants/{applicant}/timeline", None, (401, 401, 200, 404, 200, 200, 404)),
    ("GET", "/applicants?email=a@example.org", None, (401, 401, 403, 403, 200, 200, 200)),
    ("GET", "/events", None, (401, 401, 403, 403, 200, 200, 200)),
    ("GET", "/companies/me", None, (401, 401, 403, 403, 200, 200, 200)),
    ("patch", "/companies/me", UNDO, (401, 401, 403, 403, 403, 200, 200)),
    ("GET", "/me", None, (401, 401, 200, 200, 403, 403, 403)),
    ("GET", "/me/applications", None, (401, 401, 200, 200, 403, 403, 403)),
    ("post", "/auth/code", {"email": "bob@example.org"}, (202, 202, 202, 202, 202, 202, 202)),
    ("post", "/auth/token", GUESS, (401, 401, 401, 401, 401, 401, 401)),
    ("delete", "/auth/token", None, (401, 401, 204, 204, 403, 403, 403)),
    ("GET", "/api-keys", None, (401, 401, 403, 403, 403, 403, 403)),
    ("post", "/api-keys", {"name": "CI"}, (401, 401, 403, 403, 403, 403, 403)),
    ("delete", "/api-keys/{key}", None, (401, 401, 403, 403, 403, 403, 403)),
    ("GET", "/api-keys/{key}/requests", None, (401, 401, 403, 403, 403, 403, 403)),
    ("GET", "/companies/me/requests", None, (401, 401, 403, 403, 200, 200, 200)),
    ("post", "/api-keys/{key}/revoke", None, (401, 401, 403, 403, 403, 403, 403)),
]

CODES = {401: "NOT_AUTHENTICATED", 403: "PERMISSION_DENIED", 404: "NOT_FOUND"}


# Who makes which request, and the status of its answer.
Case = tuple[str, tuple[str, str, Any, tuple[int, ...]], int]
CASES: list[Case] = [
    (caller, row, status)
    for row in EXPECTED
    for caller, status in zip(CALLERS, row[3], strict=True)
]


def may_change(case: Case) -> bool:
    """Tell whether a request may change something; the others share a scene.

    They are in `test_access_unchanged`.
    """
    _, (method, path, *_), status = case
    return path.startswith("/auth/") or (method != "GET" and status < 400)


def each_case(cases: list[Case]) -> pytest.MarkDecorator:
    """Try each of the cases."""
    return pytest.mark.parametrize(
        "case", cases, ids=[f"{who}-{row[0]} {row[1]}" for who, row, _ in cases]
    )


def check(scene: Scene, case: Case) -> None:
    """Make the request, and look at its answer."""
    who, (method, path, body, _), status = case

    answer = ask(method, path, body)(scene.callers[who], scene)

    assert answer.status_code == status, answer.content
    if status in CODES:
        assert answer.json()["code"] == CODES[status]


@each_case([case for case in CASES if may_change(case)])
def test_each_caller_changes_what_is_theirs(scene: Scene, case: Case) -> None:
    check(scene, case)


def test_a_refused_change_changes_nothing(scene: Scene) -> None:
    before = factories.row_of(scene.job_id).seq

    for name in ("nobody", "revoked", "stranger", "reader", "other company"):
        caller = scene.callers[name]
        caller.patch(f"/jobs/{scene.job_id}", {"title": "Mine"})
        caller.post(f"/jobs/{scene.job_id}/close")
        caller.post(f"/applications/{scene.application.id}/withdraw")
        caller.post(f"/applications/{scene.application.id}/remove", REMOVED)
        caller.post(f"/applications/{scene.application.id}/reinstate", BACK)

    assert factories.row_of(scene.job_id).seq == before
    assert factories.status_of(scene.application) == "ACTIVE"


def test_a_person_sees_paused_and_closed_jobs_too(scene: Scene) -> None:
    writer = scene.callers["writer"]

    for verb, status in (("pause", "PAUSED"), ("close", "CLOSED")):
        writer.post(f"/jobs/{scene.job_id}/{verb}")
        assert scene.callers["nobody"].get(f"/jobs/{scene.job_id}").json()["status"] == status


def test_a_key_of_one_company_knows_a_person_only_by_what_that_company_was_told(
    scene: Scene, other: Caller
) -> None:
    answer = other.get(f"/applicants/{scene.applicant_id}")
    assert answer.status_code == 404

    owner = signed_in(scene.application.applicant)
    assert owner.get(f"/applicants/{scene.applicant_id}").status_code == 200
