"""A company with data behind every URL, each private word of which contains a marker."""

from __future__ import annotations

import hashlib
from typing import Any

from django.apps import apps
from django.db.models import Model, Q
from uuid_utils.compat import uuid7

from applicants import codes, tokens
from jobs import keys
from jobs.models import Company, Job, JobPosting, Membership, Role, Scope
from pipeline.attachments import uploads
from pipeline.correspondence import bulk, templates
from pipeline.domain.states import Outcome
from pipeline.form.questions import Kind
from pipeline.form.versions import publish
from pipeline.models import (
    Application,
    Criterion,
    DecisionNote,
    Email,
    FormRefusals,
    PendingDecision,
    RequestRecord,
    StoredFile,
    StoredPart,
    WebhookAttempt,
    WebhookDelivery,
)
from pipeline.services.contests import contest
from pipeline.services.jobs import JobChanges, keep_template, pause_job, update_job
from pipeline.services.joining import change_application_reference
from pipeline.services.leaving import remove
from pipeline.services.turns import acknowledge
from pipeline.webhooks import endpoints
from pipeline.webhooks.endpoints import send_test
from tasks.scheduling import schedules
from tests.support import background_tasks, factories
from tests.support.accounts import member_of
from tests.support.correspondence import from_applicant, from_company
from tests.support.factories import owner_of
from tests.support.forms import asked, filled, question
from tests.support.planned_seats import planned
from tests.support.push import Browser

