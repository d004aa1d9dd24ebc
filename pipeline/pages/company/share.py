"""Share a job: its link, a QR code for paper, and a box for the company's own site."""

from __future__ import annotations

from html import escape
from uuid import UUID

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.text import slugify
from django.views.decorators.http import require_safe

from jobs.models import Job, JobStatus
from pipeline.pages.access import for_members, own_job
from pipeline.pages.qr_code import inline_qr_code, qr_code_file

BOX_PIXELS = 480, 240  # greatest width and height of the embedded box


@for_members()
@require_safe
def share_job(request: HttpRequest, job_id: UUID) -> HttpResponse:
    """Show the ways to point people to a job."""
    _, job = own_job(request, job_id)
    link, title = _link_to_share(job), escape(f"Apply: {job.posting.title}, {job.company.name}")
    box = f"{settings.SITE_URL}{reverse('job_embed', args=[job.id])}"
    width, height = BOX_PIXELS
    context = {
        "job": job,
        "link": link,
        "qr": inline_qr_code(link, f"QR code of {link}"),
        "box_url": box,
        "box": (
            f'<iframe src="{escape(box)}" title="{title}" loading="lazy" height="{height}"\n'
            f'  style="width: 100%; max-width: {width}px; border: 0"></iframe>'
        ),
        "plain": f'<a href="{escape(link)}">{title}</a>',
        "is_public": job.status != JobStatus.DRAFT and not job.is_test,
    }
    return render(request, "company/share.html", context)


@for_members()
@require_safe
def qr_code_to_share(request: HttpRequest, job_id: UUID) -> HttpResponse:
    """Return the QR code of a job's link as a file, for posters and flyers."""
    _, job = own_job(request, job_id)
    link = _link_to_share(job)
    drawn = qr_code_file(link, f"{job.posting.title}: {link}")
    name = slugify(job.posting.title)[:60] or "job"
    headers = {"Content-Disposition": f'attachment; filename="{name}-qr.svg"'}
    return HttpResponse(drawn, content_type="image/svg+xml", headers=headers)


def _link_to_share(job: Job) -> str:
    return f"{settings.SITE_URL}{reverse('opening', args=[job.id])}"
