"""One task's page: facts, history, errors that tell nothing of our machines, and its buttons."""

from __future__ import annotations

from uuid import UUID

import pytest
from django.conf import settings
from django.test import Client
from django.utils import timezone

from jobs.models import Company
from pipeline.pages.work.descriptions import describe_note, error_line
from tasks.models import EventKind, Status, Task, TaskEvent
from tests.support import factories
from tests.support.background_tasks import ERROR, dead, ended, move, started, status_of
from tests.support.pages import follow, page_of


def at(task: UUID, what: str = "") -> str:
    return f"/company/work/{task}/{what}"


def test_it_tells_what_was_given_what_came_and_what_happened(
    recruiter: Client, company: Company
) -> None:
    task = ended(company, {"slept_seconds": 5.0})

    page = page_of(recruiter, at(task))

    assert "slept 5 s" in page
    assert "&quot;seconds&quot;: 5" in page
    assert "Created" in page
    assert 'data-poll-seconds="30"' in page


def test_every_kind_of_event_is_told(recruiter: Client, company: Company) -> None:
    task = started(company)
    data = {"name": "half", "data": {"n": 1}, "delay_seconds": 2.5, "edited": True, "done": 1}
    for kind in EventKind.values:
        TaskEvent.objects.create(task_id=task, kind=kind, attempt=1, actor="worker-7", data=data)

    page = page_of(recruiter, at(task))

    assert "After 2.5 s." in page
    assert "with an edited payload" in page
    assert "The task reported that it is no longer needed." in page
    assert "half" in page
    assert "worker-7" not in page


def test_of_progress_only_the_last_before_something_else_is_told(
    recruiter: Client, company: Company
) -> None:
    task = started(company)
    for kind, done in (("progress", 1), ("progress", 2), ("failed", 0), ("progress", 3)):
        data = {"done": done, "total": 9}
        TaskEvent.objects.create(task_id=task, kind=kind, attempt=1, data=data)

    page = page_of(recruiter, at(task))

    assert "1 of 9" not in page
    assert page.index("2 of 9") < page.index("Attempt failed") < page.index("3 of 9")


def test_what_stopped_by_itself_when_cancelled_is_not_said_to_have_been_done(
    recruiter: Client, company: Company
) -> None:
    task = started(company)
    TaskEvent.objects.create(task_id=task, kind="cancelled", attempt=1, data={"finished": True})

    page = page_of(recruiter, at(task))

    assert "The task stopped on its own." in page


def test_what_is_said_after_cancelling_stays_true_when_the_task_has_stopped(
    recruiter: Client, company: Company
) -> None:
    task = started(company)
    move(task, status=Status.RUNNING)
    recruiter.post(at(task, "cancel/"))
    assert status_of(task) == Status.CANCELLING
    move(task, status=Status.CANCELLED, finished_at=timezone.now())

    page = page_of(recruiter, at(task))

    assert "You asked this task to stop." in page
    assert "topping" not in page


def test_a_long_history_is_paged(recruiter: Client, company: Company) -> None:
    task = started(company)
    for number in range(100):
        TaskEvent.objects.create(task_id=task, kind="started", attempt=number)

    first = recruiter.get(at(task))

    assert "Attempt 98." in first.content.decode()
    assert "Attempt 99." not in first.content.decode()
    assert "Attempt 99." in page_of(
        recruiter, at(task) + first.context["next_url"].rpartition("/")[2]
    )


def test_errors_tell_lines_of_code_but_not_where_it_lies(
    recruiter: Client, company: Company
) -> None:
    trace = (
        f'  File "{settings.BASE_DIR}/pipeline/files/exports.py", line 3, in run\n'
        '  File "/opt/venv/lib/python3.11/site-packages/psycopg/cursor.py", line 97, in execute\n'
        '  File "/usr/lib/python3.11/json/decoder.py", line 5, in decode\n'
        "FileNotFoundError: '/var/lib/secret/place.csv'\n"
    )
    task = dead(company, errors=[ERROR | {"traceback": trace, "message": "in /etc/app/key.pem"}])

    page = page_of(recruiter, at(task))

    assert "pipeline/files/exports.py" in page
    assert "psycopg/cursor.py" in page
    assert "json/decoder.py" in page
    assert "…/place.csv" in page
    for place in (str(settings.BASE_DIR), "/opt/venv", "/usr/lib", "/var/lib", "/etc/app"):
        assert place not in page


def test_secrets_of_a_payload_are_hidden(recruiter: Client, company: Company) -> None:
    task = dead(company, payload={"seconds": 1, "label": "hush hush"})
    kind = Task.objects.select_related("type").get(id=task).type
    kind.schema["properties"]["label"]["secret"] = True
    kind.save()

    assert "hush hush" not in page_of(recruiter, at(task))
    assert "hush hush" not in page_of(recruiter, at(task, "edit/"))
    shown = recruiter.get(at(task, "edit/")).context["form"].initial["payload"]
    answer = recruiter.post(at(task, "edit/"), {"payload": shown})

    assert answer.status_code == 422
    assert "Enter the secret again" in answer.content.decode()


