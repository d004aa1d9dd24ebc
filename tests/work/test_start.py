"""Starting background work: what a company and its keys may, and how much of it."""

from __future__ import annotations

from uuid import UUID

import pytest
from uuid_utils.compat import uuid7

from jobs import keys
from jobs.models import ApiKey, Company
from pipeline.models import Producer, StoredFile
from pipeline.web import rate_limit
from pipeline.web.rate_limit import Rate, Tally
from pipeline.work.catalog import COMPANY_TYPES
from pipeline.work.start import (
    NAMES,
    Backlogged,
    RateExceeded,
    TaskRequest,
    TaskRequestRefused,
    TypeNotAllowed,
    limit_key,
    start_tasks,
)
from tasks import stats
from tasks.enqueue import Enqueued
from tasks.errors import InvalidPayload, OutOfRange, UnknownType
from tasks.models import Status, Task
from tasks.registry import registered_types
from tests.support import factories

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def count_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """Count the backlog again instead of using the cached number."""
    monkeypatch.setattr(stats, "BACKLOG_CACHE_SECONDS", -1.0)


@pytest.fixture
def key(company: Company) -> ApiKey:
    return keys.create(company_id=company.id, name="CI", scopes=())[0]


SLEEP = TaskRequest("demo.sleep")


def begin(
    company: Company, *orders: TaskRequest, key: ApiKey | None = None, by: str = "member:1"
) -> list[Enqueued]:
    """Start work for a company."""
    producer = f"key:{key.id}" if key else by
    return start_tasks(
        company_id=company.id,
        producer=producer,
        requests=orders or [SLEEP],
        key_id=key.id if key else None,
    )


def test_a_key_starts_what_its_owner_has_allowed_it(company: Company, key: ApiKey) -> None:
    Producer.objects.create(key=key, types=["log.export"])

    with pytest.raises(TypeNotAllowed):
        begin(company, key=key)

    Producer.objects.update(types=None)
    assert begin(company, key=key)[0].is_new
    assert begin(company)[0].is_new


def test_a_key_has_the_rate_that_its_owner_has_set(company: Company, key: ApiKey) -> None:
    Producer.objects.create(key=key, per_minute=5)
    begin(company, *[SLEEP] * 4, key=key)

    with pytest.raises(RateExceeded) as refused:
        begin(company, SLEEP, SLEEP, key=key)

    assert 0 < refused.value.wait <= 60
    assert Task.objects.count() == 4
    assert begin(company, key=key)
    assert len(begin(company, *[SLEEP] * 9)) == 9


def test_without_one_it_is_the_rate_of_the_site(company: Company, settings: object) -> None:
    settings.THROTTLE_RATES = {"tasks": (3, 60)}  # type: ignore[attr-defined]
    told: list[tuple[Rate, Tally]] = []

    start_tasks(
        company_id=company.id,
        producer="member:1",
        requests=[SLEEP] * 2,
        on_count=lambda rate, tally: told.append((rate, tally)),
    )

    with pytest.raises(RateExceeded):
        begin(company, SLEEP, SLEEP)
    assert begin(company, SLEEP, SLEEP, by="member:2")
    [(rate, tally)] = told
    assert (rate, tally.remaining) == (Rate(3, 60), 1)


def test_what_costs_more_than_there_ever_is_is_never_allowed() -> None:
    rate = Rate(5, 60)

    tallies = [rate_limit.count("x", "y", rate, cost) for cost in (6, 5, 1)]

    assert [each.allowed for each in tallies] == [False, True, False]
    assert [each.remaining for each in tallies] == [0, 0, 0]


def test_some_are_counted_as_so_many() -> None:
    rate = Rate(100, 60)

    first, second, third = (rate_limit.count("x", "y", rate, cost) for cost in (40, 50, 20))

    assert (first.remaining, second.remaining) == (60, 10)
    assert (third.allowed, third.wait_seconds) == (False, 6)


