"""Page about the data that the site keeps, the reasons and the periods."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from jobs.models import Retention
from pipeline.files.write import FILE_KEPT_DAYS


@require_safe
def privacy(request: HttpRequest) -> HttpResponse:
    """Explain to applicants what is kept."""
    context = {
        "usual_days": Retention.USUAL_DAYS,
        "least_days": Retention.LEAST_DAYS,
        "most_days": Retention.MOST_DAYS,
        "file_days": FILE_KEPT_DAYS,
    }
    return render(request, "applicant/privacy.html", context)
