"""A receipt of someone who asked for no seat yet: others were promoted for that reason."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from pipeline.audit.receipts import issue_receipt
from pipeline.line.event_log import logged_time
from pipeline.models import Application, Event
from pipeline.services.turns import defer
from tests.support import factories
from tests.support.applicants import leave
from tests.support.clock import database_now
from tests.support.receipts import Folder, whole_log

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_turn_that_i_put_off_is_a_named_reason(tmp_path: Path) -> None:
    _seated, me, _second = factories.applications(factories.job(capacity=1), 3)
    until = database_now() + timedelta(days=1)
    defer(application_id=me.id, not_before=until, actor=factories.owner_of(me))
    leave(Application.objects.get(job_id=me.job_id, status="ACTIVE"))
    asked = Event.objects.get(application_id=me.id, event="DEFERRED").seq

    code, said = Folder(tmp_path).verify(issue_receipt(me.id), log=whole_log(me.job_id))

    assert code == 0, said
    assert f"in event {asked} you asked to be offered no seat until {logged_time(until)}" in said
