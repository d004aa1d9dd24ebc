"""A company with data behind every URL, each private word of which contains a marker."""

from __future__ import annotations

import hashlib
from typing import Any

from django.apps import apps
from django.db.models import Model, Q
from uuid_utils.compat import uuid7

from applicants import codes, tokens
from jobs import invitations, keys
from jobs.models import Company, Job, JobPosting, Membership, Role, Scope, UserPicture
from pipeline.attachments import uploads
from pipeline.chat.queue import post_test
from pipeline.consents import versions as consents
from pipeline.consents.agreements import Agreed
from pipeline.consents.versions import CONSENT, Wanted
from pipeline.correspondence import bulk, templates
from pipeline.domain.states import Outcome
from pipeline.form.questions import Kind
from pipeline.form.versions import publish
from pipeline.models import (
    Agreement,
    Application,
    CareersLogo,
    CareersPage,
    CareersSlug,
    ChatChannel,
    Criterion,
    DecisionNote,
    Email,
    EqualityTotals,
    FormRefusals,
    GroupClaim,
    IdentityProvider,
    JobViews,
    LineException,
    PendingDecision,
    RequestRecord,
    StoredFile,
    StoredPart,
    WebhookAttempt,
    WebhookDelivery,
)
from pipeline.services.contests import contest
from pipeline.services.job_templates import keep_template
from pipeline.services.jobs import JobChanges, pause_job, update_job
from pipeline.services.joining import change_application_reference
from pipeline.services.turns import acknowledge
from pipeline.sources.origin import Origin
from pipeline.texts import letterheads
from pipeline.texts.kinds import KINDS, OFFER
from pipeline.texts.words import save_text
from pipeline.webhooks import endpoints
from pipeline.webhooks.endpoints import send_test
from tasks.scheduling import schedules
from tests.support import background_tasks, chat, factories
from tests.support.accounts import member_of
from tests.support.applicants import decide
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
    "jobs.Activity": lambda acme: Q(company=acme),
    "jobs.ApiKey": lambda acme: Q(company=acme),
    "jobs.Company": lambda acme: Q(id=acme.id),
    "jobs.Invitation": lambda acme: Q(company=acme),
    "jobs.Job": lambda acme: Q(company=acme),
    "jobs.JobMember": lambda acme: Q(job__company=acme),
    "jobs.JobPosting": lambda acme: Q(job__company=acme),
    "jobs.Membership": lambda acme: Q(company=acme),
    "jobs.Retention": lambda acme: Q(job__company=acme),
    "jobs.User": lambda acme: Q(memberships__company=acme),
    "jobs.UserPicture": lambda acme: Q(user__memberships__company=acme),
    "mfa.Authenticator": lambda acme: Q(user__memberships__company=acme),
    "pipeline.Agreement": lambda acme: Q(application__job__company=acme),
    "pipeline.ApplicationSource": lambda acme: Q(application__job__company=acme),
    "pipeline.ConsentVersion": lambda acme: Q(company=acme),
    "pipeline.EqualityTotals": lambda acme: Q(company=acme),
    "pipeline.JobViews": lambda acme: Q(job__company=acme),
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
    "pipeline.CompanyText": lambda acme: Q(company=acme),
    "pipeline.Letterhead": lambda acme: Q(company=acme),
    "pipeline.DecisionText": lambda acme: Q(application__job__company=acme),
    "pipeline.CareersLogo": lambda acme: Q(company=acme),
    "pipeline.CareersPage": lambda acme: Q(company=acme),
    "pipeline.CareersSlug": lambda acme: Q(company=acme),
    "pipeline.Change": lambda acme: Q(company_id=acme.id),
    "pipeline.ChatChannel": lambda acme: Q(company=acme),
    "pipeline.ChatMessage": lambda acme: Q(channel__company=acme),
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
    "pipeline.LineException": lambda acme: Q(job__company=acme),
    "pipeline.DecisionNote": lambda acme: Q(application__job__company=acme),
    "pipeline.Email": lambda acme: Q(application__job__company=acme),
    "pipeline.Event": lambda acme: Q(company_id=acme.id),
    "pipeline.FormDraft": lambda acme: Q(job__company=acme),
    "pipeline.FormRefusals": lambda acme: Q(job__company=acme),
    "pipeline.FormVersion": lambda acme: Q(job__company=acme),
    "pipeline.FurtherQuestion": lambda acme: Q(application__job__company=acme),
    "pipeline.GivenAnswers": lambda acme: Q(application__job__company=acme),
    "pipeline.ForecastStatement": lambda acme: Q(job_id__in=_jobs_of(acme)),
    "pipeline.GroupRole": lambda acme: Q(provider__company=acme),
    "pipeline.IdentityProvider": lambda acme: Q(company=acme),
    "pipeline.ProvisionedGroup": lambda acme: Q(provider__company=acme),
    "pipeline.ProvisionedUser": lambda acme: Q(provider__company=acme),
    "pipeline.ProvisioningToken": lambda acme: Q(provider__company=acme),
    "pipeline.SignOnDomain": lambda acme: Q(provider__company=acme),
    "pipeline.SignOnIdentity": lambda acme: Q(provider__company=acme),
    "pipeline.GroupClaim": lambda acme: Q(job__company=acme),
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
    *("pipeline.EqualityAnswers", "pipeline.Visitor", "pipeline.VisitorSalt"),
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
    "colour": "0b7748",
    "digest": "0" * 32,
    "version": "1",
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
    first, second, third = (_applied(acme, job, each) for each in people)
    attachment = _attachment(second)
    attached = {"external_id": f"{MARKER}-1", "metadata": {"note": MARKER}}
    change_application_reference(company_id=acme.id, application_id=first.id, changes=attached)
    update_job(job_id=job, changes=JobChanges(reference=attached), actor=factories.RECRUITER)
    tokens.issue(people[0])
    codes.send(people[0].email, by=codes.Requester("acme", "192.0.2.1"))
    acknowledge(application_id=first.id, actor=owner_of(first))
    _own_words(acme, owner.id)
    decide(third, Outcome.REJECTED, note="x", text=f"{MARKER} text")
    _except_and_claim(second)
    DecisionNote.objects.update(text=f"{MARKER} note")
    pause_job(job_id=job, actor=factories.RECRUITER)
    draft = _draft(acme)
    dead, running = background_tasks.dead(acme), background_tasks.started(acme)
    background_tasks.move(running, result={"about": MARKER})
    plan = _plan(acme)
    file, device = _file(acme, job), Browser().added_for(first.applicant, f"https://a.io/{MARKER}")
    messages = {"bulk_id": _messages(first, job, owner), "template_id": _templates(acme, job)}
    return acme, THE_SAME_FOR_ALL | messages | {
        "job_id": [job, draft],
        "application_id": [first.id, second.id, third.id],
        "applicant_id": [person.id for person in people],
        "device_id": device.id,
        **_careers(acme),
        "email_id": Email.objects.create(id=uuid7(), application=first, seq=3, state="SENT").id,
        "agreement_id": Agreement.objects.filter(application=first).first().id,
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
        **(_webhook(acme) | _chat(home)),
        **PLAIN,
        **_of_team(home, owner),
        **dict.fromkeys(("object_id", "id"), str(owner.id)),
    }