def test_one_company_cannot_take_all_the_room(company: Company, settings: object) -> None:
    settings.TASK_BACKLOG_PER_COMPANY = 3  # type: ignore[attr-defined]
    begin(company, SLEEP, SLEEP)

    with pytest.raises(Backlogged) as refused:
        begin(company, SLEEP, SLEEP)

    assert refused.value.own
    assert begin(factories.company(), SLEEP, SLEEP)
    Task.objects.filter(owner_id=company.id).update(status=Status.SUCCEEDED)
    assert begin(company, SLEEP, SLEEP, SLEEP)


def test_nor_is_more_taken_than_all_together_may_have_waiting(
    company: Company, settings: object
) -> None:
    settings.TASK_BACKLOG_LIMIT = 3  # type: ignore[attr-defined]
    begin(factories.company(), SLEEP, SLEEP)

    with pytest.raises(Backlogged) as refused:
        begin(company, SLEEP, SLEEP)

    assert (refused.value.own, refused.value.limit) == (False, 3)
    assert begin(company)  # the third


def test_of_several_orders_the_one_that_is_refused_is_told(company: Company) -> None:
    with pytest.raises(TaskRequestRefused) as refused:
        begin(company, SLEEP, TaskRequest("mail.send"))

    assert (refused.value.number, type(refused.value.reason)) == (1, UnknownType)
    assert not Task.objects.exists()


@pytest.mark.parametrize("key", ["job_id", "import_id"])
@pytest.mark.parametrize("value", [uuid7(), "none", None])
def test_a_payload_names_only_what_is_the_companys(
    company: Company, key: str, value: UUID | str | None
) -> None:
    kind = "applications.import" if key == "import_id" else "log.export"
    payload = {key: None if value is None else str(value), "format": "csv"}

    with pytest.raises(InvalidPayload):
        begin(company, TaskRequest(kind, payload if key == "job_id" else {key: payload[key]}))


def stored(company: Company, purpose: StoredFile.Purpose) -> str:
    """A file of a company's; gives its id."""
    made = StoredFile.objects.create(
        company_id=company.id,
        job_id=factories.job(company_id=company.id),
        purpose=purpose,
        name="people.csv",
        content_type="text/csv",
        expires_at="2999-01-01T00:00:00Z",
    )
    return str(made.id)


def test_of_files_it_may_name_its_own_imports_only(company: Company) -> None:
    own = stored(company, StoredFile.Purpose.IMPORT)
    others = stored(factories.company(), StoredFile.Purpose.IMPORT)
    export = stored(company, StoredFile.Purpose.EXPORT)

    assert begin(company, TaskRequest("applications.import", {"import_id": own}))
    for file in (others, export):
        with pytest.raises(InvalidPayload, match="no such import"):
            begin(company, TaskRequest("applications.import", {"import_id": file}))


def test_its_own_job_it_may_name(company: Company) -> None:
    job = factories.job(company_id=company.id)

    [made] = begin(company, TaskRequest("log.export", {"job_id": str(job), "format": "csv"}))

    assert Task.objects.get(id=made.id).owner_id == company.id


def test_the_limits_of_a_key_are_set_and_taken_back(key: ApiKey) -> None:
    limit_key(key_id=key.id, types=["log.export", "demo.sleep"], per_minute=5)
    first = Producer.objects.get()
    limit_key(key_id=key.id, types=[])
    second = Producer.objects.get()
    limit_key(key_id=key.id)

    assert (first.types, first.per_minute) == (["demo.sleep", "log.export"], 5)
    assert (second.types, second.per_minute) == ([], None)
    assert not Producer.objects.exists()


def test_limits_that_are_none_are_refused(key: ApiKey) -> None:
    with pytest.raises(UnknownType):
        limit_key(key_id=key.id, types=["mail.send"])
    with pytest.raises(OutOfRange):
        limit_key(key_id=key.id, per_minute=0)


def test_every_id_that_a_company_may_name_is_checked() -> None:
    """A type with another kind of id in its payload needs its check in `ownership`."""
    theirs = [each for each in registered_types() if each.key in COMPANY_TYPES]
    fields = [
        name_and_field for each in theirs for name_and_field in each.schema["properties"].items()
    ]

    assert {each.key for each in theirs} == set(COMPANY_TYPES)
    assert {name for name, field in fields if "uuid" in str(field)} == set(NAMES)
