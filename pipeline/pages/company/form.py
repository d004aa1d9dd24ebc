"""Pages on which a company builds the form of a job: its questions, a preview, and publishing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any
from uuid import UUID

from django import forms
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext, pgettext_lazy
from django.views.decorators.http import require_http_methods, require_safe

from applicants.forms import ApplyForm, NameField
from jobs.models import Job, JobStatus
from pipeline.attachments.kinds import NAMES as FILE_KINDS
from pipeline.domain.errors import LineError, StaleVersion
from pipeline.domain.permissions import Action
from pipeline.form import versions
from pipeline.form.questions import (
    CHOICE_LENGTH,
    CHOSEN,
    DECISIVE,
    HELP_LENGTH,
    MOST_CHOICES,
    MOST_FILES,
    MOST_QUESTIONS,
    QUESTION_LENGTH,
    RANGED,
    SENTENCE_LENGTH,
    UNIT_LENGTH,
    AnswerRefused,
    Kind,
    Question,
    QuestionRefused,
    build_question,
    read_questions,
    suggest_key,
)
from pipeline.form.versions import Draft, read_draft
from pipeline.pages.access import for_members, own_job
from pipeline.pages.answer_forms import add_questions
from pipeline.pages.company import job_templates
from pipeline.pages.error_messages import explain_refusal
from pipeline.pages.forms import LinesField, PlainForm
from pipeline.selectors.jobs import read_company_jobs

JOBS_TO_COPY = 20
KIND_WORDS = {
    Kind.SHORT_TEXT: gettext_lazy("Short text"),
    Kind.LONG_TEXT: gettext_lazy("Long text"),
    Kind.YES_NO: gettext_lazy("Yes or no"),
    Kind.CHOICE: gettext_lazy("One choice"),
    Kind.CHOICES: gettext_lazy("Several choices"),
    Kind.NUMBER: pgettext_lazy("kind of answer", "Number"),
    Kind.DATE: pgettext_lazy("kind of answer", "Date"),
    Kind.LINK: pgettext_lazy("kind of answer", "Link"),
    Kind.PHONE: gettext_lazy("Phone number"),
    Kind.FILE: pgettext_lazy("kind of answer", "File"),
}
STALE = gettext_lazy(
    "Someone else changed these questions meanwhile. They are shown as they are now; try again."
)


def _flag(label: Any, help_text: Any = "") -> forms.BooleanField:
    return forms.BooleanField(label=label, required=False, help_text=help_text)


def _bound(kind: Kind, label: Any) -> forms.CharField:
    is_date = kind is Kind.DATE
    attrs = {"type": "date"} if is_date else {"inputmode": "decimal"}
    return forms.CharField(
        label=label, required=False, max_length=20, widget=forms.TextInput(attrs=attrs)
    )


def _lines(label: Any, help_text: Any = "", *, required: bool = False) -> LinesField:
    return LinesField(
        label=label,
        required=required,
        max_length=(CHOICE_LENGTH + 1) * MOST_CHOICES,
        widget=forms.Textarea(attrs={"rows": 5}),
        help_text=help_text,
    )


class QuestionForm(PlainForm):
    """Question of a kind. Its condition, if it can have one, comes last."""

    label = NameField(label=pgettext_lazy("label", "Question"), max_length=QUESTION_LENGTH)
    help = forms.CharField(
        label=gettext_lazy("Help below the question"), required=False, max_length=HELP_LENGTH
    )
    required = _flag(gettext_lazy("People have to answer it"))

    def __init__(self, kind: Kind, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self.kind = kind
        self.fields |= self._fields_of_kind()

    def _fields_of_kind(self) -> dict[str, forms.Field]:
        kind = self.kind
        more: dict[str, forms.Field] = {}
        if kind in CHOSEN:
            more["choices"] = _lines(
                pgettext("label", "Options"), _("One on each line, 2 to 50."), required=True
            )
            more["other"] = _flag(_("People can write an answer of their own"))
        if kind in RANGED:
            more["minimum"] = _bound(kind, _("Smallest answer"))
            more["maximum"] = _bound(kind, _("Largest answer"))
        if kind is Kind.NUMBER:
            more["unit"] = NameField(
                label=pgettext("label", "Unit"),
                required=False,
                max_length=UNIT_LENGTH,
                help_text=_("For example “years”."),
            )
        if kind is Kind.FILE:
            more["file_count"] = forms.IntegerField(
                label=_("Number of files"), min_value=1, max_value=MOST_FILES, initial=1
            )
            more["file_kinds"] = forms.MultipleChoiceField(
                label=_("Kinds of files"),
                required=False,
                choices=[(name, name) for name in FILE_KINDS],
                widget=forms.CheckboxSelectMultiple,
                help_text=_("Tick none to accept all of them."),
            )
        else:
            more["in_summary"] = _flag(
                _("Show the answer on the board"), _("For at most two questions.")
            )
        if kind in (Kind.SHORT_TEXT, Kind.LONG_TEXT, *CHOSEN):
            more["searchable"] = _flag(
                _("Find people by words of the answer"),
                _("Otherwise a search finds names only. It applies to answers given from now on."),
            )
        if kind in DECISIVE:
            more |= self._fields_of_condition()
        return more

    def _fields_of_condition(self) -> dict[str, forms.Field]:
        kind = self.kind
        more: dict[str, forms.Field] = {}
        more["must"] = _flag(
            _("Only people with a certain answer may apply"),
            _(
                "Everyone else is refused before they join the line, and reads your sentence. It"
                " is public, and so is how many people it has refused."
            ),
        )
        if kind is Kind.YES_NO:
            choices = [("true", pgettext("answer", "Yes")), ("false", pgettext("answer", "No"))]
            more["must_answer"] = forms.ChoiceField(
                label=_("The answer must be"), choices=choices, required=False
            )
        elif kind in RANGED:
            more["must_minimum"] = _bound(kind, _("The answer must be at least"))
            more["must_maximum"] = _bound(kind, _("The answer must be at most"))
        else:
            label = _("One of these") if kind is Kind.CHOICE else _("All of these")
            more["must_choices"] = _lines(label, _("Options from above, one on each line."))
        more["refusal"] = NameField(
            label=_("Sentence for people who may not apply"),
            required=False,
            max_length=SENTENCE_LENGTH,
            help_text=_("For example: “This work needs a forklift licence.”"),
        )
        return more

    def question(self, key: str) -> Question | None:
        """Return the question that was entered, or None with errors beside the fields."""
        given = dict(self.cleaned_data)
        wrong: dict[str, str] = {}
        for name in ("minimum", "maximum", "must_minimum", "must_maximum"):
            if name in given:
                given[name] = self._bound_in(name, given[name], wrong)
        for name in ("choices", "must_choices"):
            given[name] = [each for each in given.get(name, "").split("\n") if each.strip()]
        must = {
            "answer": given.get("must_answer") == "true",
            "minimum": given.get("must_minimum"),
            "maximum": given.get("must_maximum"),
            "choices": given["must_choices"],
            "refusal": given.get("refusal"),
        }
        described = given | {
            "key": key,
            "kind": self.kind,
            "must": must if given.get("must") else 0,
        }
        try:
            if not wrong:
                return build_question(described)
        except QuestionRefused as error:
            wrong = dict(error.wrong)
        for name, why in wrong.items():
            self.add_error(name if name in self.fields else None, why)
        return None

    def _bound_in(self, name: str, text: str, wrong: dict[str, str]) -> Any:
        try:
            return Question(key="bound", kind=self.kind, label="bound").parse(text)
        except AnswerRefused as error:
            wrong[name] = str(error)
        return None


def _initial(question: Question) -> dict[str, Any]:
    """Return a question as initial values of its form."""
    values = question.as_json()
    must = values["must"]
    values |= {"required": question.required, "choices": "\n".join(question.choices)}
    if must:
        values |= {f"must_{name}": must[name] for name in ("minimum", "maximum")}
        values |= {"must_answer": "true" if must["answer"] else "false"}
        values |= {"must_choices": "\n".join(must["choices"]), "refusal": must["refusal"]}
    return values | {"must": bool(must)}


@require_http_methods(["GET", "POST"])
@for_members()
def show(request: HttpRequest, job_id: UUID) -> HttpResponse:
    """Show the questions of a job, and carry out what its buttons ask for."""
    member, job = own_job(request, job_id)
    if request.method == "POST":
        member, job = own_job(request, job_id, Action.EDIT_FORM)
        act = request.POST.get("act", "")
        if act == "publish":
            _publish(request, job)
        elif change := _change(request, job, act):
            _edit(request, job, change)
        return redirect("job_form", job_id=job_id)
    draft = read_draft(job)
    may_edit = member.may(Action.EDIT_FORM) and job.status != JobStatus.CLOSED
    context = {
        "job": job,
        "tab": "settings",
        "draft": draft,
        "rows": [(each, KIND_WORDS[each.kind]) for each in draft.questions],
        "may_edit": may_edit,
        "kinds": KIND_WORDS.items(),
        "most": MOST_QUESTIONS,
        "is_full": len(draft.questions) >= MOST_QUESTIONS,
        **(_sources(job) if may_edit else {}),
    }
    return render(request, "company/form.html", context)


def _sources(job: Job) -> dict[str, Any]:
    """Return the jobs and templates whose questions can be copied, in three queries."""
    page = read_company_jobs(job.company_id, status=None, search="", after=None, limit=JOBS_TO_COPY)
    others = [each for each in page.rows if each.id != job.id and each.form_version]
    templates = [each for each in job_templates.read_all(job.company_id) if each.questions]
    return {"other_jobs": others, "templates": templates}


def _publish(request: HttpRequest, job: Job) -> None:
    member, _job = own_job(request, job.id, Action.EDIT_FORM)
    if request.POST.get("revision") != str(read_draft(job).revision):
        messages.error(request, str(STALE))
        return
    try:
        number = versions.publish(job_id=job.id, actor=member.actor)
    except QuestionRefused as error:
        messages.error(request, str(error))
    except LineError as error:
        messages.error(request, explain_refusal(error))
    else:
        done = _("Version %(number)s is published: people who apply answer it from now on.")
        none = _("The job asks no questions any more. Earlier answers are kept.")
        messages.success(request, done % {"number": number} if number else none)


def _change(
    request: HttpRequest, job: Job, act: str
) -> Callable[[list[Question]], Sequence[Question]] | None:
    """Return the change of the draft that a button asks for; None if it is unknown."""
    key = request.POST.get("key", "")
    match act:
        case "up" | "down":
            return partial(versions.move, key=key, places=-1 if act == "up" else 1)
        case "remove":
            return partial(versions.remove, key=key)
        case "arrange":
            keys = request.POST.get("order", "").split()[:MOST_QUESTIONS]
            return partial(versions.arrange, keys=keys)
        case "copy":
            return partial(versions.copy, more=_questions_to_copy(request, job))
    return None


def _questions_to_copy(request: HttpRequest, job: Job) -> Sequence[Question]:
    """Return the questions of another job or a template of the company. Raises Http404."""
    kind, _colon, id_text = request.POST.get("from", "").partition(":")
    with suppress(ValueError):
        source = UUID(id_text)
        if kind == "job":
            _member, other = own_job(request, source, Action.EDIT_FORM)
            if other.company_id == job.company_id:
                return read_draft(other).questions
        elif kind == "template":
            template = job_templates.read_own(request, source)
            if template.company_id == job.company_id:
                return read_questions(template.questions)
    raise Http404


def _edit(
    request: HttpRequest, job: Job, change: Callable[[list[Question]], Sequence[Question]]
) -> bool:
    """Change the draft as the page showed it. Return whether that was possible."""
    revision = request.POST.get("revision", "")
    try:
        shown = int(revision) if revision.isdecimal() and len(revision) < 10 else -1
        versions.edit(job=job, revision=shown, change=change)
    except StaleVersion:
        messages.error(request, str(STALE))
    except QuestionRefused as error:
        messages.error(request, str(error))
    except LineError as error:
        messages.error(request, explain_refusal(error))
    else:
        return True
    return False


@require_http_methods(["GET", "POST"])
@for_members()
def add_question(request: HttpRequest, job_id: UUID, kind: str) -> HttpResponse:
    """Show the form for a new question of a kind, and add it at the end."""
    _member, job = own_job(request, job_id, Action.EDIT_FORM)
    if kind not in set(Kind):
        raise Http404
    form = QuestionForm(Kind(kind), request.POST or None)
    draft = read_draft(job)
    if form.is_valid():
        key = suggest_key(form.cleaned_data["label"], [each.key for each in draft.questions])
        question = form.question(key)
        if question and _edit(request, job, partial(versions.add, question=question)):
            return redirect("job_form", job_id=job_id)
    return _render_question(request, job, form, draft)


@require_http_methods(["GET", "POST"])
@for_members()
def edit_question(request: HttpRequest, job_id: UUID, key: str) -> HttpResponse:
    """Show the form of a question, and change it."""
    _member, job = own_job(request, job_id, Action.EDIT_FORM)
    draft = read_draft(job)
    known = next((each for each in draft.questions if each.key == key), None)
    if known is None:
        raise Http404
    form = QuestionForm(known.kind, request.POST or None, initial=_initial(known))
    if form.is_valid():
        question = form.question(key)
        if question and _edit(request, job, partial(versions.put, question=question)):
            return redirect("job_form", job_id=job_id)
    return _render_question(request, job, form, draft, known)


def _render_question(
    request: HttpRequest,
    job: Job,
    form: QuestionForm,
    draft: Draft,
    known: Question | None = None,
) -> HttpResponse:
    condition = ("must", "must_answer", "must_minimum", "must_maximum", "must_choices", "refusal")
    context = {
        "job": job,
        "tab": "settings",
        "form": form,
        "plain": [each for each in form if each.name not in condition],
        "condition": [each for each in form if each.name in condition],
        "draft": draft,
        "question": known,
        "kind": KIND_WORDS[form.kind],
    }
    status = 422 if request.method == "POST" else 200
    return render(request, "company/question.html", context, status=status)


@require_safe
@for_members()
def preview(request: HttpRequest, job_id: UUID) -> HttpResponse:
    """Show the form as people who apply will see it. Its button does nothing."""
    _member, job = own_job(request, job_id)
    draft, form = read_draft(job), ApplyForm()
    add_questions(form, draft.questions)
    context = {"job": job, "tab": "settings", "form": form, "draft": draft}
    return render(request, "company/form_preview.html", context)