def _own_words(acme: Company, owner: Any) -> None:
    names = {"sender_name": f"{MARKER} sender"}
    letterheads.save(company_id=acme.id, seen=0, by=owner, **names)
    parts = {"opening": f"{MARKER} opening"}
    save_text(company_id=acme.id, kind=KINDS[OFFER], parts=parts, seen=0, by=owner)


def _careers(acme: Company) -> dict[str, Any]:
    """Publish a page whose domain is not proved yet: that, nobody else may know."""
    slug = f"acme-{acme.id.hex[-8:]}"
    CareersSlug.objects.create(slug=slug, company=acme)
    CareersLogo.objects.create(company=acme, digest="1" * 32, data=b"", width=1, height=1)
    unproved = {"domain": f"{MARKER}.example", "domain_token": f"{MARKER}-token"}
    CareersPage.objects.create(company=acme, slug=slug, **unproved)
    return {"slug": ["duplicate-submission", slug], "company_id": acme.id}


def _plan(acme: Company) -> Any:
    name = f"{MARKER} plan"
    return schedules.create(name=name, cron="0 9 * * 1", type_key="demo.sleep", owner_id=acme.id)


def _except_and_claim(person: Application) -> None:
    _except(person)
    _claim(person)


def _except(passed: Application) -> None:
    """Keep an exception that once passed a person, as its row tells it."""
    place = {"from_ticket": 9, "from_tie": 9, "people_passed": 1}
    about = {"job_id": passed.job_id, "application": passed, "seq": 1, "at": passed.applied_at}
    LineException.objects.create(**about, reason="OTHER", text=f"{MARKER} why", **place)


