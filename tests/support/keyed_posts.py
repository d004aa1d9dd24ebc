"""Every POST of the API, with a valid caller and body, for tests of Idempotency-Key."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Any
from uuid import UUID, uuid4

from django.db import connection
from django.urls import URLPattern

from jobs import keys
from pipeline.api.v1.urls import urlpatterns
from pipeline.attachments import uploads
from pipeline.domain.states import GroupKind
from pipeline.models import Application, Email
from pipeline.services.reserved import Reserve, reserve_seats
from pipeline.webhooks.endpoints import send_test
from tests.support import background_tasks, factories
from tests.support.accounts import member_of
from tests.support.callers import JSON, Answer, Caller, key_of, person, signed_in
from tests.support.clock import database_now, let_time_pass
from tests.support.contests import CONTEST_POSTS
from tests.support.forms import FORM_POSTS
from tests.support.passes import PASS_POSTS
from tests.support.sandboxes import sandbox
from tests.support.webhooks import endpoint


@dataclass(frozen=True)
class Sent:
    """A request that someone can send."""

    caller: Caller
    path: str
    body: Any
    content_type: str = JSON

    def under(self, key: str, **changes: Any) -> Answer:
        """Send it under a key; `changes` are to the body."""
        body = self.body | changes if changes else self.body
        return self.caller.post(
            self.path, body, idempotency_key=key, content_type=self.content_type
        )

    def plainly(self) -> Answer:
        """Send it without a key."""
        return self.caller.post(self.path, self.body, content_type=self.content_type)


def _sent(made: Callable[[], tuple[Caller, str, Any]]) -> Sent:
    return Sent(*made())


def a_job() -> Sent:
    return Sent(key_of(factories.company().id), "/jobs", {"title": "Cook", "capacity": 2})


def own_application() -> Sent:
    return Sent(person()[1], f"/jobs/{factories.job()}/applications", {"name": "Ann"})


def submission() -> Sent:
    company = factories.company().id
    body = {"name": "Ann", "email": "ann@example.org"}
    return Sent(key_of(company), f"/jobs/{factories.job(company_id=company)}/applications", body)


def unproved_application() -> Sent:
    body = {"name": "Ann", "email": "ann@example.org"}
    return Sent(Caller(), f"/jobs/{factories.job()}/applications", body)


def acknowledgement() -> Sent:
    offered = factories.application(factories.job(acknowledge_first_seat=True))
    return Sent(signed_in(offered.applicant), f"/applications/{offered.id}/acknowledge", {})


def verification() -> Sent:
    made = factories.application(factories.job(), verified=False)
    return Sent(signed_in(made.applicant), f"/applications/{made.id}/verify", {"name": "Ann"})


def _wish(verb: str, name: str) -> Callable[[], Sent]:
    def make() -> Sent:
        _seated, waiting = factories.applications(factories.job(), 2)
        body = {name: (database_now() + timedelta(days=7)).isoformat()}
        return Sent(signed_in(waiting.applicant), f"/applications/{waiting.id}/{verb}", body)

    return make


def withdrawal() -> Sent:
    seated = factories.application(factories.job())
    return Sent(signed_in(seated.applicant), f"/applications/{seated.id}/withdraw", {})


def removal() -> Sent:
    company = factories.company().id
    seated = factories.application(factories.job(company_id=company))
    body = {"outcome": "HIRED", "reason": "as agreed on the telephone"}
    return Sent(key_of(company), f"/applications/{seated.id}/remove", body)


def reinstatement() -> Sent:
    company = factories.company().id
    job = factories.job(company_id=company, acknowledge_first_seat=True)
    missed = factories.application(job)
    let_time_pass(job, factories.WINDOW)
    factories.settle_all()
    body = {"reason": "OUR_ERROR", "note": "as told on the telephone"}
    return Sent(key_of(company), f"/applications/{missed.id}/reinstate", body)


def exception() -> Sent:
    company = factories.company().id
    *_, last = factories.applications(factories.job(company_id=company), 3)
    body = {"reason": "OTHER", "text": "as agreed on the telephone"}
    return Sent(key_of(company), f"/applications/{last.id}/move-ahead", body)


def _claimed(company_id: UUID) -> Application:
    """One who waits and says that they belong to the group of a job's reserved seat."""
    job = factories.job(company_id=company_id)
    reserve = Reserve(1, GroupKind.INTERNAL)
    reserve_seats(job_id=job, reserve=reserve, actor=factories.RECRUITER)
    return factories.application(job, group_code="")


def group_statement() -> Sent:
    person = _claimed(factories.company().id)
    return Sent(
        signed_in(person.applicant), f"/applications/{person.id}/group-claim", {"code": "x"}
    )


