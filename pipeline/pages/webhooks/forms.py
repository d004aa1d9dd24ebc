"""Form of a webhook endpoint."""

from __future__ import annotations

from django import forms

from applicants.forms import NameField
from pipeline.models.webhooks import LONGEST_DESCRIPTION, LONGEST_URL
from pipeline.pages.forms import PlainForm
from pipeline.webhooks.types import TYPES


class EndpointForm(PlainForm):
    """Form for a new or a changed endpoint.

    `endpoint_id` is created with the empty form, so that sending the form twice makes one endpoint.
    """

    endpoint_id = forms.UUIDField(widget=forms.HiddenInput, required=False)
    url = forms.CharField(
        max_length=LONGEST_URL,
        label="URL",
        help_text="Where we send each event, like https://example.org/webhooks.",
        widget=forms.URLInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
    )
    description = NameField(
        max_length=LONGEST_DESCRIPTION,
        required=False,
        label="Description",
        help_text="What it is for, like “Chat channel of the hiring team”.",
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )
    types = forms.MultipleChoiceField(
        required=False,
        choices=[(name, f"{about} ({name})") for name, about in TYPES.items()],
        widget=forms.CheckboxSelectMultiple,
        label="Events to send",
    )
