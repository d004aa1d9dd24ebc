"""Status of the services, for members of any company. Shows nothing about other companies."""

from __future__ import annotations

from uuid import UUID

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_http_methods

from applicants.mail import NOWHERE
from pipeline.audit.verify import Verdict, verify_job
from pipeline.config.release import COMMIT, VERSION
from pipeline.domain.errors import VerifierBusy
from pipeline.domain.permissions import Action
from pipeline.pages import limits
from pipeline.pages.access import Member, current_member, for_members, own_job, require_permission
from pipeline.pages.limits import TooOften
from pipeline.selectors.system import FRESH, are_migrations_applied, read_logs, read_status

ROWS = 25


@require_http_methods(["GET", "POST"])
@for_members()
def show(request: HttpRequest) -> HttpResponse:
    """Show the workers, database, email and logs; verify a log on POST.

    Verifying changes nothing, but it reads a whole log, so it needs a button and is rate limited.
    """
    member = require_permission(current_member(request), Action.READ_COMPANY)
    if request.method == "GET":
        return _render(request, member)
    job_id = _parse_job_id(request.POST.get("job", ""))
    if job_id is None:
        raise Http404
    own_job(request, job_id)
    try:
        limits.count_request(request, "verify", f"member {member.user.id}")
        verdict = verify_job(job_id, in_turn=True)
    except (TooOften, VerifierBusy):
        return _render(request, member, busy=job_id, status=429)
    return _render(request, member, verified=job_id, verdict=verdict)


def _render(
    request: HttpRequest,
    member: Member,
    *,
    verified: UUID | None = None,
    verdict: Verdict | None = None,
    busy: UUID | None = None,
    status: int = 200,
) -> HttpResponse:
    logs = read_logs(
        member.company.id, after=_parse_job_id(request.GET.get("after", "")), limit=ROWS
    )
    is_nowhere = settings.EMAIL_BACKEND == NOWHERE
    context = {
        "machinery": read_status(member.company.id),
        "fresh_seconds": FRESH.total_seconds(),
        "is_migrated": are_migrations_applied(),
        "mails": "kept" if settings.DEV_MAIL else "nowhere" if is_nowhere else "sent",
        "version": VERSION,
        "commit": COMMIT,
        "logs": logs.rows,
        "next_url": f"?after={logs.rows[-1].id}" if logs.more else "",
        "first_url": "?" if "after" in request.GET else "",
        "verified": verified,
        "verdict": verdict,
        "busy": busy,
    }
    return render(request, "staff/system.html", context, status=status)


def _parse_job_id(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None
