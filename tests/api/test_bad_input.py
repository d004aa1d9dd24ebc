"""Invalid input to every operation of the document: the refusal names the fault."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any
from uuid import UUID

import pytest
from django.conf import settings
from django.db import connection
from django.test import override_settings

from jobs.models import Company, Role
from pipeline.api.openapi.document import build_document, list_operations
from pipeline.services.leaving import withdraw
from pipeline.webhooks import endpoints
from pipeline.webhooks.endpoints import send_test
from tasks.scheduling import schedules
from tests.support import background_tasks, factories
from tests.support.callers import (
    Answer,
    Caller,
    Callers,
    code_of,
    key_of,
    member_caller,
    pointers,
    signed_in,
)
from tests.support.planned_seats import planned
from tests.support.sandboxes import sandbox

INSIDES = re.compile(
    r"Traceback|File \"|\.py|SELECT|INSERT|UPDATE |psycopg|django|pipeline_|jobs_job|relation|"
    r"exception|secret",
    re.IGNORECASE,
)
SCHEMAS = build_document()["components"]["schemas"]
OPERATIONS = {
    each["operationId"]: (path, how, each) for path, how, each in list_operations(build_document())
}
WITH_BODY = [
    name
    for name, (_, _, each) in OPERATIONS.items()
    if "application/json" in each.get("requestBody", {}).get("content", {})
]
WITH_ID = [name for name, (path, _, _) in OPERATIONS.items() if "{" in path]
OF_EACH_TYPE: dict[str, Any] = {
    "null": None,
    "boolean": True,
    "integer": 7,
    "number": 7.5,
    "string": "\N{SNOWMAN}" * 30_000,
    "array": [[]],
    "object": {"a": {}},
}


class Scene:
    """Things to name in paths, and everyone who may call."""

    def __init__(self) -> None:
        company = factories.company(name="Acme")
        first, offered, *_ = factories.applications(factories.job(company_id=company.id), 3)
        withdraw(application_id=first.id, actor=factories.owner_of(first))
        hook, _ = endpoints.create(company_id=company.id, url="https://example.org/hook")
        self.company = company
        self.ids = {
            "job_id": str(offered.job_id),
            "application_id": str(offered.id),
            "applicant_id": str(offered.applicant_id),
            "key_id": make_key(company),
            "task_id": str(background_tasks.dead_sleep(company.id)),
            "planned_id": str(planned(offered.job_id).id),
            "schedule_id": str(make_schedule(company)),
            "contest_id": "00000000-0000-7000-8000-000000000000",
            "email_id": "00000000-0000-7000-8000-000000000000",
            "file_id": "00000000-0000-7000-8000-000000000000",
            "question_id": "00000000-0000-7000-8000-000000000000",
            "upload_id": "00000000-0000-7000-8000-000000000000",
            "type_key": "demo.sleep",
            "week": "2026-01-05",
            "webhook_id": str(hook.id),
            "delivery_id": str(send_test(company_id=company.id, endpoint_id=hook.id).id),
        }
        self.callers = Callers(
            {
                "apiKey": lambda: key_of(company.id),
                "applicantToken": lambda: signed_in(offered.applicant),
                "session": lambda: member_caller(company, Role.OWNER),
                "": Caller,
            }
        )

    def call(self, name: str, body: Any = None, **ids: str) -> Answer:
        """Call an operation as the first caller that it takes."""
        path, method, operation = OPERATIONS[name]
        caller = self.callers["".join(operation["security"][0])]
        if name in ("advance_clock", "reset_sandbox"):  # which only a sandbox has
            caller = key_of(sandbox(self.company).id)
        where = path.format(**self.ids | ids)
        return (
            caller.get(where) if method == "get" else caller._send(method.upper(), where, body, {})
        )


def make_schedule(company: Company) -> UUID:
    return schedules.create(
        name="a", cron="0 9 * * 1", type_key="demo.sleep", owner_id=company.id
    ).id


def make_key(company: Company) -> str:
    key_of(company.id)
    return str(company.api_keys.latest("created_at").id)


# Tables that no call to this company's objects may change; what callers sign in with is not there.
KEPT = (
    "jobs_jobposting",
    "jobs_retention",
    "pipeline_application",
    "pipeline_event",
    "pipeline_plannedseats",
    "pipeline_webhookendpoint",
    "pipeline_decisionnote",
    "pipeline_storedfile",
    "tasks_schedule",
    "tasks_task",
)


def digests(tables: Iterable[str]) -> dict[str, str]:
    """A digest of all rows of each table."""
    with connection.cursor() as cursor:
        found = {}
        for table in tables:
            cursor.execute(f"SELECT md5(string_agg(t::text, ' ' ORDER BY t::text)) FROM {table} t")
            (found[table],) = cursor.fetchone()
        return found


@pytest.fixture(scope="module")
def scene(kept_database: None) -> Iterator[Scene]:
    """One for all tests: what is refused changes nothing. Nobody counts how many calls that are."""
    with override_settings(THROTTLE_RATES=dict.fromkeys(settings.THROTTLE_RATES)):
        made = Scene()
        before = digests(KEPT)
        yield made
        assert digests(KEPT) == before, "what was refused wrote something"


def shapes_of(name: str) -> list[Any]:
    """The shapes of an operation's body that the caller of `Scene.call` is to send."""
    schema = OPERATIONS[name][2]["requestBody"]["content"]["application/json"]["schema"]
    refs = [each["$ref"] for each in schema.get("anyOf", [schema])]
    return [SCHEMAS[ref.rpartition("/")[2]] for ref in refs][-1:]  # the last is for anyone


