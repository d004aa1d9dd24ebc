"""Forms of the background work pages."""

from __future__ import annotations

import json
from typing import Any

from django import forms

from pipeline.pages.forms import PlainForm
from pipeline.pages.work.descriptions import ENDINGS
from tasks.payloads import HIDDEN

LONGEST_SLEEP = 300


class SleepTaskForm(PlainForm):
    """Form for a test task that sleeps."""

    seconds = forms.IntegerField(
        label="Seconds to sleep", min_value=0, max_value=LONGEST_SLEEP, initial=20
    )
    then = forms.ChoiceField(label="Then", choices=list(ENDINGS.items()), initial="done")

    def payload(self) -> dict[str, Any]:
        """Return the task's payload. The form must be valid."""
        seconds, then = self.cleaned_data["seconds"], self.cleaned_data["then"]
        return {"seconds": seconds} if then == "done" else {"seconds": seconds, "then": then}


class TaskPayloadForm(PlainForm):
    """Form for a payload as JSON. Keeps the text exactly as typed."""

    payload = forms.CharField(
        label="Payload",
        help_text="The task’s input, as JSON. Your change applies from this run on.",
        widget=forms.Textarea(
            attrs={"rows": 8, "spellcheck": "false", "autocapitalize": "off", "class": "code-text"}
        ),
        strip=False,
    )

    def clean_payload(self) -> Any:
        """Return the parsed payload."""
        text = self.cleaned_data["payload"]
        if HIDDEN in text:
            raise forms.ValidationError(
                f"Secrets are hidden here. Enter the secret again in place of {HIDDEN}."
            )
        try:
            return json.loads(text)
        except json.JSONDecodeError as error:
            raise forms.ValidationError(
                f"This is not valid JSON: {error.msg}, line {error.lineno}, column {error.colno}."
            ) from None
        except (ValueError, RecursionError):
            raise forms.ValidationError("This JSON cannot be read.") from None