def group_decision() -> Sent:
    company = factories.company().id
    path = f"/applications/{_claimed(company).id}/group-claim/decide"
    return Sent(key_of(company), path, {"confirm": True})


def extension() -> Sent:
    company = factories.company().id
    job = factories.job(company_id=company, acknowledge_first_seat=True)
    offered = factories.application(job)
    body = {"acknowledge_by": database_now() + timedelta(days=2)}
    return Sent(key_of(company), f"/applications/{offered.id}/extend", body)


def message() -> Sent:
    company = factories.company().id
    seated = factories.application(factories.job(company_id=company))
    return Sent(key_of(company), f"/applications/{seated.id}/messages", {"text": "Hello"})


def email_again() -> Sent:
    company = factories.company().id
    seated = factories.application(factories.job(company_id=company))
    email = Email.objects.create(
        id=uuid4(), application=seated, seq=3, kind="APPLIED", state="SENT"
    )
    path = f"/applications/{seated.id}/emails/{email.id}/send-again"
    return Sent(key_of(company), path, {})


def _job_verb(verb: str, **job: Any) -> Callable[[], Sent]:
    def sent() -> Sent:
        company = factories.company().id
        return Sent(key_of(company), f"/jobs/{factories.job(company_id=company, **job)}/{verb}", {})

    return sent


def planned_seats() -> Sent:
    company = factories.company().id
    body = {"seats": 2, "first_at": (database_now() + timedelta(days=7)).isoformat()}
    return Sent(key_of(company), f"/jobs/{factories.job(company_id=company)}/planned-seats", body)


def code() -> Sent:
    return Sent(Caller(), "/auth/code", {"email": "ann@example.org"})


def owner() -> tuple[UUID, Caller]:
    """A company, and its owner in a browser."""
    company = factories.company()
    caller = Caller()
    caller._client.force_login(member_of(company))
    return company.id, caller


def revocation() -> Sent:
    company, caller = owner()
    key, _secret = keys.create(company_id=company, name="old", scopes=())
    return Sent(caller, f"/api-keys/{key.id}/revoke", {})


def _webhook(verb: str) -> tuple[Caller, UUID, str]:
    company, caller = owner()
    made, _secret = endpoint(company, "https://hooks.example/in")
    return caller, company, f"/webhooks/{made.id}/{verb}"


def webhook_test() -> Sent:
    caller, _, path = _webhook("test")
    return Sent(caller, path, {})


def redelivery() -> Sent:
    caller, company, path = _webhook("deliveries")
    sent = send_test(company_id=company, endpoint_id=UUID(path.split("/")[2]))
    return Sent(caller, f"{path}/{sent.id}/redeliver", {})


def redeliveries() -> Sent:
    caller, _, path = _webhook("deliveries/redeliver")
    return Sent(caller, path, {"since": "2026-01-01T00:00:00Z"})


def some_work() -> Sent:
    return Sent(key_of(factories.company().id), "/tasks", {"type": "demo.sleep"})


def some_batch() -> Sent:
    body = {"tasks": [{"type": "demo.sleep"}, {"type": "demo.sleep"}]}
    return Sent(key_of(factories.company().id), "/tasks/batch", body)


def some_plan() -> Sent:
    body = {"name": "Mondays", "cron": "0 9 * * 1", "type": "demo.sleep"}
    return Sent(key_of(factories.company().id), "/schedules", body)


def some_import() -> Sent:
    company = factories.company().id
    path = f"/jobs/{factories.job(company_id=company)}/applications/import"
    return Sent(key_of(company), path, b"name,email\nAnn,ann@example.org\n", "text/csv")


def announced_upload() -> Sent:
    company = factories.company().id
    about = {"job_id": factories.job(company_id=company), "name": "cv.pdf", "size_bytes": 9}
    return Sent(key_of(company), "/uploads", about)


def added_files() -> Sent:
    company = factories.company().id
    job_id = factories.job(company_id=company)
    factories.application(job_id)
    waiting = factories.application(job_id)
    row = uploads.add(
        company_id=company,
        job_id=job_id,
        holder=uploads.holder_of("company", company),
        name="cv.txt",
        size_bytes=2,
        content=[b"CV"],
    )
    ids = {"upload_ids": [str(row.id)]}
    return Sent(key_of(company), f"/applications/{waiting.id}/files", ids)


def _verb_on_a_task(verb: str, make_one: Callable[[UUID], UUID]) -> Callable[[], Sent]:
    def sent() -> Sent:
        company = factories.company().id
        return Sent(key_of(company), f"/tasks/{make_one(company)}/{verb}", {})

    return sent


def replays() -> Sent:
    company = factories.company().id
    background_tasks.dead_sleep(company)
    return Sent(key_of(company), "/tasks/dead/replay", {"type": "demo.sleep"})


