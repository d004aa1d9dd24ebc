"""Fields of a page for the questions of a job's form: to apply, to answer later, to preview."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django import forms
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import pgettext

from jobs.models import Job
from pipeline.form.answers import question_id_of
from pipeline.form.questions import (
    LINK_LENGTH,
    LONG_LENGTH,
    PHONE_LENGTH,
    SHORT_LENGTH,
    AnswerRefused,
    Answers,
    Kind,
    Question,
)
from pipeline.models import Attachment
from pipeline.pages.attachments import AttachmentsField, ChosenFiles

PREFIX = "q_"
# The value of the choice beside which people write their own answer.
OTHER = "\u2026"
# From this number of choices on, they are a list that opens.
MANY_CHOICES = 8


class _ChoiceWidget(forms.RadioSelect):
    """Choices of which each is a box, and perhaps a text for an answer of one's own."""

    has_other = False

    def id_for_label(self, id_: str | None, index: str | None = None) -> str:
        """Return the id of the first box: the list itself has none to which a link could lead."""
        return super().id_for_label(id_, index or "0") if id_ else ""

    def value_from_datadict(self, data: Any, files: Any, name: str) -> Any:
        """Return what was chosen, with a person's own answer in place of "other"."""
        found = super().value_from_datadict(data, files, name)
        own = str(data.get(f"{name}_other", "")).strip()
        if not self.has_other:
            return found
        if isinstance(found, list):
            return [each for each in found if each != OTHER] + [own] * bool(own)
        return (own if found == OTHER or not found else found) or None

    def optgroups(
        self, name: str, value: list[str], attrs: dict[str, Any] | None = None
    ) -> list[Any]:
        """Return the choices, with "other" ticked if there is an answer of the person's own."""
        shown = [OTHER if self._is_own(each) else each for each in value]
        return super().optgroups(name, shown, attrs)

    def use_required_attribute(self, initial: Any) -> bool:
        """Return False beside an answer of one's own, which can stand alone."""
        return not self.has_other and super().use_required_attribute(initial)

    def render_other(self, name: str, value: Any) -> SafeString:
        """Return the field for an answer of one's own; nothing if there is none."""
        if not self.has_other:
            return SafeString("")
        given = value if isinstance(value, list) else [value]
        own = next((each for each in given if each and self._is_own(each)), "")
        label = _("Your own answer")
        return format_html(
            '<input type="text" name="{0}_other" id="id_{0}_other" maxlength="{1}" value="{2}"'
            ' aria-label="{3}" placeholder="{3}">',
            name,
            SHORT_LENGTH,
            own,
            label,
        )

    def _is_own(self, value: Any) -> bool:
        known = {str(choice) for choice, _label in self.choices}
        return self.has_other and bool(value) and str(value) not in known


class _BoxesWidget(_ChoiceWidget, forms.CheckboxSelectMultiple):
    pass


class AnswerField(forms.Field):
    """Field for the answer to a question, which checks it."""

    def __init__(self, question: Question) -> None:
        label = f"{question.label} ({question.unit})" if question.unit else question.label
        widget = _WIDGETS[question.kind](question)
        super().__init__(
            label=label, help_text=_help(question), required=question.required, widget=widget
        )
        self.question = question

    def clean(self, value: Any) -> Any:
        """Return the answer as it is stored. Raises ValidationError."""
        question = self.question
        try:
            if question.kind in (Kind.YES_NO, Kind.NUMBER):
                answer = question.parse(str(value or "")[:SHORT_LENGTH])
            else:
                answer = question.check(value)
        except AnswerRefused as error:
            raise forms.ValidationError(str(error)) from None
        if answer is None and self.required:
            raise forms.ValidationError(_("Answer this question."))
        return answer


class FilesField(AttachmentsField):
    """Field for the files that answer a question."""

    def __init__(self, question: Question, request: HttpRequest, job: Job) -> None:
        super().__init__(
            request,
            job,
            question_id=question_id_of(job.id, question.key),
            most=question.file_count,
            file_kinds=question.file_kinds,
            label=question.label,
            help_text=question.help,
            required=question.required,
        )
        self.question = question


