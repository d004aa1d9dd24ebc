"""What the pages about background work take in."""

from __future__ import annotations

import json
from typing import Any

from django import forms

from pipeline.pages.background.task_words import MISBEHAVIOURS
from pipeline.pages.forms import PlainForm
from tasks.payloads import HIDDEN

LONGEST_SLEEP = 300


class SleepForm(PlainForm):
    """A task that only sleeps."""

    seconds = forms.IntegerField(
        label="Seconds to sleep", min_value=0, max_value=LONGEST_SLEEP, initial=20
    )
    then = forms.ChoiceField(label="And then", choices=list(MISBEHAVIOURS.items()), initial="done")

    def payload(self) -> dict[str, Any]:
        """What the task is given; of a form that is valid."""
        seconds, then = self.cleaned_data["seconds"], self.cleaned_data["then"]
        return {"seconds": seconds} if then == "done" else {"seconds": seconds, "then": then}


class PayloadForm(PlainForm):
    """A payload, as JSON that people edit. What they typed stays as they typed it."""

    payload = forms.CharField(
        label="Payload",
        help_text="What the work is given, as JSON. Only this run and later ones see the change.",
        widget=forms.Textarea(
            attrs={"rows": 8, "spellcheck": "false", "autocapitalize": "off", "class": "code-text"}
        ),
        strip=False,
    )

    def clean_payload(self) -> Any:
        """The payload itself."""
        text = self.cleaned_data["payload"]
        if HIDDEN in text:
            raise forms.ValidationError(
                f"A secret is not shown here. Write it again in place of {HIDDEN}."
            )
        try:
            return json.loads(text)
        except json.JSONDecodeError as error:
            raise forms.ValidationError(
                f"This is no JSON: {error.msg}, in line {error.lineno}, column {error.colno}."
            ) from None
        except (ValueError, RecursionError):
            raise forms.ValidationError("This is no JSON that can be read.") from None
