"""Form for an event of a log that someone noted earlier: its number and its hash."""

from __future__ import annotations

import re
from typing import Any

from django import forms

from pipeline.pages.forms import PlainForm


class NotedEventForm(PlainForm):
    """Number and hash of an event noted earlier, or neither."""

    seq = forms.IntegerField(
        required=False,
        min_value=1,
        max_value=2**63 - 1,
        label="Event number",
        widget=forms.NumberInput(attrs={"inputmode": "numeric"}),
    )
    hash = forms.CharField(
        required=False,
        label="Hash",
        widget=forms.TextInput(
            attrs={"spellcheck": "false", "autocomplete": "off", "class": "mono"}
        ),
        help_text="All 64 characters.",
    )

    def clean_hash(self) -> str:
        """Return the hash in lower case, without spaces."""
        digest = "".join(self.cleaned_data["hash"].split()).lower()
        if digest and not re.fullmatch("[0-9a-f]{64}", digest):
            raise forms.ValidationError("Enter all 64 characters, each from 0 to 9 or a to f.")
        return digest

    def clean(self) -> dict[str, Any]:
        """Require both fields or neither."""
        noted = self.cleaned_data
        if not self.errors and bool(noted.get("seq")) != bool(noted.get("hash")):
            missing = "hash" if noted.get("seq") else "seq"
            self.add_error(
                missing, "Enter both the event number and its hash, or leave both empty."
            )
        return noted

    @property
    def noted(self) -> tuple[int, str] | None:
        """Number and hash that were entered, if any."""
        seq, digest = self.cleaned_data["seq"], self.cleaned_data["hash"]
        return (seq, digest) if seq and digest else None
