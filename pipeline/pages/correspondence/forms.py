"""Form of a message, for both sides."""

from __future__ import annotations

from typing import Any

from django import forms
from django.conf import settings
from django.http import HttpRequest
from django.utils.translation import pgettext_lazy

from jobs.models import Job
from pipeline.models import MESSAGE_LENGTH
from pipeline.pages.attachments import AttachmentsField
from pipeline.pages.forms import LinesField, PlainForm


class MessageForm(PlainForm):
    """Message with files."""

    text = LinesField(
        label=pgettext_lazy("label", "Message"),
        max_length=MESSAGE_LENGTH,
        widget=forms.Textarea(attrs={"rows": 6, "maxlength": MESSAGE_LENGTH}),
    )

    def __init__(
        self, request: HttpRequest, job: Job, *, is_sent: bool = False, text: str = ""
    ) -> None:
        given: Any = (request.POST, request.FILES) if is_sent else ()
        super().__init__(*given, initial={"text": text})
        most: int = settings.ATTACHMENTS_PER_APPLICATION
        self.fields["files"] = AttachmentsField(
            request, job, label=pgettext_lazy("label", "Files"), required=False, most=most
        )
