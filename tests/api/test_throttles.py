"""Rate limits: counted across all processes, and shown in headers."""

from __future__ import annotations

import re
from collections import Counter
from functools import partial
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.test import Client, RequestFactory
from rest_framework.exceptions import Throttled

from jobs.models import Company
from pipeline.api import throttles
from pipeline.config import env
from pipeline.maintenance import expired_rows
from pipeline.models import Throttle
from pipeline.web import rate_limit
from pipeline.web.rate_limit import Rate
from tests.support import factories
from tests.support.callers import Answer, Caller, code_of, key_of, person
from tests.support.round_trips import round_trips_of
from tests.support.together import together

pytestmark = pytest.mark.django_db(transaction=True)

OFF = dict.fromkeys(env.throttle_rates())


def let_seconds_pass(seconds: float) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE pipeline_throttle SET empty_at = empty_at - %s * interval '1 second'", [seconds]
        )


def test_who_calls_too_often_is_told_when_to_come_again(acme: Caller, settings: Any) -> None:
    settings.THROTTLE_RATES = OFF | {"api": (3, 60)}

    answers = [acme.get("/companies/me") for _ in range(5)]

    assert [answer.status_code for answer in answers] == [200, 200, 200, 429, 429]
    assert code_of(answers[3]) == (429, "THROTTLED")
    assert answers[3].headers["Retry-After"] == "20"
    assert {answer.headers["RateLimit-Policy"] for answer in answers} == {'"api";q=3;w=60'}
    assert [answer.headers["RateLimit"] for answer in answers] == [
        '"api";r=2;t=20',
        '"api";r=1;t=40',
        '"api";r=0;t=60',
        '"api";r=0;t=60',
        '"api";r=0;t=60',
    ]


def test_a_rate_refills_evenly_and_what_was_refused_does_not_count(
    acme: Caller, settings: Any
) -> None:
    settings.THROTTLE_RATES = OFF | {"api": (3, 60)}
    for _ in range(9):
        acme.get("/companies/me")
    let_seconds_pass(20)

    first = [acme.get("/companies/me").status_code for _ in range(2)]
    let_seconds_pass(600)
    later = [acme.get("/companies/me").status_code for _ in range(4)]

    assert first == [200, 429]
    assert later == [200, 200, 200, 429]


def test_each_credential_has_a_rate_of_its_own(acme: Caller, other: Caller, settings: Any) -> None:
    settings.THROTTLE_RATES = OFF | {"api": (1, 60)}
    someone = person()[1]

    answers = [caller.get("/jobs").status_code for caller in (acme, acme, other, someone)]

    assert answers == [200, 429, 200, 200]


def test_without_a_credential_and_with_a_wrong_one_the_address_counts(
    nobody: Caller, settings: Any
) -> None:
    settings.THROTTLE_RATES = OFF | {"anonymous": (3, 60)}
    wrong = Caller("nilk_wrong")

    answers = [
        code_of(caller.get("/companies/me")) for caller in (nobody, wrong, wrong, wrong, nobody)
    ]

    assert answers == [(401, "NOT_AUTHENTICATED")] * 3 + [(429, "THROTTLED")] * 2
    assert Client(REMOTE_ADDR="192.0.2.9").get("/api/v1/jobs").status_code == 200


@pytest.mark.parametrize(
    ("rate", "path"), [("replay", "replay"), ("replay", "summary"), ("verify", "verify")]
)
def test_long_reads_have_a_rate_for_each_credential_whatever_job_they_read(
    acme: Caller, company: Company, settings: Any, rate: str, path: str
) -> None:
    settings.THROTTLE_RATES = OFF | {rate: (2, 60)}
    jobs = [factories.job(company_id=company.id) for _ in range(3)]

    answers = [acme.get(f"/jobs/{job}/{path}").status_code for job in jobs]
    another = key_of(company.id).get(f"/jobs/{jobs[2]}/{path}").status_code

    assert answers == [200, 200, 429]
    assert another == 200


def test_uploads_have_a_rate_shared_by_pages_and_programs(
    acme: Caller, company: Company, recruiter: Client, settings: Any
) -> None:
    settings.THROTTLE_RATES = OFF | {"import": (1, 60)}
    job = factories.job(company_id=company.id)
    csv = b"name,email\nAna,ana@example.org\n"

    def upload() -> Answer:
        return acme.post(f"/jobs/{job}/applications/import", csv, content_type="text/csv")

    def give() -> Any:
        file = SimpleUploadedFile("people.csv", csv)
        return recruiter.post(f"/company/jobs/{job}/import/", {"file": file})

    assert [upload().status_code for _ in range(2)] == [202, 429]
    assert give().status_code == 302
    refused = give()
    assert refused.status_code == 422
    assert "You have uploaded many files. Try again in" in refused.content.decode()