def _claim(person: Application) -> None:
    """Keep a statement of a person, and the words about the group of its job."""
    words = {"reserved_sentence": f"{MARKER} group", "reserved_code": f"{MARKER}-code"}
    JobPosting.objects.filter(job_id=person.job_id).update(**words)
    about = {"job_id": person.job_id, "application": person, "stated_at": person.applied_at}
    GroupClaim.objects.create(**about, state="STATED", kind="OWN", salt=bytes(32))


def _people() -> list[Any]:
    return [
        factories.applicant(email=f"{MARKER}{number}@example.org", name=f"{MARKER.title()} P")
        for number in range(3)
    ]


def _applied(acme: Company, job: Any, person: Any) -> Application:
    return factories.application(job, person, filled=_form(job), companions=_companions(acme, job))


def _form(job: Any) -> Any:
    """Publish a form that has refused someone, and return answers to it."""
    questions = [question(Kind.SHORT_TEXT, "town", label="Town", in_summary=True)]
    publish(job_id=job, questions=questions, actor=factories.RECRUITER)
    FormRefusals.objects.get_or_create(job_id=job, key="town", refused=1)
    return filled(job, town=f"{MARKER} here")


def _companions(acme: Company, job: Any) -> list[Any]:
    """Return what a person brings along from a link, and agrees to; count a view of the job."""
    Company.objects.filter(id=acme.id).update(shown_consents=None)
    wanted = [Wanted(CONSENT, "May we keep your data?", is_required=False)]
    [version] = consents.publish(company_id=acme.id, wanted=wanted, seen=(), by=None)
    JobViews.objects.get_or_create(job_id=job, day="2026-01-01", source=MARKER, views=1)
    counts = {"gender": {"woman": 12, "": 1}}
    EqualityTotals.objects.get_or_create(company=acme, defaults={"people": 13, "counts": counts})
    agreed = Agreed((version.id,), frozenset([version.id]))
    return [Origin(source=MARKER, utm_campaign=f"{MARKER} campaign"), agreed]


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


def _of_team(home: Company, owner: Any) -> dict[str, Any]:
    made, _ = invitations.create(company_id=home.id, by=owner.id, role=Role.VIEWER, days=7, uses=1)
    member = Membership.objects.get(company=home, user=owner)
    UserPicture.objects.get_or_create(user=owner, defaults={"data": MARKER.encode()})
    type(owner).objects.filter(id=owner.id).update(picture_digest="0" * 32)
    provider, _ = IdentityProvider.objects.get_or_create(
        company=home,
        defaults={
            "name": "Acme account",  # who signs in sees it
            "issuer": "https://idp.invalid",
            "client_id": f"{MARKER}-client",
            "secret": b"",
        },
    )
    domain, _ = provider.domains.get_or_create(domain="acme.invalid", defaults={"token": MARKER})
    group, _ = provider.group_roles.get_or_create(group=f"{MARKER}-group", role=Role.VIEWER)
    provider.identities.get_or_create(subject=f"{MARKER}-subject", defaults={"user": owner})
    token, _ = provider.tokens.get_or_create(
        digest=hashlib.sha256(MARKER.encode()).digest(), defaults={"hint": "nils_mark"}
    )
    person, _ = provider.users.get_or_create(user=owner, user_name=f"{MARKER}-user")
    people, _ = provider.groups.get_or_create(name=f"{MARKER}-people")
    people.users.add(person)
    return {
        "token_id": token.id,
        "invitation_id": made.id,
        "membership_id": member.id,
        "user_id": owner.id,
        "provider_id": provider.id,
        "domain_id": domain.id,
        "group_role_id": group.id,
    }


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


def _chat(acme: Company) -> dict[str, Any]:
    """Return the id of a channel, which only a live company has."""
    row = ChatChannel.objects.filter(company=acme).first()
    if row is None:
        address = f"https://hooks.slack.com/services/{MARKER}"
        row = chat.channel(acme.id, address, name=f"{MARKER} channel")
        post_test(company_id=acme.id, channel_id=row.id)
    return {"channel_id": row.id}


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
