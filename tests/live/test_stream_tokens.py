"""A token says what a stream is about, and nobody else can make one."""

from __future__ import annotations

from uuid import uuid4

import pytest
from django.core.signing import TimestampSigner

from pipeline.live import stream_tokens


def test_a_token_names_its_jobs() -> None:
    jobs = [uuid4(), uuid4()]

    token = stream_tokens.read(stream_tokens.issue(jobs))

    assert token is not None
    assert token.jobs == set(jobs)


def test_of_very_many_jobs_only_fifty_are_followed() -> None:
    jobs = [uuid4() for _ in range(60)]

    text = stream_tokens.issue(jobs)

    token = stream_tokens.read(text)
    assert token is not None
    assert token.jobs == set(jobs[:50])
    assert len(text) < 1_500


@pytest.mark.parametrize("text", ["", ":", "a:b:c", "é", "x" * 5_000, stream_tokens.__doc__ or ""])
def test_what_we_did_not_sign_is_no_token(text: str) -> None:
    assert stream_tokens.read(text) is None


def test_a_token_that_was_changed_or_is_of_another_kind_is_none() -> None:
    text = stream_tokens.issue([uuid4()])

    assert stream_tokens.read(text[:-1] + ("a" if text[-1] != "a" else "b")) is None
    assert stream_tokens.read(TimestampSigner(salt="other").sign(text.split(":")[0])) is None


def test_a_token_without_jobs_is_none() -> None:
    assert stream_tokens.read(stream_tokens.issue([])) is None


def test_a_token_ends_after_a_day(monkeypatch: pytest.MonkeyPatch) -> None:
    import django.core.signing as signing

    text = stream_tokens.issue([uuid4()])
    later = signing.time.time() + 24 * 3_600 + 5
    monkeypatch.setattr(signing.time, "time", lambda: later)

    assert stream_tokens.read(text) is None
