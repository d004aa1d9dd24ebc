"""Malformed bodies: refused, without a crash and without being half understood."""

from __future__ import annotations

import json
import unicodedata

import pytest
from django.test import Client

from jobs.models import Job
from tests.support.callers import Caller, code_of, pointers


@pytest.mark.parametrize(
    "body",
    [
        b"{",
        b"nothing",
        b"\xff\xfe",
        b"\xef\xbb\xbf{}",
        b'{"title": "a", "title": "b", "capacity": 1}',
        b'{"title": "a", "capacity": 1, "policy": {"max_decays": 1, "max_decays": 2}}',
        b'{"title": "a\\u0000b", "capacity": 1}',
        b'{"title": "a\x00b", "capacity": 1}',
        b'{"title": "\\ud800", "capacity": 1}',
        b'{"\\udfff": 1, "title": "a", "capacity": 1}',
        b'{"title": "\xed\xa0\x80", "capacity": 1}',
        b'{"title": "a", "capacity": NaN}',
        b'{"title": "a", "capacity": -Infinity}',
        b'{"title": "a", "capacity": ' + b"9" * 5_000 + b"}",
        b"[" * 100_000,
        b'{"title":' * 50_000,
        b"[" * 900 + b"]" * 900 + b"]",
    ],
)
def test_what_is_not_json_is_refused(acme: Caller, body: bytes) -> None:
    answer = acme.post("/jobs", body)

    assert code_of(answer) == (400, "MALFORMED_REQUEST")
    assert Job.objects.count() == 0


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"{", "not valid JSON"),
        (b"\xff\xfe", "not in UTF-8"),
        (b'{"title": "a", "title": "b"}', "repeats a name"),
        (b'{"title": "a\\u0000b"}', "NUL"),
        (b'{"title": "\\ud800"}', "lone surrogate"),
        (b'{"capacity": NaN}', "NaN"),
        (b'{"capacity": ' + b"9" * 5_000 + b"}", "too many digits"),
        (b"[" * 100_000, "nested too deeply"),
    ],
)
def test_who_sends_such_a_body_is_told_what_is_wrong_with_it(
    acme: Caller, body: bytes, reason: str
) -> None:
    assert reason in acme.post("/jobs", body).json()["detail"]


@pytest.mark.parametrize(
    "body",
    [
        b"[]",
        b"null",
        b"5",
        b'"x"',
        b"true",
        b"[[[[]]]]",
        b'{"title": "a", "capacity": 1e999}',
        b'{"title": ' + b"[" * 500 + b"]" * 500 + b', "capacity": 1}',
        b'{"title": "a", "capacity": ' + b"9" * 4_000 + b"}",
    ],
)
def test_json_of_another_shape_is_refused(acme: Caller, body: bytes) -> None:
    assert code_of(acme.post("/jobs", body)) == (400, "VALIDATION_ERROR")


def test_a_pair_of_surrogates_is_a_character(acme: Caller) -> None:
    answer = acme.post("/jobs", b'{"title": "\\ud83d\\ude80", "capacity": 1}')

    assert answer.json()["title"] == "\N{ROCKET}"


def test_a_name_in_any_script_comes_back_in_its_normal_form(acme: Caller) -> None:
    title = "علی‌رضا 李 \N{FAMILY} e\u0301"

    answer = acme.post("/jobs", {"title": title, "capacity": 1})

    assert answer.json()["title"] == unicodedata.normalize("NFC", title)


def test_a_body_of_more_than_a_megabyte_is_refused_unread(acme: Caller) -> None:
    body = b'{"title": "a", "capacity": 1' + b" " * 1_000_000 + b"}"

    for path in ("/jobs", "/nowhere"):
        assert acme.post(path, body).status_code == (413 if path == "/jobs" else 404)
    assert code_of(acme.post("/jobs", body)) == (413, "PAYLOAD_TOO_LARGE")


def test_a_body_of_almost_a_megabyte_is_read(acme: Caller) -> None:
    body = b'{"title": "a", "capacity": 1' + b" " * 999_000 + b"}"

    assert acme.post("/jobs", body).status_code == 201


def test_a_body_without_a_length_is_refused_rather_than_taken_for_empty(acme: Caller) -> None:
    answer = acme.post("/jobs", b"", transfer_encoding="chunked")

    assert code_of(answer) == (400, "MALFORMED_REQUEST")


@pytest.mark.parametrize(
    "content_type",
    [
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "application/xml",
        "nonsense",
        "application/" + "x" * 1_000,
    ],
)
def test_a_body_of_another_kind_is_refused(acme: Caller, content_type: str) -> None:
    answer = acme.post("/jobs", b'{"title": "a", "capacity": 1}', content_type=content_type)

    assert code_of(answer) == (415, "UNSUPPORTED_MEDIA_TYPE")


@pytest.mark.parametrize("accept", ["text/html", "application/xml", "image/*", "nonsense"])
def test_who_takes_no_json_gets_a_problem(acme: Caller, accept: str) -> None:
    answer = acme.get("/jobs", accept=accept)

    assert code_of(answer) == (406, "NOT_ACCEPTABLE")
    assert answer.headers["Content-Type"] == "application/problem+json"


@pytest.mark.parametrize("accept", ["*/*", "application/*", "text/html, application/json;q=0.1"])
def test_who_takes_json_among_others_gets_it(acme: Caller, accept: str) -> None:
    assert acme.get("/jobs", accept=accept).headers["Content-Type"] == "application/json"


@pytest.mark.parametrize("method", ["PUT", "DELETE", "OPTIONS", "TRACE", "PATCH", "BREW"])
def test_a_method_that_is_not_offered_is_refused(acme: Caller, method: str) -> None:
    answer = Client().generic(method, "/api/v1/jobs")

    assert code_of(answer) == (405, "METHOD_NOT_ALLOWED")
    assert answer.headers["Allow"] == "GET, HEAD, POST"


def test_a_head_has_the_headers_of_the_get_and_no_body(acme: Caller) -> None:
    job = acme.post("/jobs", {"title": "a", "capacity": 1}).json()["id"]

    answer = Client().head(f"/api/v1/jobs/{job}")

    assert answer.status_code == 200
    assert answer.content == b""
    assert answer.headers["ETag"] == Client().get(f"/api/v1/jobs/{job}").headers["ETag"]


def test_of_very_many_unknown_fields_only_some_are_listed(acme: Caller) -> None:
    body = json.dumps({f"{n:05}" + "x" * 300: n for n in range(2_000)}).encode()

    answer = acme.post("/jobs", body)

    assert code_of(answer) == (400, "VALIDATION_ERROR")
    assert len(answer.json()["errors"]) == 50
    assert len(answer.content) < 20_000
    assert all(len(pointer) <= 101 for pointer in pointers(answer))