# Part of everything that no stranger may see.
MARKER = "zyxwhisper"
# How to find what belongs to the company or to its applicants, table by table.
OF_COMPANY: dict[str, Any] = {
    "account.EmailAddress": lambda acme: Q(user__memberships__company=acme),
    "account.EmailConfirmation": lambda acme: Q(email_address__user__memberships__company=acme),
    "applicants.Applicant": lambda acme: Q(applications__job__company=acme),
    "applicants.ApplicantToken": lambda acme: Q(applicant__applications__job__company=acme),
    "applicants.Device": lambda acme: (
        Q(applicant__applications__job__company=acme) | Q(user__memberships__company=acme)
    ),
    "applicants.DeviceNotice": lambda acme: (
        Q(device__applicant__applications__job__company=acme)
        | Q(device__user__memberships__company=acme)
    ),
    "jobs.ApiKey": lambda acme: Q(company=acme),
    "jobs.Company": lambda acme: Q(id=acme.id),
    "jobs.Job": lambda acme: Q(company=acme),
    "jobs.JobPosting": lambda acme: Q(job__company=acme),
    "jobs.Membership": lambda acme: Q(company=acme),
    "jobs.Retention": lambda acme: Q(job__company=acme),
    "jobs.User": lambda acme: Q(memberships__company=acme),
    "mfa.Authenticator": lambda acme: Q(user__memberships__company=acme),
    "pipeline.Attachment": lambda acme: Q(company_id=acme.id),
    "pipeline.Application": lambda acme: Q(job__company=acme),
    "pipeline.ApplicationAssignee": lambda acme: Q(job__company=acme),
    "pipeline.ApplicationLink": lambda acme: Q(application__job__company=acme),
    "pipeline.ApplicationMessage": lambda acme: Q(job__company=acme),
    "pipeline.BulkMessage": lambda acme: Q(job__company=acme),
    "pipeline.BulkMessageItem": lambda acme: Q(bulk__job__company=acme),
    "pipeline.MessageTemplate": lambda acme: Q(company=acme),
    "pipeline.ApplicationNote": lambda acme: Q(application__job__company=acme),
    "pipeline.ApplicationTag": lambda acme: Q(job__company=acme),
    "pipeline.ApplicationReference": lambda acme: Q(company_id=acme.id),
    "pipeline.Change": lambda acme: Q(company_id=acme.id),
    "pipeline.ClockAdvance": lambda acme: Q(company=acme),
    "pipeline.Contest": lambda acme: Q(company=acme),
    "pipeline.Criterion": lambda acme: Q(job__company=acme),
    "pipeline.JobFollower": lambda acme: Q(job__company=acme),
    "pipeline.NoteMention": lambda acme: Q(note__application__job__company=acme),
    "pipeline.ReviewNotice": lambda acme: Q(application__job__company=acme),
    "pipeline.RotaMember": lambda acme: Q(job__company=acme),
    "pipeline.Score": lambda acme: Q(application__job__company=acme),
    "pipeline.DecisionItem": lambda acme: Q(application__job__company=acme),
    "pipeline.PendingDecision": lambda acme: Q(job__company=acme),
    "pipeline.SavedView": lambda acme: Q(job__company=acme),
    "pipeline.DecisionNote": lambda acme: Q(application__job__company=acme),
    "pipeline.Email": lambda acme: Q(application__job__company=acme),
    "pipeline.Event": lambda acme: Q(company_id=acme.id),
    "pipeline.FormDraft": lambda acme: Q(job__company=acme),
    "pipeline.FormRefusals": lambda acme: Q(job__company=acme),
    "pipeline.FormVersion": lambda acme: Q(job__company=acme),
    "pipeline.FurtherQuestion": lambda acme: Q(application__job__company=acme),
    "pipeline.GivenAnswers": lambda acme: Q(application__job__company=acme),
    "pipeline.ForecastStatement": lambda acme: Q(job_id__in=_jobs_of(acme)),
    "pipeline.ImportRefusal": lambda acme: Q(run__file__company_id=acme.id),
    "pipeline.ImportedRow": lambda acme: Q(run__file__company_id=acme.id),
    "pipeline.ImportRun": lambda acme: Q(file__company_id=acme.id),
    "pipeline.JobForecast": lambda acme: Q(job_id__in=_jobs_of(acme)),
    "pipeline.JobReference": lambda acme: Q(company_id=acme.id),
    "pipeline.JobTemplate": lambda acme: Q(company=acme),
    "pipeline.LastWhatIf": lambda acme: Q(job_id__in=_jobs_of(acme)),
    "pipeline.NameWord": lambda acme: Q(company_id=acme.id),
    "pipeline.RemovedLog": lambda acme: Q(job__company=acme),
    "pipeline.PlannedSeats": lambda acme: Q(job__company=acme),
    "pipeline.PortalToken": lambda acme: Q(key__company=acme),
    "pipeline.Producer": lambda acme: Q(key__company=acme),
    "pipeline.RequestRecord": lambda acme: Q(key_id__in=acme.api_keys.values("id")),
    "pipeline.StoredFile": lambda acme: Q(company_id=acme.id),
    "pipeline.StoredPart": lambda acme: Q(file__company_id=acme.id),
    "pipeline.WebhookAttempt": lambda acme: Q(delivery_id__in=acme_deliveries(acme)),
    "pipeline.WebhookDelivery": lambda acme: Q(id__in=acme_deliveries(acme)),
    "pipeline.WebhookEndpoint": lambda acme: Q(company=acme),
    "pipeline.WeeklyReport": lambda acme: Q(job__company=acme),
    "tasks.Schedule": lambda acme: Q(owner_id=acme.id),
    "tasks.Task": lambda acme: Q(owner_id=acme.id),
    "tasks.TaskAct": lambda acme: Q(owner_id=acme.id),
    "tasks.TaskEvent": lambda acme: Q(task_id__in=acme_tasks(acme)),
    "tasks.TaskOwnerBreaker": lambda acme: Q(owner_id=acme.id),
    "tasks.TaskOwnerTally": lambda acme: Q(owner_id=acme.id),
    "tasks.TaskPause": lambda acme: Q(owner_id=acme.id),
    "usersessions.UserSession": lambda acme: Q(user__memberships__company=acme),
}
# Tables of the whole site: counters, sessions, caches. Strangers write their own rows there.
OF_SITE = {
    *(
        "admin.LogEntry",
        "applicants.PrivateEmail",
        "applicants.SignInCode",
        "auth.Group",
        "auth.Permission",
        "jobs.CompanyRequest",
    ),
    *("contenttypes.ContentType", "pipeline.Heartbeat", "pipeline.IdempotencyRecord"),
    *("pipeline.ReceiptKey", "pipeline.RemovedObject", "pipeline.WebServer"),
    *(
        "pipeline.Throttle",
        "pipeline.WebhookTaskPlace",
        "sessions.Session",
        "tasks.TaskTally",
        "tasks.TaskTotal",
    ),
    *("tasks.TaskType", "tasks.TaskWorker"),
}
# Values that are nobody's.
PLAIN: dict[str, Any] = {
    "token": "forged",
    "name": "..%2F..%2Fetc",
    "key": "demo.sleep",
    "type_key": "demo.sleep",
    "week": "2026-01-05",
    "what": ["applications", "log"],
    "format": ["csv", "jsonl"],
    "pk": 1,
    "uidb36": "1",
}

