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
from pipeline.pages import qr_code
from pipeline.pages.access import for_members, own_job

BOX_PIXELS = 480, 240  # greatest width and height of the embedded box


@for_members()
@require_safe
def show(request: HttpRequest, job_id: UUID) -> HttpResponse:
    """Show the ways to point people to a job."""
    _, job = own_job(request, job_id)
    link, title = _public_link(job), escape(f"Apply: {job.posting.title}, {job.company.name}")
    box = f"{settings.SITE_URL}{reverse('job_embed', args=[job.id])}"
    width, height = BOX_PIXELS
    context = {
        "job": job,
        "link": link,
        "qr": qr_code.draw_inline(link, f"QR code of {link}"),
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
def download_qr_code(request: HttpRequest, job_id: UUID) -> HttpResponse:
    """Return the QR code of a job's link as a file, for posters and flyers."""
    _, job = own_job(request, job_id)
    link = _public_link(job)
    drawn = qr_code.draw_file(link, f"{job.posting.title}: {link}")
    name = slugify(job.posting.title)[:60] or "job"
    headers = {"Content-Disposition": f'attachment; filename="{name}-qr.svg"'}
    return HttpResponse(drawn, content_type="image/svg+xml", headers=headers)


def _public_link(job: Job) -> str:
    return f"{settings.SITE_URL}{reverse('opening', args=[job.id])}"