def _verb_on_a_type(verb: str) -> Callable[[], Sent]:
    def sent() -> Sent:
        company = factories.company().id
        background_tasks.sleep(company)
        return Sent(key_of(company), f"/task-types/demo.sleep/{verb}", {})

    return sent


def advance_of_clock() -> Sent:
    return Sent(key_of(sandbox().id), "/test/clock/advance", {"seconds": 60})


def reset_of_sandbox() -> Sent:
    company = sandbox()
    return Sent(key_of(company.id), "/test/reset", {"company_id": str(company.id)})


POSTS: dict[str, list[Callable[[], Sent]]] = {
    "jobs": [a_job],
    "jobs/<uuid:job_id>/applications": [own_application, submission, unproved_application],
    "jobs/<uuid:job_id>/planned-seats": [planned_seats],
    "jobs/<uuid:job_id>/open": [_job_verb("open", open_now=False)],
    "jobs/<uuid:job_id>/pause": [_job_verb("pause")],
    "jobs/<uuid:job_id>/close": [_job_verb("close")],
    "applications/<uuid:application_id>/acknowledge": [acknowledgement],
    "applications/<uuid:application_id>/verify": [verification],
    "applications/<uuid:application_id>/defer": [_wish("defer", "not_before")],
    "applications/<uuid:application_id>/preaccept": [_wish("preaccept", "accept_until")],
    **{path: [partial(_sent, made)] for path, made in PASS_POSTS.items()},
    "applications/<uuid:application_id>/withdraw": [withdrawal],
    **{path: [partial(_sent, made)] for path, made in CONTEST_POSTS.items()},
    **{path: [partial(_sent, made)] for path, made in FORM_POSTS.items()},
    "applications/<uuid:application_id>/remove": [removal],
    "applications/<uuid:application_id>/reinstate": [reinstatement],
    "applications/<uuid:application_id>/extend": [extension],
    "applications/<uuid:application_id>/messages": [message],
    "applications/<uuid:application_id>/group-claim": [group_statement],
    "applications/<uuid:application_id>/group-claim/decide": [group_decision],
    "applications/<uuid:application_id>/move-ahead": [exception],
    "applications/<uuid:application_id>/emails/<uuid:email_id>/send-again": [email_again],
    "jobs/<uuid:job_id>/applications/import": [some_import],
    "uploads": [announced_upload],
    "applications/<uuid:application_id>/files": [added_files],
    "tasks": [some_work],
    "tasks/batch": [some_batch],
    "tasks/dead/replay": [replays],
    "tasks/<uuid:task_id>/cancel": [_verb_on_a_task("cancel", background_tasks.sleep)],
    "tasks/<uuid:task_id>/replay": [_verb_on_a_task("replay", background_tasks.dead_sleep)],
    "tasks/<uuid:task_id>/discard": [_verb_on_a_task("discard", background_tasks.dead_sleep)],
    "task-types/<str:type_key>/pause": [_verb_on_a_type("pause")],
    "task-types/<str:type_key>/resume": [_verb_on_a_type("resume")],
    "schedules": [some_plan],
    "auth/code": [code],
    "test/clock/advance": [advance_of_clock],
    "test/reset": [reset_of_sandbox],
    "api-keys/<uuid:key_id>/revoke": [revocation],
    "webhooks/<uuid:webhook_id>/test": [webhook_test],
    "webhooks/<uuid:webhook_id>/deliveries/<uuid:delivery_id>/redeliver": [redelivery],
    "webhooks/<uuid:webhook_id>/deliveries/redeliver": [redeliveries],
}
"""Every address that takes a POST whose answer is kept, and requests to it."""

EVERY_POST = [make_one for several in POSTS.values() for make_one in several]


def routes_with_post(*, secret: bool) -> set[str]:
    """The addresses that take a POST: those whose answers hold secrets, or the others."""
    views = {
        str(route.pattern): getattr(route.callback, "view_class", None)
        for route in urlpatterns
        if isinstance(route, URLPattern)
    }
    return {
        path
        for path, view in views.items()
        if hasattr(view, "post") and getattr(view, "answers_hold_secrets", False) is secret
    }


def let_leases_run_out() -> None:
    """Let a minute pass without an answer to running requests."""
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE pipeline_idempotencyrecord SET leased_until = leased_until - interval '60 s'"
        )


def let_a_day_pass() -> None:
    """Let 24 hours pass for all kept answers."""
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE pipeline_idempotencyrecord SET created_at = created_at - interval '1 day',"
            " leased_until = leased_until - interval '1 day',"
            " expires_at = expires_at - interval '1 day'"
        )
