"""Places of those who are refused, over HTTP: who gets a token, and who keeps their form."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from html import unescape
from urllib.parse import urlencode

import pytest

from pipeline.server import places
from pipeline.server.places import FIELD
from pipeline.server.requests import RequestQueue
from pipeline.server.wsgi import WSGIAdapter
from tests.server.full_site import (
    ADA,
    API,
    FORM,
    JOB,
    PAGE,
    Answer,
    Busy,
    Full,
    parts_of,
    person,
    send,
)
from tests.server.in_process import adapter_of, serving_here
from tests.support.waiting import eventually

pytestmark = pytest.mark.usefixtures("handover")


@pytest.fixture
def busy() -> Busy:
    return Busy()


@pytest.fixture
def adapter(busy: Busy) -> WSGIAdapter:
    made = adapter_of(busy)
    made._queue = RequestQueue(2, most_waiting=1)
    return made


@pytest.fixture
def port(adapter: WSGIAdapter) -> Iterator[int]:
    with serving_here(adapter) as number:
        yield number


@pytest.fixture
def full(port: int, adapter: WSGIAdapter, busy: Busy) -> Iterator[Full]:
    made = Full(port, adapter, busy)
    made.fill()
    yield made
    made.go_on()


def test_a_refusal_of_the_full_site_has_a_token_that_is_taken_before_newcomers(full: Full) -> None:
    status, headers, text = send(full.port, API, ADA)
    assert (status, json.loads(text)["code"]) == (503, "UNAVAILABLE")
    assert 1 <= int(headers["retry-after"]) <= 30
    token = headers["place-token"]
    full.let_newcomer_wait()

    full.send("ada", API, ADA, Place_Token=token)
    eventually(lambda: full.answers.get("newcomer", (0,))[0] == 503)
    answers = full.go_on()

    assert answers["ada"][0] == 201
    assert answers["newcomer"][1]["place-token"]
    assert full.busy.admitted == ["working", "waiting", "ada"]
    assert full.busy.places == [False, False, True]


def test_without_it_the_newcomer_would_be_taken(full: Full) -> None:
    send(full.port, API, ADA)
    full.let_newcomer_wait()

    assert send(full.port, API, ADA)[0] == 503
    assert full.go_on()["newcomer"][0] == 201


def test_one_token_holds_one_place_however_often_it_is_sent(
    full: Full, adapter: WSGIAdapter
) -> None:
    token = send(full.port, API, ADA)[1]["place-token"]
    full.let_newcomer_wait()
    full.send("ada", API, ADA, Place_Token=token)
    eventually(lambda: full.answers.get("newcomer", (0,))[0] == 503)
    adapter._queue.most_waiting = 2
    full.send("second", API, person("second"))
    eventually(lambda: full.queue._waiting_count == 2)

    copies = [send(full.port, API, ADA, Place_Token=token)[0] for _ in range(3)]

    assert copies == [503] * 3
    assert full.go_on()["second"][0] == 201
    assert adapter._retrying == set()


def test_whoever_sends_too_much_gets_no_token(full: Full, adapter: WSGIAdapter) -> None:
    adapter._queue.per_client = 2

    status, headers, _ = send(full.port, API, ADA)

    assert (status, "place-token" in headers) == (429, False)


@pytest.mark.parametrize("path", ["/api/v1/jobs", f"{API}/import", f"/jobs/{JOB}/"])
def test_nor_does_a_request_that_joins_no_line(full: Full, path: str) -> None:
    status, headers, _ = send(full.port, path, ADA)

    assert (status, "place-token" in headers) == (503, False)


def test_nor_does_a_body_that_is_too_long_to_keep(full: Full) -> None:
    status, headers, _ = send(full.port, API, ADA + b" " * places.MOST_BYTES)

    assert (status, "place-token" in headers) == (503, False)


LARGE = b"%PDF-1.7" + bytes(2_000_000)
OF_PAGE = {
    "Content_Type": "multipart/form-data; boundary=edge",
    "Cookie": "sessionid=1",
    "Host": "localhost",
    "Origin": "http://localhost",
}


def token_in(page: str) -> tuple[str, str]:
    [value] = re.findall(f'name="{FIELD}" value="([^"]+)"', page)
    return FIELD, unescape(value)


def test_a_form_with_a_large_file_is_kept_at_a_full_site_and_so_is_its_place(full: Full) -> None:
    status, headers, page = send(full.port, PAGE, parts_of(FORM, file=LARGE), **OF_PAGE)

    assert (status, headers["content-type"]) == (503, "text/html; charset=utf-8")
    assert 'value="Ada &quot;A&quot; &lt;&amp;&gt;"' in page
    assert '<input type="file" name="cv" required>' in page
    assert "Choose again: cv.pdf" in page
    assert 'enctype="multipart/form-data"' in page
    assert "data-send-after" not in page
    full.let_newcomer_wait()
    full.send("ada", PAGE, parts_of([token_in(page), *FORM], file=LARGE), **OF_PAGE)
    eventually(lambda: full.answers.get("newcomer", (0,))[0] == 503)
    assert full.go_on()["ada"][0] == 201
    assert full.busy.places == [False, False, True]


def test_a_form_with_a_large_file_is_kept_if_the_job_is_too_busy(port: int, busy: Busy) -> None:
    busy.turns.release(100)
    busy.status = "503 Service Unavailable"

    status, _, page = send(port, PAGE, parts_of(FORM, file=LARGE), **OF_PAGE)
    busy.status = "201 Created"
    send(port, PAGE, parts_of([token_in(page), *FORM], file=LARGE), **OF_PAGE)

    assert status == 503
    assert busy.places == [False, True]


def test_the_name_of_a_file_cannot_break_the_page(full: Full) -> None:
    body = parts_of(FORM, file=LARGE, name="<b>'&.pdf")

    _, _, page = send(full.port, PAGE, body, **OF_PAGE)

    assert "&lt;b&gt;&#x27;&amp;.pdf" in page


def test_a_refusal_by_a_busy_job_or_database_has_a_token_too(port: int, busy: Busy) -> None:
    busy.turns.release(100)
    busy.status = "503 Service Unavailable"
    status, headers, _ = send(port, API, ADA)
    assert (status, headers["retry-after"]) == (503, "1")

    busy.status = "201 Created"
    send(port, API, ADA, Place_Token=headers["place-token"])

    assert busy.places == [False, True]


def test_other_answers_have_none(port: int, busy: Busy) -> None:
    busy.turns.release(100)
    for status in ("201 Created", "409 Conflict", "429 Too Many Requests", "500 Error"):
        busy.status = status
        assert "place-token" not in send(port, API, ADA)[1]


def waiting_page(answer: Answer) -> tuple[str, list[tuple[str, str]]]:
    """The text of a waiting page, and the fields of its form."""
    assert (answer[0], answer[1]["content-type"]) == (503, "text/html; charset=utf-8")
    fields = re.findall(r'<input type="hidden" name="([^"]*)" value="([^"]*)">', answer[2])
    return answer[2], [(unescape(name), unescape(value)) for name, value in fields]


def of_page(port: int) -> dict[str, str]:
    return {
        "Origin": f"http://127.0.0.1:{port}",
        "Content_Type": "application/x-www-form-urlencoded",
    }


def submit(port: int, fields: list[tuple[str, str]], **headers: str) -> Answer:
    return send(port, PAGE, urlencode(fields).encode(), **(of_page(port) | headers))


def test_a_form_is_kept_on_a_waiting_page_that_sends_it_again(full: Full) -> None:
    answer = submit(full.port, FORM)
    text, fields = waiting_page(answer)

    assert fields[:-1] == FORM
    assert fields[-1][0] == FIELD
    assert "About 1 person is ahead of you." in text
    assert f'data-send-after="{answer[1]["retry-after"]}"' in text
    assert "default-src 'self'" in answer[1]["content-security-policy"]
    assert answer[1]["cache-control"] == "no-store"
    full.let_newcomer_wait()
    full.send("again", PAGE, urlencode(fields).encode(), **of_page(full.port))
    eventually(lambda: full.answers.get("newcomer", (0,))[0] == 503)
    assert full.go_on()["again"][0] == 201
    assert full.busy.places == [False, False, True]


def test_a_form_of_another_site_is_not_kept_and_sent_in_our_name(full: Full) -> None:
    answer = submit(full.port, FORM, Origin="https://evil.example")

    assert waiting_page(answer)[1] == []
    assert "evil" not in answer[2]
    assert "<form" not in answer[2]


def test_a_form_that_a_busy_job_refused_is_kept_too(port: int, busy: Busy) -> None:
    busy.turns.release(100)
    busy.status = "503 Service Unavailable"

    text, fields = waiting_page(submit(port, FORM))

    assert fields[:-1] == FORM
    assert "Nobody is ahead of you any more." in text