def test_a_rate_that_is_off_counts_nothing(nobody: Caller, settings: Any) -> None:
    settings.THROTTLE_RATES = OFF

    answer = nobody.get("/jobs")

    assert "RateLimit" not in answer.headers
    assert not Throttle.objects.exists()


def test_health_is_never_throttled(nobody: Caller, settings: Any) -> None:
    settings.THROTTLE_RATES = OFF | {"anonymous": (1, 60)}

    answers = Counter(Client().get("/health/live").status_code for _ in range(5))

    assert answers == {200: 5}
    assert not Throttle.objects.exists()


def test_an_answer_that_was_refused_for_its_rate_is_not_kept_under_its_key(
    acme: Caller, settings: Any
) -> None:
    settings.THROTTLE_RATES = OFF | {"api": (1, 60)}
    acme.get("/companies/me")
    job = {"title": "Cook", "capacity": 1}
    refused = acme.post("/jobs", job, idempotency_key="k")
    let_seconds_pass(60)

    answer = acme.post("/jobs", job, idempotency_key="k")

    assert (refused.status_code, answer.status_code) == (429, 201)
    assert "Idempotent-Replayed" not in answer.headers


def test_counting_a_call_takes_one_round_trip() -> None:
    trips = [round_trips_of(lambda: rate_limit.count("api", "me", Rate(2, 60))) for _ in range(4)]

    assert trips == [1, 1, 2, 2]  # a refused call looks up when to come again


def test_counting_waits_for_no_disk() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT relpersistence FROM pg_class WHERE relname = 'pipeline_throttle'")
        assert cursor.fetchone() == ("u",)


def test_of_thirty_at_once_exactly_the_limit_is_let_through() -> None:
    tallies = together([partial(rate_limit.count, "api", "me", Rate(7, 3_600))] * 30)

    assert Counter(tally.allowed for tally in tallies) == {True: 7, False: 23}
    assert sorted(tally.remaining for tally in tallies if tally.allowed) == list(range(7))


def test_named_rates_add_up_in_the_headers_and_are_counted_apart(settings: Any) -> None:
    settings.THROTTLE_RATES = OFF | {"code_try": (2, 60), "code_request": (1, 60)}
    request = RequestFactory().post("/")
    for name in ("code_try", "code_request", "code_try"):
        throttles.check(request, name, "ann@example.org")
    throttles.check(request, "code_try", "bob@example.org")

    with pytest.raises(Throttled) as refused:
        throttles.check(request, "code_try", "ann@example.org")

    assert refused.value.wait == 30
    assert len(request.throttles) == 5  # type: ignore[attr-defined]


def test_rates_that_are_whole_again_are_removed() -> None:
    rate_limit.count("api", "new", Rate(10, 1_000))
    rate_limit.count("api", "old", Rate(10, 1))
    let_seconds_pass(1)

    expired_rows.remove_batch()

    assert Throttle.objects.count() == 1


@pytest.mark.parametrize(
    ("text", "rate"),
    [
        ("5/15min", (5, 900)),
        ("6000/min", (6_000, 60)),
        ("1/d", (1, 86_400)),
        ("off", None),
        ("", (6_000, 60)),
    ],
)
def test_a_rate_can_be_set(
    monkeypatch: pytest.MonkeyPatch, text: str, rate: tuple[int, int] | None
) -> None:
    monkeypatch.setenv("THROTTLE_API", text)

    assert env.throttle_rates()["api"] == rate


@pytest.mark.parametrize("text", ["0/min", "5", "5/week", "-1/s", "5 / min"])
def test_what_is_no_rate_is_refused_at_the_start(
    monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    monkeypatch.setenv("THROTTLE_API", text)

    with pytest.raises(ImproperlyConfigured, match=re.escape("THROTTLE_API")):
        env.throttle_rates()


def test_a_seat_is_found_by_many_without_a_limit_in_the_way(nobody: Caller) -> None:
    job = factories.job()

    assert nobody.get(f"/jobs/{job}").headers["RateLimit-Policy"] == '"anonymous";q=600;w=60'
