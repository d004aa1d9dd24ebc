"""Examples made from schemas, so that each fits its schema."""

from __future__ import annotations

from types import NoneType
from typing import Any

from django.http import HttpRequest

from pipeline.api import problems
from pipeline.api.openapi.schemas import Schema
from pipeline.api.problem_type import ProblemType
from pipeline.domain.place import PUBLISHED

# Values of fields in examples, by type and name or by name alone.
_PAY = (("minimum", "3500"), ("maximum", "4200"), ("currency", "EUR"))
_KNOWN: dict[str, Any] = {
    "ApiKey.hint": "nilk_Zp3",
    "ApiKey.name": "Careers page",
    "ApiKeyIn.name": "Careers page",
    "Company.name": "Acme",
    "CompanyRef.name": "Acme",
    "DecisionIn.note": "The team enjoyed the talk.",
    "DecisionIn.outcome": "HIRED",
    "DecisionIn.reason": None,
    "DecisionIn.text": None,
    "ActorKind.kind": "SYSTEM",
    "ActorRef.id": None,
    "Event.application": None,
    "Event.cause_seq": 6,
    "Event.event": "PROMOTED",
    "Event.seq": 7,
    "EventName.event": "PROMOTED",
    "Event.data": {"ticket": 4, "tie": 5, "deadline": None},
    "NewApiKey.hint": "nilk_Zp3",
    "NewApiKey.key": "nilk_Zp3…",
    "NewApiKey.name": "Careers page",
    "RequestRecord.method": "GET",
    "RequestRecord.path": "/api/v1/jobs",
    "RequestRecord.status": 200,
    "QuestionIn.must": None,
    "PortalToken.token": "nilp_4Xw…",
    "TaskActor.kind": "member",
    "TaskActor.name": "owner@acme.example",
    "TaskError.kind": "RuntimeError",
    "FullTaskError.kind": "RuntimeError",
    "TaskType.key": "demo.sleep",
    "TaskType.title": "Sleep",
    "Token.token": "nila_7Qd…",
    "acknowledgment_window_seconds": 86_400,
    "applicant_id": "019a3c5e-7f00-7000-8000-000000000002",
    "capacity": 3,
    "code": "12345678",
    "cooldown_seconds": 3_600,
    "max_passes": 1,
    "quiet_from": "22:00",
    "quiet_to": "08:00",
    "quiet_weekends": False,
    "quiet_time_zone": "Europe/Berlin",
    "delay_seconds": 0,
    "description": "Cooks for a crew of twelve.",
    "detail": "If the address exists, an email is on its way.",
    "differences": [],
    "email": "mia@example.com",
    "hash": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "prev_hash": "0" * 64,
    "chain_head": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "leaf": "2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae",
    "location": "Rotterdam",
    "country": "NL",
    "department": "Galley",
    "language": "en",
    **{f"{pay}.{bound}": text for pay in ("Pay", "PayIn") for bound, text in _PAY},
    "log_digest": "fcde2b2edba56bf408601fb721fe9b5c338d10ee429ea04fae5511b68fbf8fb9",
    "name": "Mia Chen",
    "reason": "The position was filled.",
    "title": "Ship's cook",
    "type": "demo.sleep",
    "cron": "0 9 * * 1",
    "zone": "Europe/Amsterdam",
    "idempotency_key": "nightly-2026-01-31",
    "payload": {"seconds": 1},
    "producer": "key:019a3c5e-7f00-7000-8000-000000000003",
    "message": "told to fail",
    "traceback": "Traceback (most recent call last): …",
    "data": None,
    "finished_at": None,
    "last_error": None,
    "paused_by": None,
    "problem": None,
    "progress": None,
    "rate": None,
    "result": None,
    "run_after": "2026-01-31T12:00:00.000000Z",
    "acknowledge_by": None,
    "acknowledged_at": None,
    "closed_at": None,
    "eligible_at": None,
    **{name: field.blank for name, field in PUBLISHED.items()},
    "ended_at": None,
    "first_bad_seq": None,
    "next_cursor": None,
    "outcome": None,
    "decision": None,
    "from_status": "WAITLIST",
    "to_status": "PENDING_ACKNOWLEDGMENT",
    "promoted_at": None,
    "reason_code": None,
    "revoked_at": None,
}

_FORMATS: dict[str, Any] = {
    "uuid": "019a3c5e-7f00-7000-8000-000000000001",
    "date": "2026-01-26",
    "date-time": "2026-01-31T12:00:00.000000Z",
    "email": "mia@example.com",
    "uri": "https://example.com/hook",
    "uri-reference": "/api/v1/jobs",
}
_VALUES: dict[str, Any] = {
    "string": "text",
    "number": 0.5,
    "boolean": True,
    "object": {},
    "null": None,
}
_TYPES: dict[str, type] = {
    "string": str,
    "integer": int,
    "number": float,
    "boolean": bool,
    "array": list,
    "object": dict,
    "null": NoneType,
}


def sample_problem(kind: ProblemType) -> dict[str, Any]:
    """Return an example of a problem type."""
    return problems.build_body(kind, HttpRequest()) | {
        "request_id": "4f0c1c5f0d6b4a6c9a8b6a1c2d3e4f50"
    }


def sample_value(schema: Schema, schemas: Schema, owner: str = "", name: str = "") -> Any:
    """Return a value that fits the schema of the field `name` of the type `owner`."""
    if "$ref" in schema:
        named = str(schema["$ref"]).rpartition("/")[2]
        return sample_value(schemas[named], schemas, named, name)
    options = schema.get("anyOf") or schema.get("oneOf") or [schema]
    types = [each.get("type", "object") for each in options]
    kinds = [kind for each in types for kind in (each if isinstance(each, list) else [each])]
    of_type = f"{owner}.{name}"
    entry = of_type if of_type in _KNOWN else name
    known = _KNOWN.get(entry)
    if entry in _KNOWN and known is None and "null" in kinds:
        return None
    if options != [schema]:
        return sample_value(options[0], schemas, owner, name)
    if isinstance(known, _TYPES[kinds[0]]) and known in schema.get("enum", [known]):
        return known
    return _generated_value(schema, kinds[0], schemas, owner)


def _generated_value(schema: Schema, kind: str, schemas: Schema, owner: str) -> Any:
    if "enum" in schema:
        return schema["enum"][0]
    if "properties" in schema:
        fields = schema["properties"].items()
        return {name: sample_value(inner, schemas, owner, name) for name, inner in fields}
    if kind == "array":
        return [sample_value(schema["items"], schemas)]
    if kind == "integer":
        return max(1, schema.get("minimum", 1))
    return _FORMATS.get(schema.get("format", ""), _VALUES[kind])
