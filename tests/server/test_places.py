"""Tokens of those who are refused: what they are good for, and what they are not."""

from __future__ import annotations

import time
from collections.abc import Callable
from io import BytesIO
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

import pytest

from pipeline.server import places
from pipeline.server.places import FIELD, HEADER, LIFE_SECONDS, Attempt
from tests.server.full_site import ADA, API, FORM, JOB, PAGE, parts_of

OTHER_JOB = UUID(int=2)


def attempt(
    content: bytes = ADA, *, token: str = "", job_id: UUID = JOB, credential: bytes = b""
) -> Attempt:
    """An attempt over the API."""
    headers = [(HEADER.lower().encode(), token.encode())] if token else []
    scope = {"path": API, "scheme": "http", "headers": headers}
    return Attempt(scope, job_id, credential, BytesIO(content))


def form(fields: list[tuple[str, str]], *, origin: str = "http://localhost") -> Attempt:
    """An attempt by a page's form."""
    headers = [
        (b"host", b"localhost"),
        (b"origin", origin.encode()),
        (b"content-type", b"application/x-www-form-urlencoded"),
    ]
    scope = {"path": PAGE, "scheme": "http", "headers": headers}
    return Attempt(scope, JOB, b"", BytesIO(as_browser(fields)))


def as_browser(fields: list[tuple[str, str]]) -> bytes:
    """Fields as browsers encode them: an asterisk stays, and a tilde does not."""
    return urlencode(fields, safe="*").replace("~", "%7E").encode()


CAME_AT = 1_700_000_000_123_456_789


def test_the_next_attempt_counts_as_the_first() -> None:
    token = attempt().issue(CAME_AT)

    assert attempt(token=token).place() == CAME_AT
    assert attempt().place() is None


def test_a_token_cannot_be_forged() -> None:
    token = attempt().issue(CAME_AT)

    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    for n, letter in enumerate(token):
        other = letters[letters.index(letter) ^ 1]
        assert attempt(token=f"{token[:n]}{other}{token[n + 1 :]}").place() is None, n
    for bad in (
        "x",
        token[:-1],
        f"{token}A",
        f"{token[:-1]}=",
        "\xff" * len(token),
        "!" * len(token),
    ):
        assert attempt(token=bad).place() is None


def test_a_token_is_signed_with_a_key_of_its_own_and_outlives_a_change_of_the_secret_key(
    settings: Any,
) -> None:
    token, old = attempt().issue(CAME_AT), settings.SECRET_KEY
    settings.SECRET_KEY = "another-secret-key-0123456789-abcdef"

    assert attempt(token=token).place() is None
    settings.SECRET_KEY_FALLBACKS = [old]
    assert attempt(token=token).place() == CAME_AT
    assert places._key(old) != old.encode()


@pytest.mark.parametrize(
    "changes",
    [
        {"job_id": OTHER_JOB},
        {"content": ADA.replace(b"ada@", b"eve@")},
        {"content": ADA.replace(b'"Ada"', b'"Eve"')},
        {"credential": b"of someone else"},
    ],
    ids=["job", "address", "name", "credential"],
)
def test_a_token_is_good_for_the_same_application_alone(changes: dict[str, Any]) -> None:
    token = attempt().issue(CAME_AT)

    assert attempt(**changes, token=token).place() is None


def test_a_token_is_short_lived(monkeypatch: pytest.MonkeyPatch) -> None:
    token, now = attempt().issue(CAME_AT), time.time()

    monkeypatch.setattr(time, "time", lambda: now + LIFE_SECONDS - 2)
    assert attempt(token=token).place() == CAME_AT
    monkeypatch.setattr(time, "time", lambda: now + LIFE_SECONDS)
    assert attempt(token=token).place() is None


