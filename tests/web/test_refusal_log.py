"""Lines about requests that the event loop refuses: who, when and how often, without a flood."""

from __future__ import annotations

import asyncio
from datetime import datetime

import pytest

from pipeline.web import refusal_log
from pipeline.web.refusal_log import MOST_LINES, RefusalLog
from tests.support.logs import Log

SECOND = 0.05


@pytest.fixture(autouse=True)
def _short_second(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(refusal_log, "SECOND", SECOND)


def refuse_all(*refused: tuple[str, int]) -> None:
    """Note these refusals within one second, and let it pass."""

    async def story() -> None:
        log = RefusalLog()
        for address, status in refused:
            log.note(address, status)
        await asyncio.sleep(3 * SECOND)

    asyncio.run(story())


def test_a_client_that_is_refused_often_has_one_line_for_each_status(log: Log) -> None:
    refuse_all(*[("192.0.2.1", 503)] * 400, *[("192.0.2.1", 429)] * 3)

    first, second = log.lines("pipeline.refused")
    assert first["event"] == "requests.refused"
    assert (first["address"], first["status_code"], first["count"]) == ("192.0.2.1", 503, 400)
    assert (second["status_code"], second["count"]) == (429, 3)
    assert datetime.fromisoformat(first["since"])


def test_an_address_is_written_as_in_the_security_log(log: Log) -> None:
    refuse_all(("2001:db8::1", 503), ("2001:db8::2", 503), ("::ffff:192.0.2.1", 503))

    found = {line["address"]: line["count"] for line in log.lines("pipeline.refused")}
    assert found == {"2001:db8::/64": 2, "192.0.2.1": 1}


def test_a_crowd_of_clients_writes_few_lines_and_loses_no_refusal(log: Log) -> None:
    refuse_all(*[(f"10.0.{each // 250}.{each % 250}", 503) for each in range(5_000)])

    lines = log.lines("pipeline.refused")
    assert len(lines) == MOST_LINES + 1
    assert sum(line["count"] for line in lines) == 5_000
    assert lines[-1]["address"] == "others"
