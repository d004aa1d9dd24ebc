"""Offers to people with a device."""

from __future__ import annotations

from typing import Any

from django.core import mail

from jobs.models import JobPosting
from pipeline.models import Application
from pipeline.services.leaving import withdraw
from tasks.models import Task
from tests.support import factories
from tests.support.clock import let_time_pass
from tests.support.push import Browser
from tests.support.receiver import Receiver
from tests.support.task_runs import let_tasks_wait, run_due_tasks

DAY = 86_400


def waiting(**policy: Any) -> tuple[Application, Application]:
    """Return someone with the only seat, and the next in line; nothing is left to send."""
    job = factories.job(**{"acknowledgment_window_seconds": DAY} | policy)
    JobPosting.objects.filter(job_id=job).update(title="Night watch")
    holder, next_in_line = factories.applications(job, 2)
    run_due_tasks()
    mail.outbox.clear()
    Task.objects.all().delete()
    return holder, next_in_line


def offered(browser: Browser, receiver: Receiver, **policy: Any) -> Application:
    """Return someone with a device who has just been offered a seat."""
    holder, next_in_line = waiting(**policy)
    browser.added_for(next_in_line.applicant, f"{receiver.url}/{next_in_line.id}")
    withdraw(application_id=holder.id, actor=factories.owner_of(holder))
    return next_in_line


def pass_time(application: Application, seconds: float) -> None:
    """Let time pass for the line and for the tasks alike."""
    let_time_pass(application.job_id, seconds)
    let_tasks_wait(seconds)