def test_a_form_has_its_token_as_its_last_field_and_is_bound_to_all_others() -> None:
    sent = (FIELD, form(FORM).issue(CAME_AT))

    assert form([*FORM, sent]).place() == CAME_AT
    assert form([*FORM, (FIELD, "old"), sent]).place() is None
    assert form([*FORM, sent, sent]).place() is None
    for fields in (FORM[1:], [*FORM, ("email", "eve@b.c")], [*FORM[:-1], ("email", "eve@b.c")]):
        assert form([*fields, sent]).place() is None
    assert form([*FORM, sent, ("email", "eve@b.c")]).place() is None, "Django would take the last"


def test_only_a_form_of_this_site_is_kept() -> None:
    assert form(FORM).kept_fields() == FORM
    assert form([*FORM, (FIELD, "old")]).kept_fields() == FORM
    assert attempt().kept_fields() is None
    for origin in ("https://evil.example", "null", ""):
        assert form(FORM, origin=origin).kept_fields() is None


def in_parts(fields: list[tuple[str, str]], *, file: bytes = b"") -> Attempt:
    """An attempt by a page's form with a field for files; a browser sends it without one, too."""
    body = parts_of(fields, file=file)
    headers = [
        (b"host", b"localhost"),
        (b"origin", b"http://localhost"),
        (b"content-type", b"multipart/form-data; boundary=edge"),
    ]
    scope = {"path": PAGE, "scheme": "http", "headers": headers}
    return Attempt(scope, JOB, b"", BytesIO(body))


def test_a_form_in_parts_is_kept_with_its_uploads_and_so_is_its_place() -> None:
    fields = [*FORM, ("cv_id", "1"), ("cv_id", "2"), ("boat", "A ketch.\r\nMine, *~ours ü")]
    first = in_parts(fields)

    kept, token = first.kept_fields(), first.issue(CAME_AT)

    assert kept == [*fields, ("cv", "")], "as Django reads it"
    assert form([*kept, (FIELD, token)]).place() == CAME_AT
    assert form([*kept[1:], (FIELD, token)]).place() is None


def test_a_form_with_a_file_is_kept_but_for_the_file_which_is_named() -> None:
    file = b"%PDF-1.7" + bytes(3_000_000)
    first = in_parts(FORM, file=file)

    assert first.kept_fields() == FORM
    assert first.chosen_files() == [("cv", "cv.pdf")]


def test_the_place_of_a_form_with_a_file_is_kept_for_the_same_fields() -> None:
    file = b"%PDF-1.7" + bytes(3_000_000)
    token = (FIELD, in_parts(FORM, file=file).issue(CAME_AT))

    assert in_parts([token, *FORM], file=file).place() == CAME_AT
    assert in_parts([token, *FORM[:-1], ("email", "eve@b.c")], file=file).place() is None
    assert in_parts([token, token, *FORM], file=file).place() is None
    assert in_parts([("long", "x" * 70_000), token, *FORM], file=file).place() is None
    assert in_parts(FORM, file=file).place() is None


def test_a_token_takes_no_time_worth_naming() -> None:
    """At most 50 microseconds each, of CPU; usually about ten."""

    def cpu_us(act: Callable[[], object]) -> float:
        best = float("inf")
        for _ in range(5):
            start = time.thread_time()
            for _ in range(200):
                act()
            best = min(best, time.thread_time() - start)
        return best / 200 * 1e6

    made = cpu_us(lambda: attempt().issue(CAME_AT))
    token = attempt().issue(CAME_AT)
    checked = cpu_us(lambda: attempt(token=token).place())
    sent = [*FORM, (FIELD, form(FORM).issue(CAME_AT))]
    headers, content = form([])._scope["headers"], urlencode(sent).encode()
    scope = {"path": PAGE, "scheme": "http", "headers": headers}
    of_form = cpu_us(lambda: Attempt(scope, JOB, b"", BytesIO(content)).place())
    assert Attempt(scope, JOB, b"", BytesIO(content)).place() == CAME_AT
    assert max(made, checked, of_form) < 50
