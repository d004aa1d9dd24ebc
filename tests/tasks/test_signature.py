"""Task types whose payload is declared by the parameters of their function."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import Annotated, Any, Literal, TypedDict, Unpack
from uuid import UUID, uuid4

import pytest

from tasks import registry
from tasks.context import Context
from tasks.errors import Fatal, InvalidPayload
from tasks.payloads import check_payload
from tasks.registry import TaskSpec, find_registered_type, registered_types, task_type
from tasks.signature import JsonSchema, Positive, Signature


class Rules(TypedDict, total=False):
    window: Annotated[int, JsonSchema(maximum=9)]
    most: int | None


def everything(
    context: Context,
    who: UUID,
    day: date,
    at: datetime,
    how: Literal["a", "b"],
    ids: list[UUID],
    name: Annotated[str, JsonSchema(maxLength=3)] | None = None,
    weight: float = 1,
    *,
    is_on: bool = False,
    **rules: Unpack[Rules],
) -> list[Any]:
    """Return what it was called with."""
    return [context, who, day, at, how, ids, name, weight, is_on, rules]


@pytest.fixture(autouse=True)
def _own_registry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_specs", {})


def register(function: Any, **limits: Any) -> TaskSpec:
    task_type(key="of.test", **limits)(function)
    return find_registered_type("of.test")


def context_of(owner_id: UUID | None = None) -> Context:
    return Context(
        task_id=uuid4(),
        attempt=1,
        report=lambda _told: None,
        is_cancelled=lambda: False,
        owner_id=owner_id,
    )


def test_the_schema_is_that_of_the_parameters() -> None:
    text = {"type": "string"}

    assert Signature(everything).schema == {
        "type": "object",
        "properties": {
            "who": text | {"format": "uuid"},
            "day": text | {"format": "date"},
            "at": text | {"format": "date-time"},
            "how": {"enum": ["a", "b"]},
            "ids": {"type": "array", "items": text | {"format": "uuid"}},
            "name": text | {"maxLength": 3},
            "weight": {"type": "number"},
            "is_on": {"type": "boolean"},
            "window": {"type": "integer", "maximum": 9},
            "most": {"type": ["integer", "null"]},
        },
        "required": ["who", "day", "at", "how", "ids"],
        "additionalProperties": False,
    }


def test_arguments_are_parsed_and_those_that_are_left_out_have_their_defaults() -> None:
    who, context = uuid4(), context_of()
    given = {
        "who": str(who),
        "day": "2026-03-02",
        "at": "2026-03-02T08:00:00+00:00",
        "how": "b",
        "ids": [str(who)],
        "most": None,
        "of an older release": 1,
    }
    at = datetime(2026, 3, 2, 8, tzinfo=UTC)

    found = register(everything).run(given, context)

    day = date(2026, 3, 2)
    assert found == [context, who, day, at, "b", [who], None, 1, False, {"most": None}]


def test_a_payload_is_checked_against_the_parameters() -> None:
    def numbered(seq: Positive) -> None: ...

    spec = register(numbered)

    assert check_payload(spec, {"seq": 1}).json == '{"seq":1}'
    for wrong in ({}, {"seq": 0}, {"seq": "1"}, {"seq": 1, "other": 1}):
        with pytest.raises(InvalidPayload):
            check_payload(spec, wrong)


def test_a_function_may_take_anything() -> None:
    def loose(**payload: Any) -> dict[str, Any]:
        return payload

    spec = register(loose)

    assert check_payload(spec, {"x": [1]}).json == '{"x":[1]}'
    assert spec.run({"x": [1]}, context_of()) == {"x": [1]}


def _bare(job) -> None: ...  # type: ignore[no-untyped-def]
def _table(job: dict[str, Any]) -> None: ...
def _choice(job: int | str) -> None: ...
def _nameless(*jobs: UUID) -> None: ...
def _lost(job: Missing) -> None: ...  # type: ignore[name-defined]  # noqa: F821


@pytest.mark.parametrize(
    ("function", "why"),
    [
        (_bare, "task function _bare: the parameter job has no annotation: use str, int"),
        (_table, "the parameter job has the annotation dict"),
        (_choice, r"the parameter job has the annotation int \| str"),
        (_nameless, "the parameter jobs cannot be given by its name"),
        (_lost, "task function _lost: name 'Missing' is not defined"),
    ],
)
def test_a_parameter_that_cannot_be_an_argument_is_refused(function: Any, why: str) -> None:
    with pytest.raises(TypeError, match=why):
        register(function)

    assert list(registered_types()) == []


def test_a_schema_beside_the_parameters_is_refused() -> None:
    with pytest.raises(TypeError, match="schema"):
        register(_nothing, schema={})


def _nothing() -> None: ...


def test_the_owner_is_part_of_the_type() -> None:
    def of_company(owner_id: UUID) -> UUID:
        return owner_id

    company = uuid4()
    spec = register(of_company)
    site = register_site()

    assert (spec.owner, site.owner) == ("company", "site")
    assert spec.run({}, context_of(company)) == company
    assert site.run({}, context_of()) == "done"
    with pytest.raises(Fatal, match="runs for a company"):
        spec.run({}, context_of())
    with pytest.raises(Fatal, match="runs for the site"):
        site.run({}, context_of(company))
    with pytest.raises(TypeError, match="takes owner_id is a company's"):
        register(of_company, owner="site")


def register_site() -> TaskSpec:
    def of_site() -> str:
        return "done"

    task_type(key="of.site", owner="site")(of_site)
    return find_registered_type("of.site")


def test_a_hook_takes_some_of_the_same_arguments() -> None:
    heard = []

    def act(application: UUID, seq: int) -> None: ...
    def give_up(application: UUID) -> None:
        heard.append(application)

    def misspelt(applicant: UUID) -> None: ...

    spec = register(act, on_fail=give_up)
    who = uuid4()
    assert spec.hooks.on_fail
    spec.hooks.on_fail({"application": str(who), "seq": 1}, context_of())

    assert heard == [who]
    with pytest.raises(TypeError, match=r"misspelt takes \['applicant'\], unlike its task"):
        register(act, on_fail=misspelt)