def add_questions(
    form: forms.Form,
    questions: Sequence[Question],
    answers: Answers | None = None,
    *,
    sent_to: tuple[HttpRequest, Job] | None = None,
    attached: Sequence[Attachment] = (),
) -> None:
    """Add a field for each question to a form, filled with answers that were given before.

    `sent_to`: the request and the job with which files are uploaded; a preview has none.
    `attached`: the files of the application; those that the malware scan refused cannot stay.
    """
    rows = {str(row.id): row for row in attached if row.state != Attachment.State.REFUSED}
    for question in questions:
        name = f"{PREFIX}{question.key}"
        if question.kind is Kind.FILE and sent_to:
            form.fields[name] = files = FilesField(question, *sent_to)
            kept = (answers or {}).get(question.key) or ()
            files.attached = [rows[id] for id in kept if id in rows]
            if files.attached:
                form.initial[name] = ChosenFiles([row.id for row in files.attached], [])
            continue
        form.fields[name] = AnswerField(question)
        given = (answers or {}).get(question.key)
        if given is not None:
            shown = str(given).lower() if question.kind is Kind.YES_NO else given
            form.initial[name] = shown


def answers_in(form: forms.Form) -> Answers:
    """Return the answers in a valid form, by the keys of their questions."""
    found: Answers = {}
    for name, each in form.fields.items():
        given = form.cleaned_data.get(name)
        if isinstance(each, FilesField) and given:
            found[each.question.key] = [str(upload_id) for upload_id in given]
        elif isinstance(each, AnswerField) and given is not None:
            found[each.question.key] = given
    return found


def later_answers_in(form: forms.Form) -> Answers:
    """Return the answers in a valid form to change them: no file is an answer, too."""
    fields = form.fields.values()
    return {each.question.key: [] for each in fields if isinstance(each, FilesField)} | answers_in(
        form
    )


def copy_errors(form: forms.Form, wrong: Mapping[str, str]) -> None:
    """Show what is wrong with answers beside their fields."""
    for key, why in wrong.items():
        name = f"{PREFIX}{key}"
        form.add_error(name if name in form.fields else None, why)


def _help(question: Question) -> str:
    """Return the help of a question, with its bounds."""
    low, high = question.show(question.minimum), question.show(question.maximum)
    bounds = ""
    if low and high:
        bounds = _("From {low} to {high}.").format(low=low, high=high)
    elif low:
        bounds = _("{low} or more.").format(low=low)
    elif high:
        bounds = _("{high} or less.").format(high=high)
    if question.kind is Kind.PHONE:
        bounds = _("With the country code, like +49 30 901820.")
    elif question.kind is Kind.LINK:
        bounds = _("It begins with https://")
    return f"{question.help} {bounds}".strip()


def _text(length: int, **attrs: Any) -> forms.Widget:
    return forms.TextInput(attrs={"maxlength": length, **attrs})


def _choice_widget(question: Question) -> forms.Widget:
    choices = [(each, each) for each in question.choices]
    if len(choices) >= MANY_CHOICES and not question.other:
        return forms.Select(choices=[("", _("Choose one")), *choices])
    widget = _ChoiceWidget(choices=choices + _other_choice(question))
    widget.has_other = question.other
    return widget


def _choices_widget(question: Question) -> forms.Widget:
    choices = [(each, each) for each in question.choices]
    widget = _BoxesWidget(choices=choices + _other_choice(question))
    widget.has_other = question.other
    return widget


def _other_choice(question: Question) -> list[tuple[str, str]]:
    return [(OTHER, pgettext("answer", "Other"))] if question.other else []


def _yes_no_widget(_question: Question) -> forms.Widget:
    return _ChoiceWidget(
        choices=[("true", pgettext("answer", "Yes")), ("false", pgettext("answer", "No"))]
    )


def _number_widget(question: Question) -> forms.Widget:
    return forms.NumberInput(attrs={"inputmode": "decimal", "step": "any"})


_WIDGETS: dict[Kind, Any] = {
    Kind.SHORT_TEXT: lambda question: _text(SHORT_LENGTH),
    Kind.LONG_TEXT: lambda question: forms.Textarea(attrs={"maxlength": LONG_LENGTH, "rows": 5}),
    Kind.NUMBER: _number_widget,
    Kind.DATE: lambda question: forms.DateInput(format="%Y-%m-%d", attrs={"type": "date"}),
    Kind.CHOICE: _choice_widget,
    Kind.CHOICES: _choices_widget,
    Kind.YES_NO: _yes_no_widget,
    Kind.LINK: lambda question: forms.URLInput(attrs={"maxlength": LINK_LENGTH}),
    Kind.PHONE: lambda question: _text(PHONE_LENGTH, type="tel", autocomplete="tel"),
    Kind.FILE: lambda question: forms.FileInput(),
}
