"""Messages through a real task worker: a killed one loses none."""

from __future__ import annotations

import signal
import time
from typing import Any

import pytest
from django.db.models.functions import Now

from jobs.models import Company
from pipeline.chat import queue
from pipeline.models import ChatChannel
from tests.support.chat import HOST, ChatServer, channel, states
from tests.support.receiver import reply
from tests.support.task_workers import StartWorker, alive, children_of
from tests.support.waiting import eventually

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]
WORKER: dict[str, Any] = {"DJANGO_SETTINGS_MODULE": "pipeline.settings", "CHAT_HOSTS": HOST}


def test_a_killed_worker_loses_no_message(
    company: Company, chat: ChatServer, start_worker: StartWorker
) -> None:
    rows = [channel(company.id, f"{chat.slack}{n}") for n in range(4)]
    chat.receiver.answer = lambda handler: (time.sleep(0.5), reply(handler, 200, b"ok"))[1]
    for row in rows:
        for _ in range(3):
            queue.post_test(company_id=company.id, channel_id=row.id)
    first = start_worker("--lease", "2", **WORKER)
    eventually(lambda: len(chat.receiver.received) >= 3)

    children = children_of(first)
    first.signal(signal.SIGKILL)
    eventually(lambda: not any(alive(pid) for pid in children))
    left = states().get("PENDING", 0)
    ChatChannel.objects.update(free_at=Now())  # the half minute of those under way is over
    start_worker("--lease", "2", **WORKER)
    eventually(lambda: states() == {"SENT": 12})

    assert left > 0
    assert 12 <= len(chat.receiver.received) <= 16  # at most those under way came twice
