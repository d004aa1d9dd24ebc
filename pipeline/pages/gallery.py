"""Gallery of all parts of pages, in each state, light and dark: for developers only."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

from django import forms
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from pipeline.figures.series import Point
from pipeline.pages.access import require_developer
from pipeline.pages.charts import draw_occupancy
from pipeline.pages.forms import LinesField
from pipeline.pages.line_picture import LinePicture
from pipeline.wording.events import STATUS_WORDS

SCHEMES = ("light", "dark")
COLOURS = "ground panel sunk hover held chip ink soft rule edge field accent warn good bad".split()
TONES, NOTICES = ("plain", "good", "warn", "bad", "wait"), ("info", "success", "warning", "error")
WAITING = (12, 14, 14, 11, 16, 17, 18)
LATIN = ("Femi Demir", "Mara Lindqvist", "Nils Rossi", "Élodie de la Tour", "Ana", "+49 170 000000")
NAMES = (*LATIN, "王小明", "محمد علي", "Δήμητρα Παππά", "अनिता देवी")


class SampleForm(forms.Form):
    """Every kind of field, and one error."""

    name = forms.CharField(max_length=80, help_text="As it should stand in the email.")
    email = forms.EmailField(max_length=200)
    years = forms.ChoiceField(choices=[("", "Choose"), ("3", "3 to 5 years")], required=False)
    pay = forms.ChoiceField(
        choices=[("hour", "By the hour"), ("month", "By the month")], widget=forms.RadioSelect
    )
    boat = LinesField(max_length=2_000, widget=forms.Textarea(attrs={"rows": 3}))
    agree = forms.BooleanField(label="Send me a copy", required=False)


@never_cache
@require_safe
def show(request: HttpRequest) -> HttpResponse:
    """Show every part once in light and once in dark."""
    require_developer(request)
    return render(request, "dev/gallery.html", {"samples": [_sample(each) for each in SCHEMES]})


def _sample(scheme: str) -> dict[str, Any]:
    """Return what the parts show in one scheme. Both are on one page, so their ids differ."""
    now = timezone.now()
    start = now - timedelta(days=len(WAITING) - 1)
    points = [
        Point(start + timedelta(days=day), held=3 + day % 2, waiting=waiting, capacity=4)
        for day, waiting in enumerate(WAITING)
    ]
    filled = {"name": "Rosa Almeida", "email": "rosa@", "pay": "month", "boat": "The Maré."}
    return {
        "scheme": scheme,
        "colours": COLOURS,
        "tones": TONES,
        "notices": NOTICES,
        "names": NAMES,
        "latin": LATIN,
        "statuses": STATUS_WORDS,
        "form": SampleForm(filled, auto_id=f"{scheme}_%s"),
        "waiting": WAITING,
        "chart": replace(
            draw_occupancy(points, start, now, timezone.get_current_timezone()), ident=scheme
        ),
        "picture": LinePicture.of_counts({"active": 3, "pending": 1, "free": 1}, 18, position=4),
        "now": now,
        "deadline": now + timedelta(hours=14, minutes=20),
        "past": now - timedelta(days=2, hours=18),
    }
