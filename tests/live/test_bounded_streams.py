"""Bounds of streams: for each token and address, and by the session that they belong to."""

from __future__ import annotations

import http.client
import time
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest
from django.conf import settings
from django.contrib.sessions.backends.db import SessionStore

from jobs.models import JobMember, JobRole, Membership
from pipeline.live import stream_tokens
from pipeline.live.hub import MOST_PER_TOKEN, SESSION_SECONDS
from tests.support import factories
from tests.support.accounts import job_member_of, member_of
from tests.support.server import serving

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True)]
PER_ADDRESS = 6
LONGEST_SECONDS = 60  # sessions are checked every ten seconds; other tests run beside this one


@pytest.fixture
def site(environment: dict[str, str], tmp_path: Path) -> Iterator[str]:
    """The address of a web server of one process, with little room for streams."""
    bounds = {"STREAMS_PER_ADDRESS": str(PER_ADDRESS), "SECURE_COOKIES": "off"}
    with serving(environment | bounds, tmp_path / "web.log", workers=1) as url:
        yield url.removeprefix("http://")


@pytest.fixture(autouse=True)
def closed_afterwards() -> Iterator[None]:
    """Streams are closed at the end of each test."""
    yield
    for each in _open:
        each.close()
    _open.clear()


_open: list[http.client.HTTPConnection | http.client.HTTPResponse] = []


def opened(site: str, token: str, session_key: str = "") -> http.client.HTTPResponse:
    """The head of a stream, which stays open until the end of the test."""
    client = http.client.HTTPConnection(site, timeout=30)
    cookie = f"{settings.SESSION_COOKIE_NAME}={session_key}"
    client.request("GET", f"/live/{token}", headers={"Cookie": cookie} if session_key else {})
    answer = client.getresponse()
    _open.extend([client, answer])
    return answer


def events_until_the_end(stream: http.client.HTTPResponse) -> set[bytes]:
    """The names of the events that a stream sends before it ends. Fail when it stays open."""
    start, names = time.monotonic(), set()
    while line := stream.readline():
        assert time.monotonic() - start < LONGEST_SECONDS, "the stream outlives its session"
        if line.startswith(b"event: "):
            names.add(line.removeprefix(b"event: ").strip())
    return names


def test_one_token_opens_no_more_streams_than_a_page_needs(site: str) -> None:
    token = stream_tokens.issue([uuid4()])

    streams = [opened(site, token) for _ in range(MOST_PER_TOKEN + 1)]

    assert [stream.status for stream in streams] == [200] * MOST_PER_TOKEN + [503]
    assert streams[-1].headers["Retry-After"]
    assert opened(site, stream_tokens.issue([uuid4()])).status == 200


def test_one_address_does_not_take_all_streams(site: str) -> None:
    job = uuid4()

    streams = [opened(site, stream_tokens.issue([job])) for _ in range(PER_ADDRESS + 2)]

    assert [stream.status for stream in streams] == [200] * PER_ADDRESS + [503] * 2


def test_a_token_is_good_for_its_own_session_and_until_it_ends(site: str) -> None:
    mine, other = SessionStore(), SessionStore()
    for session in (mine, other):
        session["applicant_id"] = str(uuid4())
        session.save()
    token = stream_tokens.issue([uuid4()], mine.session_key)

    assert opened(site, token).status == 204
    assert opened(site, token, other.session_key or "").status == 204
    stream = opened(site, token, mine.session_key or "")
    assert stream.status == 200
    assert stream.readline().startswith(b"retry:")

    mine.delete()

    assert events_until_the_end(stream) <= {b"check"}
    again = opened(site, token, mine.session_key or "")
    assert again.status == 200
    assert events_until_the_end(again) <= {b"check"}


@pytest.mark.parametrize("role", [JobRole.HIRING_MANAGER, JobRole.INTERVIEWER, None])
def test_a_members_stream_ends_when_they_may_no_longer_see_the_line(
    site: str, role: JobRole | None
) -> None:
    company = factories.company()
    job, session = factories.job(company_id=company.id), SessionStore()
    session["anything"] = "1"
    session.save()
    user = job_member_of(company, job, JobRole.HIRING_MANAGER)
    key = session.session_key or ""
    token = stream_tokens.issue([job], key, user.id)
    stream = opened(site, token, key)
    assert stream.status == 200
    other = opened(site, stream_tokens.issue([job], key, member_of(company).id), key)

    if role is None:
        Membership.objects.filter(user=user).delete()
    else:
        JobMember.objects.filter(membership__user=user).update(role=role)

    if role is JobRole.HIRING_MANAGER:
        time.sleep(SESSION_SECONDS + 2)
        assert opened(site, token, key).status == 200
    else:
        assert events_until_the_end(stream) <= {b"check", b"change"}
        assert opened(site, token, key).status == 204
    assert other.status == 200
    assert not other.isclosed()
