"""The field for a time zone is written as Django writes it, only faster."""

from __future__ import annotations

from typing import Any

import pytest
from django import forms
from django.test.html import parse_html

from jobs import time_zones
from pipeline.pages.forms import TimeZoneField


class Ours(forms.Form):
    zone = TimeZoneField()


class Djangos(forms.Form):
    zone = forms.ChoiceField(choices=time_zones.choices)


@pytest.mark.parametrize(
    "chosen", ["Europe/Berlin", "UTC", "", None, '"><script>', "Europe/berlin"]
)
@pytest.mark.parametrize("attrs", [{}, {"aria-describedby": 'a"b', "aria-invalid": "true"}])
def test_it_is_the_same_list(chosen: str | None, attrs: dict[str, Any]) -> None:
    lists = []
    for kind in (Ours, Djangos):
        form = kind({"zone": chosen})
        form.fields["zone"].widget.attrs.update(attrs)
        lists.append(parse_html(str(form["zone"])))

    ours, djangos = lists
    assert ours == djangos
    assert str(ours).count("<option") == len(time_zones.choices())
    assert str(ours).count("selected") == (chosen in dict(time_zones.choices()))
    assert ('aria-describedby="a' in str(ours)) == bool(attrs)