def wrong_values(schema: Any) -> Iterator[Any]:
    """A value of each type that the schema does not take, and one out of its bounds."""
    either = schema.get("anyOf") or schema.get("oneOf") or []
    kinds = schema.get("type", [each.get("type", "object") for each in either] or "object")
    taken = {kinds} if isinstance(kinds, str) else set(kinds)
    if "number" in taken:
        taken.add("integer")
    yield from (value for kind, value in OF_EACH_TYPE.items() if kind not in taken)
    if "integer" in taken and "anyOf" not in schema:
        yield from (schema["minimum"] - 1, schema["maximum"] + 1, 10**30, -(10**30), 0.5)
    if "maxLength" in schema:
        yield "x" * (schema["maxLength"] + 1)
    if "enum" in schema:
        yield "NO_SUCH_WORD"


def is_clear(answer: Answer) -> bool:
    """Tell whether a refusal reveals nothing internal and nothing about other companies."""
    return not INSIDES.search(answer.content.decode()) and b"Other" not in answer.content


@pytest.mark.parametrize("name", WITH_BODY)
def test_a_field_of_the_wrong_type_or_size_is_named(scene: Scene, name: str) -> None:
    for shape in shapes_of(name):
        for field, schema in shape.get("properties", {}).items():
            if "$ref" in schema:
                schema = SCHEMAS[schema["$ref"].rpartition("/")[2]]
            for value in wrong_values(schema):
                answer = scene.call(name, {field: value})

                assert code_of(answer) == (400, "VALIDATION_ERROR"), (field, value)
                assert any(each.startswith(f"/{field}") for each in pointers(answer)), value
                assert is_clear(answer)


@pytest.mark.parametrize("name", WITH_BODY)
def test_a_field_that_there_is_not_is_named(scene: Scene, name: str) -> None:
    answer = scene.call(name, {"no~such/field": 1})

    assert code_of(answer) == (400, "VALIDATION_ERROR")
    assert "/no~0such~1field" in pointers(answer)


NOT_JSON = [
    b'{"name": "a\\u0000b"}',
    b'{"name": "caf\xe9"}',
    b'{"name": ' + b"[" * 100_000,
    b'{"name": 1, "name": 2}',
    b"\x00" * 100,
    "{}".encode("utf-16"),
]


@pytest.mark.parametrize("name", WITH_BODY)
def test_a_body_that_is_not_json_is_said_to_be_none(scene: Scene, name: str) -> None:
    for body in NOT_JSON:
        answer = scene.call(name, body)

        assert code_of(answer) == (400, "MALFORMED_REQUEST")
        assert is_clear(answer)


@pytest.mark.parametrize("name", WITH_BODY)
def test_a_body_of_ten_megabytes_is_too_large(scene: Scene, name: str) -> None:
    answer = scene.call(name, b'{"name": "' + b"x" * 10_000_000 + b'"}')

    assert code_of(answer) == (413, "PAYLOAD_TOO_LARGE")


@pytest.mark.parametrize("name", WITH_ID)
def test_an_id_that_is_none_is_the_id_of_nothing(scene: Scene, name: str) -> None:
    for text in ["1", "null", "%00", "'--", "x" * 3_000, "{}", "%F0%9F%9A%80"]:
        answer = scene.call(name, {}, **dict.fromkeys(scene.ids, text))

        assert code_of(answer) == (404, "NOT_FOUND"), text
        assert is_clear(answer)


def parameters() -> list[Any]:
    return [
        pytest.param(name, parameter, id=f"{name} {parameter['name']}")
        for name, (_, _, operation) in OPERATIONS.items()
        for parameter in operation["parameters"]
        if parameter["in"] == "query"
    ]


UNUSUAL = ["", "\x00", "\ud83d", "9" * 400, "-1", "1.0", "2026-01-31T12:00:00", "\N{ROCKET}"]


@pytest.mark.parametrize(("name", "parameter"), parameters())
def test_a_parameter_is_read_or_named(scene: Scene, name: str, parameter: Any) -> None:
    path, _, operation = OPERATIONS[name]
    caller = scene.callers["".join(operation["security"][0])]
    schema = parameter["schema"]
    for text in UNUSUAL:
        query = {parameter["name"]: text.encode("utf-8", "surrogatepass")}

        answer = caller.get(path.format(**scene.ids), query)

        if schema.get("type") == "integer" or schema.keys() & {"enum", "format"}:
            assert answer.status_code in (400, 404), text  # 404: a line that never was
        assert answer.status_code in (200, 400, 404), text
        assert is_clear(answer)
        if answer.status_code == 400:
            assert pointers(answer) != []


def test_a_form_without_a_boundary_is_refused_from_a_browser_too(scene: Scene) -> None:
    form = {"content_type": "multipart/form-data"}

    answer = scene.callers["session"].post("/jobs", b"x", **form)

    assert code_of(answer) == (400, "MALFORMED_REQUEST")
    assert is_clear(answer)
    assert scene.callers["apiKey"].post("/jobs", b"x", **form).status_code == 415


def test_an_idempotency_key_that_is_none_is_named(scene: Scene) -> None:
    for key in ["", " ", "k" * 256, "a\tb"]:
        answer = scene.callers["apiKey"].post("/jobs", {}, idempotency_key=key)

        assert code_of(answer) == (400, "VALIDATION_ERROR")
        assert pointers(answer) == ["/Idempotency-Key"]
