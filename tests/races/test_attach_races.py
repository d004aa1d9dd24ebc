"""Attaching ids and texts to an application while its person is being erased: none is left."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from functools import partial
from threading import Event
from typing import Any

import pytest
from django.db.models import QuerySet
from django.utils import timezone

from pipeline.domain.errors import PersonErased
from pipeline.models import Application, ApplicationReference
from pipeline.privacy import erase as erasing
from pipeline.privacy import retention
from pipeline.services.joining import change_application_reference
from pipeline.services.leaving import withdraw
from tests.support import factories
from tests.support.together import (
    PATIENCE_SECONDS,
    started,
    wait_until_somebody_waits_for_a_lock,
)
from tests.support.waiting import eventually

pytestmark = pytest.mark.django_db(transaction=True)

NAME = "Zelda Quillfeather"


@pytest.fixture
def _own_mailbox(settings: Any, tmp_path: Any) -> None:
    settings.DEV_MAIL_FOLDER = tmp_path


def ended_application() -> Application:
    """Return an application that ended longer ago than it may be kept."""
    row = factories.application(factories.job(), factories.applicant(name=NAME))
    withdraw(application_id=row.id, actor=factories.owner_of(row))
    ended = timezone.now() - timedelta(days=800)
    Application.objects.filter(id=row.id).update(ended_at=ended)
    return row


def self_erasure(row: Application) -> tuple[Any, str, Callable[[], Any]]:
    """Return where an erasure by the person is half done, and the erasure."""
    return (
        erasing,
        "forget_annotations",
        partial(erasing.erase_person, applicant_id=row.applicant_id),
    )


def end_of_retention(_: Application) -> tuple[Any, str, Callable[[], Any]]:
    """Return where the end of a retention is half done, and that end."""
    return retention, "forget_annotations", retention.erase_batch


@pytest.mark.usefixtures("_own_mailbox")
@pytest.mark.parametrize("held", [True, False], ids=["as it is", "control"])
@pytest.mark.parametrize("erasure", [self_erasure, end_of_retention])
def test_nothing_is_attached_to_who_is_just_being_erased(
    monkeypatch: pytest.MonkeyPatch, erasure: Callable[[Application], Any], held: bool
) -> None:
    if not held:
        monkeypatch.setattr(QuerySet, "select_for_update", lambda found, **_: found)
    row = ended_application()
    company_id = factories.row_of(row.job_id).company_id
    module, name, erase = erasure(row)
    forget, half_done, go_on = getattr(module, name), Event(), Event()

    def slowly(ids: Any) -> None:
        half_done.set()
        assert go_on.wait(PATIENCE_SECONDS)
        forget(ids)

    def attach() -> None:
        with suppress(PersonErased):
            change_application_reference(
                company_id=company_id, application_id=row.id, changes={"external_id": NAME}
            )

    monkeypatch.setattr(module, name, slowly)
    with started(erase):
        assert half_done.wait(PATIENCE_SECONDS)
        with started(attach) as attached:
            if held:
                wait_until_somebody_waits_for_a_lock()
            else:
                eventually(lambda: attached)
            go_on.set()

    assert ApplicationReference.objects.exists() is not held