# Parameters of addresses that belong to nobody.
THE_SAME_FOR_ALL: dict[str, Any] = {
    "mark": "a-9",
    "who": "nobody",
    "token": "forged",
    "name": "..%2F..%2Fetc",
    "key": "demo.sleep",
    "type_key": "demo.sleep",
    "kind": "promoted",
    "week": "2026-01-05",
    "what": ["applications", "log"],
    "format": ["csv", "jsonl"],
    "pk": 1,
    "uidb36": "1",
    "content_type_id": 1,
    "app_label": "jobs",
    "url": "jobs/user/",
}


def acme_tasks(acme: Company) -> Any:
    """Return the ids of the company's tasks."""
    return apps.get_model("tasks.Task").objects.filter(owner_id=acme.id).values("id")


def acme_deliveries(acme: Company) -> Any:
    """Return the ids of the webhook deliveries to the company's endpoints."""
    theirs = acme.webhook_endpoints.values("id")
    return (
        apps.get_model("pipeline.WebhookDelivery")
        .objects.filter(endpoint_id__in=theirs)
        .values("id")
    )


def furnish(acme: Company | None = None) -> tuple[Company, dict[str, Any]]:
    """Create the company or furnish a sandbox; return it, and values for the names in addresses."""
    acme = acme or factories.company(name="Acme")
    home = acme.sandbox_of or acme
    owner = member_of(home, Role.OWNER, email=f"{MARKER}-owner@example.org")
    key = _key(acme)
    job = factories.job(company_id=acme.id, capacity=1, acknowledge_first_seat=True)
    people = _people()
    first, second, third = (factories.application(job, p, filled=_form(job)) for p in people)
    attachment = _attachment(second)
    attached = {"external_id": f"{MARKER}-1", "metadata": {"note": MARKER}}
    change_application_reference(company_id=acme.id, application_id=first.id, changes=attached)
    update_job(job_id=job, changes=JobChanges(reference=attached), actor=factories.RECRUITER)
    tokens.issue(people[0])
    codes.send(people[0].email, by=codes.Requester("acme", "192.0.2.1"))
    acknowledge(application_id=first.id, actor=owner_of(first))
    remove(application_id=third.id, outcome=Outcome.REJECTED, actor=factories.RECRUITER, note="x")
    DecisionNote.objects.update(text=f"{MARKER} note")
    pause_job(job_id=job, actor=factories.RECRUITER)
    draft = _draft(acme)
    dead = background_tasks.dead(acme)
    running = background_tasks.started(acme)
    background_tasks.move(running, result={"about": MARKER})
    plan = schedules.create(
        name=f"{MARKER} plan", cron="0 9 * * 1", type_key="demo.sleep", owner_id=acme.id
    )
    file, device = _file(acme, job), Browser().added_for(first.applicant, f"https://a.io/{MARKER}")
    messages = {"bulk_id": _messages(first, job, owner), "template_id": _templates(acme, job)}
    return acme, THE_SAME_FOR_ALL | messages | {
        "job_id": [job, draft],
        "application_id": [first.id, second.id, third.id],
        "applicant_id": [person.id for person in people],
        "device_id": device.id,
        "slug": "duplicate-submission",
        "email_id": Email.objects.create(id=uuid7(), application=first, seq=3, state="SENT").id,
        "decision_id": _decision(job, owner.id).id,
        "task_id": [dead, running],
        "contest_id": contest(application_id=third.id, text=MARKER, actor=owner_of(third)).id,
        "question_id": asked(first).id,
        "planned_id": planned(draft).id,
        "schedule_id": plan.id,
        "key_id": key.id,
        "file_id": [file.id, attachment],
        "import_id": file.id,
        **dict.fromkeys(("attachment_id", "upload_id"), attachment),
        **_webhook(acme),
        **PLAIN,
        "membership_id": Membership.objects.get(company=home, user=owner).id,
        **dict.fromkeys(("object_id", "id"), str(owner.id)),
    }


def _people() -> list[Any]:
    return [
        factories.applicant(email=f"{MARKER}{number}@example.org", name=f"{MARKER.title()} P")
        for number in range(3)
    ]


def _form(job: Any) -> Any:
    """Publish a form that has refused someone, and return answers to it."""
    questions = [question(Kind.SHORT_TEXT, "town", label="Town", in_summary=True)]
    publish(job_id=job, questions=questions, actor=factories.RECRUITER)
    FormRefusals.objects.get_or_create(job_id=job, key="town", refused=1)
    return filled(job, town=f"{MARKER} here")