def test_what_waits_is_cancelled(recruiter: Client, company: Company) -> None:
    task = started(company)
    assert "If you cancel it, it never runs." in page_of(recruiter, at(task))

    page = follow(recruiter, at(task, "cancel/"), {})

    assert "Task cancelled." in page
    assert status_of(task) == "CANCELLED"


def test_what_has_ended_cannot_be_cancelled_and_says_so(
    recruiter: Client, company: Company
) -> None:
    task = ended(company, None)

    assert "This is no longer possible: it is done." in follow(recruiter, at(task, "cancel/"), {})


def test_a_dead_letter_is_replayed_once(recruiter: Client, company: Company) -> None:
    task = dead(company)

    assert "Task queued to run again, with all its attempts." in follow(
        recruiter, at(task, "replay/"), {}
    )
    assert "This is no longer possible" in follow(recruiter, at(task, "replay/"), {})
    replayed = TaskEvent.objects.get(task_id=task, kind="replayed")
    assert replayed.actor.startswith("member:")


def test_a_sensitive_one_asks_first(recruiter: Client, company: Company) -> None:
    task = dead(company)
    kind = Task.objects.select_related("type").get(id=task).type
    kind.sensitive = True
    kind.save()

    assert "The effects of earlier attempts may be repeated." in page_of(recruiter, at(task))
    assert "Confirm that you want to run this task again." in follow(
        recruiter, at(task, "replay/"), {}
    )
    edited = recruiter.post(at(task, "edit/"), {"payload": "{}"})
    assert edited.status_code == 422
    assert status_of(task) == "DEAD"
    follow(recruiter, at(task, "replay/"), {"confirmed": "1"})
    assert status_of(task) == "PENDING"


def test_a_payload_that_does_not_fit_is_refused_at_its_field_and_kept_as_typed(
    recruiter: Client, company: Company
) -> None:
    task = dead(company)
    typed = '{"seconds":   "soon",\n"then": "fail"}'

    page = recruiter.post(at(task, "edit/"), {"payload": typed})

    assert page.status_code == 422
    assert "seconds: " in page.context["form"].errors["payload"][0]
    assert page.context["form"]["payload"].value() == typed
    assert 'aria-describedby="id_payload_help id_payload_error"' in page.content.decode()
    twice = recruiter.post(at(task, "edit/"), {"payload": '{"seconds": -1, "more": 1}'})
    assert "; seconds: " in twice.context["form"].errors["payload"][0]
    assert "Payload: " not in twice.context["form"].errors["payload"][0]
    broken = recruiter.post(at(task, "edit/"), {"payload": '{"seconds": }'})
    assert "line 1, column 13" in broken.content.decode()
    assert status_of(task) == "DEAD"


def test_a_payload_cannot_name_another_companys_job(
    recruiter: Client, company: Company, job: UUID
) -> None:
    task = dead(company, "log.export", {"job_id": str(job), "format": "csv"})
    theirs = factories.job()

    answer = recruiter.post(
        at(task, "edit/"), {"payload": f'{{"job_id": "{theirs}", "format": "csv"}}'}
    )

    assert answer.status_code == 422
    assert "There is no such job." in answer.content.decode()
    assert status_of(task) == "DEAD"


def test_an_edited_payload_runs_again(recruiter: Client, company: Company) -> None:
    task = dead(company)

    page = follow(recruiter, at(task, "edit/"), {"payload": '{"seconds": 2}'})

    assert "Sleep 2 s" in page
    assert "with an edited payload" in page
    assert status_of(task) == "PENDING"


def test_discarding_asks_once(recruiter: Client, company: Company) -> None:
    task = dead(company)
    assert "The task will never run again" in page_of(recruiter, at(task, "discard/"))

    page = follow(recruiter, at(task, "discard/"), {})

    assert "Task discarded." in page
    assert status_of(task) == "DISCARDED"
    assert "nothing to discard" in page_of(recruiter, at(task, "discard/"))
    assert "cannot be run again now" in page_of(recruiter, at(task, "edit/"))
    assert "This is no longer possible" in follow(recruiter, at(task, "discard/"), {})


def test_what_workers_stored_in_english_is_translated_when_it_is_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("django.utils.translation._trans.gettext", lambda text: f"[{text}]")
    monkeypatch.setattr(
        "django.utils.translation._trans.pgettext", lambda _context, text: f"[{text}]"
    )

    assert describe_note("1,200 accepted, 3 refused") == "[1,200 accepted, 3 refused]"
    assert describe_note("7 would be refused") == "[7 would be refused]"
    assert describe_note("rows written") == "[rows written]"
    assert describe_note(None) == ""
    assert error_line({"class": "Discard", "message": "the run was interrupted"}) == (
        "Discard: [the run was interrupted]"
    )
    assert error_line({"class": "Discard"}) == "Discard"
