"""Migration of the notes about decisions to one note for each event."""

from __future__ import annotations

from importlib import import_module

import pytest
from django.db import connection, transaction

from pipeline.domain.states import Outcome
from pipeline.services.leaving import remove
from tests.support import factories
from tests.support.factories import RECRUITER

pytestmark = pytest.mark.django_db(transaction=True)


def test_notes_of_before_are_kept_with_the_event_that_they_are_about() -> None:
    migration = import_module("pipeline.migrations.0015_reinstated")
    application = factories.application(factories.job())
    remove(application_id=application.id, outcome=Outcome.REJECTED, actor=RECRUITER, note="Too far")
    look = "SELECT application_id, seq, text FROM pipeline_decisionnote"

    with connection.cursor() as cursor, transaction.atomic():
        cursor.execute(look)
        before = cursor.fetchall()
        cursor.execute(migration.BACK)
        cursor.execute(migration.NOTES)
        cursor.execute(look)
        after = cursor.fetchall()
        transaction.set_rollback(True)

    assert after == before
    assert [note for *_, note in after] == ["Too far"]