def _attachment(application: Application) -> Any:
    content, holder = f"{MARKER} of a CV".encode(), uploads.holder_of("company", application.id)
    row = uploads.add(
        company_id=application.job.company_id,
        job_id=application.job_id,
        holder=holder,
        name=f"{MARKER}.txt",
        size_bytes=len(content),
        content=[content],
    )
    uploads.attach_later([row.id], application_id=application.id, question_id=None, holder=holder)
    return row.id


def _templates(acme: Company, job: Any) -> list[Any]:
    """Keep a template of a job and one of a message; return their ids."""
    of_job = keep_template(job=Job.objects.get(id=job), name=MARKER)
    return [of_job.id, templates.save(company_id=acme.id, name=MARKER, text=MARKER).id]


def _messages(application: Application, job: Any, owner: Any) -> Any:
    """Write on both sides, and begin a bulk message; return its id."""
    from_company(application, MARKER)
    from_applicant(application, MARKER)
    text, stage = MARKER, bulk.Stage.ACTIVE
    return bulk.start(bulk_id=uuid7(), job_id=job, stage=stage, text=text, author_id=owner.id).id


def _decision(job: Any, owner: Any) -> PendingDecision:
    Criterion.objects.create(job_id=job, number=1, label=f"{MARKER} criterion")
    return PendingDecision.objects.create(
        id=uuid7(),
        job_id=job,
        outcome="REJECTED",
        note=f"{MARKER} why",
        decided_by=owner,
        due_at="2126-01-01T00:00:00Z",
    )


def _draft(acme: Company) -> Any:
    draft = factories.job(company_id=acme.id, open_now=False)
    JobPosting.objects.filter(job_id=draft).update(title=f"{MARKER} draft")
    return draft


def _key(acme: Company) -> Any:
    """Create a key that has made a request."""
    key, _ = keys.create(company_id=acme.id, name=f"{MARKER} key", scopes=[Scope.READ])
    RequestRecord.objects.create(
        key_id=key.id,
        is_portal=False,
        at="2026-01-01T00:00:00Z",
        method="GET",
        path=f"/{MARKER}",
        status=200,
        status_class=2,
        request_id=MARKER,
        duration_ms=1,
    )
    return key


def _file(acme: Company, job: Any) -> StoredFile:
    data = f"{MARKER} content\n".encode()
    file = StoredFile.objects.create(
        id=uuid7(),
        company_id=acme.id,
        job_id=job,
        purpose=StoredFile.Purpose.EXPORT,
        name=f"{MARKER}.csv",
        content_type="text/csv",
        size_bytes=len(data),
        is_complete=True,
        expires_at="2126-01-01T00:00:00Z",
    )
    StoredPart.objects.create(file=file, number=0, data=data)
    return file


def _webhook(acme: Company) -> dict[str, Any]:
    hook, _ = endpoints.create(company_id=acme.id, url=f"http://{MARKER}.example/hook")
    delivery = send_test(company_id=acme.id, endpoint_id=hook.id)
    WebhookDelivery.objects.filter(id=delivery.id).update(state="FAILED", attempts=1)
    WebhookAttempt.objects.create(
        delivery_id=delivery.id,
        number=1,
        at="2026-01-01T00:00:00Z",
        duration_ms=1,
        request_headers={"webhook-id": delivery.webhook_id},
        status=500,
        response_headers={},
        response_body=MARKER,
    )
    return {"webhook_id": hook.id, "delivery_id": delivery.id}


def state_of(acme: Company) -> dict[str, str]:
    """Return the number of rows and a digest of them, table by table; chain heads included."""
    return {
        label: _digest(apps.get_model(label), where(acme)) for label, where in OF_COMPANY.items()
    }


def _jobs_of(acme: Company) -> Any:
    return Job.objects.filter(company=acme).values("id")


def _digest(model: type[Model], where: Q) -> str:
    ids = model._default_manager.filter(where).values("pk")
    names = [field.attname for field in model._meta.concrete_fields]
    rows = sorted(
        repr([bytes(each) if isinstance(each, memoryview) else each for each in row])
        for row in model._default_manager.filter(pk__in=ids).values_list(*names)
    )
    return f"{len(rows)} {hashlib.sha256(''.join(rows).encode()).hexdigest()[:12]}"
