"""Questions of a job's form: their kinds and limits, and the check of answers to them. Pure.

A question is stored, and read by clients, as the object that `Question.as_json` returns.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal, InvalidOperation
from enum import StrEnum
from typing import Any

from django.core.exceptions import ValidationError
from django.core.validators import URLValidator
from django.utils.formats import date_format
from django.utils.translation import gettext as _
from django.utils.translation import ngettext, pgettext

from applicants.texts import cleaned_name, plain_text
from pipeline.attachments.kinds import NAMES

MOST_QUESTIONS, MOST_CHOICES, MOST_FILES, MOST_IN_SUMMARY = 30, 50, 5, 2
SHORT_LENGTH, LONG_LENGTH, LINK_LENGTH, PHONE_LENGTH = 200, 10_000, 500, 40
KEY_LENGTH, QUESTION_LENGTH, HELP_LENGTH, CHOICE_LENGTH = 40, 200, 500, 100
UNIT_LENGTH, SENTENCE_LENGTH = 20, 300
KEY = re.compile(rf"[a-z][a-z0-9_]{{0,{KEY_LENGTH - 1}}}")
# Of numbers: they stay exact as a floating-point number, and so in every program that reads JSON.
LARGEST, DECIMALS = 1_000_000_000, 4

# The singular of units that companies write in the plural.
_ONE_OF = {f"{each}s": each for each in "year month week day hour minute point mile".split()}

Answers = dict[str, Any]
_https = URLValidator(schemes=["https"])


class Kind(StrEnum):
    """Kind of a question."""

    SHORT_TEXT = "SHORT_TEXT"
    LONG_TEXT = "LONG_TEXT"
    NUMBER = "NUMBER"
    DATE = "DATE"
    CHOICE = "CHOICE"  # one of several
    CHOICES = "CHOICES"  # any of several
    YES_NO = "YES_NO"
    LINK = "LINK"
    PHONE = "PHONE"
    FILE = "FILE"


# The kinds whose answers have bounds, and those that can decide whether a person may apply.
RANGED, CHOSEN = (Kind.NUMBER, Kind.DATE), (Kind.CHOICE, Kind.CHOICES)
DECISIVE = (*RANGED, *CHOSEN, Kind.YES_NO)


class QuestionRefused(ValueError):
    """A question is not valid. `wrong` says why, by the name of its field."""

    def __init__(self, wrong: Mapping[str, str]) -> None:
        super().__init__(" ".join(wrong.values()))
        self.wrong = wrong


class AnswerRefused(ValueError):
    """An answer does not fit its question. The text says what to do."""


class AnswersRefused(ValueError):
    """Answers do not fit their form. `wrong` says why, by the key of the question."""

    def __init__(self, wrong: Mapping[str, str]) -> None:
        super().__init__(f"{len(wrong)} answers are not valid")
        self.wrong = wrong


@dataclass(frozen=True, slots=True)
class Must:
    """Condition on an answer without which a person may not apply, and the sentence they read.

    For yes or no, the answer that it must be; for a number or date, the bounds; for a choice, those
    that are enough; for several choices, those that are all needed.
    """

    refusal: str
    answer: bool | None = None
    minimum: Any = None
    maximum: Any = None
    choices: tuple[str, ...] = ()

    def is_met(self, kind: Kind, answer: Any) -> bool:
        """Tell whether an answer that fits its question meets the condition."""
        if answer is None:
            return False
        if kind is Kind.YES_NO:
            return answer is self.answer
        if kind is Kind.CHOICE:
            return answer in self.choices
        if kind is Kind.CHOICES:
            return set(self.choices) <= set(answer)
        above = self.minimum is None or answer >= self.minimum
        return above and (self.maximum is None or answer <= self.maximum)


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """Question of a form. `key` is its name for programs, the same in every version.

    `required`: nobody can apply without an answer, as with a condition. `minimum` and `maximum` are
    numbers, or dates as they are stored. `other`: an answer of the person's own can stand beside
    the choices. `file_kinds`: empty for any. `in_summary`: the answer is shown on the board.
    `searchable`: a search for a name also finds its words.
    """

    key: str
    kind: Kind
    label: str
    help: str = ""
    required: bool = False
    minimum: Any = None
    maximum: Any = None
    unit: str = ""
    choices: tuple[str, ...] = ()
    other: bool = False
    file_kinds: tuple[str, ...] = ()
    file_count: int = 1
    must: Must | None = None
    in_summary: bool = False
    searchable: bool = False

    def as_json(self) -> dict[str, Any]:
        """Return the question as it is stored and as the company reads it."""
        must = self.must
        return self.as_asked() | {
            "must": must
            and {
                "answer": must.answer,
                "minimum": must.minimum,
                "maximum": must.maximum,
                "choices": list(must.choices),
                "refusal": must.refusal,
            },
            "in_summary": self.in_summary,
            "searchable": self.searchable,
        }

    def as_asked(self) -> dict[str, Any]:
        """Return what a person reads who answers it. Two questions with the same are the same."""
        return {
            "key": self.key,
            "kind": self.kind.value,
            "label": self.label,
            "help": self.help,
            "required": self.required,
            "minimum": self.minimum,
            "maximum": self.maximum,
            "unit": self.unit,
            "choices": list(self.choices),
            "other": self.other,
            "file_kinds": list(self.file_kinds),
            "file_count": self.file_count,
        }

    def check(self, given: Any) -> Any:
        """Return an answer as it is stored, None if it is empty. Raises AnswerRefused."""
        if given is None or given in ("", []):
            return None
        return _CHECKS[self.kind](self, given)

    def parse(self, text: str) -> Any:
        """Return the answer that a text means, as in a cell of a table. Raises AnswerRefused."""
        text = text.strip()
        if not text:
            return None
        if self.kind is Kind.YES_NO:
            word = text.casefold()
            if word not in _YES | _NO:
                raise AnswerRefused(_("Enter yes or no."))
            return word in _YES
        if self.kind is Kind.FILE:
            raise AnswerRefused(_("A file cannot be imported from a table. Leave the cell empty."))
        if self.kind is Kind.NUMBER:
            return self.check(_parse_number(text))
        if self.kind is Kind.CHOICES:
            return self.check([part.strip() for part in re.split(r"[;\n]", text) if part.strip()])
        return self.check(text)

    def show(self, answer: Any) -> str:
        """Return an answer as people read it."""
        if answer is None:
            return ""
        match self.kind:
            case Kind.YES_NO:
                return pgettext("answer", "Yes") if answer else pgettext("answer", "No")
            case Kind.NUMBER:
                unit = _ONE_OF.get(self.unit.casefold(), self.unit) if answer == 1 else self.unit
                return f"{answer:,} {unit}".strip()
            case Kind.DATE:
                return _shown_date(answer)
            case Kind.CHOICES:
                return ", ".join(answer)
            case Kind.FILE:
                files = ngettext("{count} file", "{count} files", len(answer))
                return files.format(count=len(answer))
        return str(answer)

    def show_must(self) -> str:
        """Return the condition on its answer as people read it; empty without one."""
        must = self.must
        if must is None:
            return ""
        if self.kind is Kind.YES_NO:
            return self.show(must.answer)
        if self.kind in CHOSEN:
            names = ", ".join(must.choices)
            if self.kind is Kind.CHOICE:
                return _("One of: {names}").format(names=names)
            return _("All of: {names}").format(names=names)
        low, high = self.show(must.minimum), self.show(must.maximum)
        if low and high:
            return _("{low} to {high}").format(low=low, high=high)
        if self.kind is Kind.DATE:
            return (
                _("{low} or later").format(low=low)
                if low
                else _("{high} or earlier").format(high=high)
            )
        return _("{low} or more").format(low=low) if low else _("{high} or less").format(high=high)


def check_answers(
    questions: Sequence[Question], given: Mapping[str, Any], *, is_complete: bool = True
) -> Answers:
    """Return answers as they are stored, by the keys of their questions, in the form's order.

    `is_complete`: an answer is needed where the form says so. Raises AnswersRefused.
    """
    answers: Answers = {}
    wrong: dict[str, str] = {}
    for question in questions:
        try:
            answer = question.check(given.get(question.key))
        except AnswerRefused as error:
            wrong[question.key] = str(error)
            continue
        if answer is not None:
            answers[question.key] = answer
        elif is_complete and question.required:
            wrong[question.key] = _("Answer this question.")
    known = {question.key for question in questions}
    wrong |= {key: _("The form has no such question.") for key in given if key not in known}
    if wrong:
        raise AnswersRefused(wrong)
    return answers


def find_unmet(questions: Iterable[Question], answers: Answers) -> Question | None:
    """Return the first question whose answer means that the person may not apply."""
    for question in questions:
        answer = answers.get(question.key)
        if question.must and not question.must.is_met(question.kind, answer):
            return question
    return None


# The check of an answer, by the kind of its question.


def _check_short(question: Question, given: Any) -> str | None:
    text = cleaned_name(plain_text(_string(given)).replace("\n", " "))
    return _within(text, SHORT_LENGTH) or None


def _check_long(question: Question, given: Any) -> str | None:
    return _within(plain_text(_string(given)), LONG_LENGTH) or None


def _check_number(question: Question, given: Any) -> int | float:
    if isinstance(given, bool) or not isinstance(given, int | float | Decimal):
        raise AnswerRefused(_("Enter a number, in digits."))
    number = _plain_number(given)
    _check_range(question, number)
    return number


def _check_date(question: Question, given: Any) -> str:
    try:
        day = date.fromisoformat(_string(given)[:10]).isoformat()
    except ValueError:
        day = ""
    if day != given:
        raise AnswerRefused(_("Enter a date, like 2026-01-31."))
    _check_range(question, day)
    return day


def _check_range(question: Question, value: Any) -> None:
    low, high = question.minimum, question.maximum
    if low is not None and value < low:
        raise AnswerRefused(_("Enter {limit} or more.").format(limit=question.show(low)))
    if high is not None and value > high:
        raise AnswerRefused(_("Enter {limit} or less.").format(limit=question.show(high)))


def _check_choice(question: Question, given: Any) -> str | None:
    chosen = cleaned_name(_string(given))
    if chosen in question.choices:
        return chosen
    if not question.other:
        raise AnswerRefused(_("Choose one of the options."))
    return _within(chosen, SHORT_LENGTH) or None


def _check_choices(question: Question, given: Any) -> list[str] | None:
    if not isinstance(given, list | tuple):
        raise AnswerRefused(_("Send a list of the chosen options."))
    chosen = list(dict.fromkeys(cleaned_name(_string(each)) for each in given))
    own = [each for each in chosen if each not in question.choices]
    if own and not question.other:
        raise AnswerRefused(_("Choose only from the options."))
    if len(own) > 1:
        raise AnswerRefused(_("Add only one answer of your own to the options."))
    return [each for each in chosen if _within(each, SHORT_LENGTH)] or None


def _check_yes_no(question: Question, given: Any) -> bool:
    if not isinstance(given, bool):
        raise AnswerRefused(_("Answer yes or no."))
    return given


def _check_link(question: Question, given: Any) -> str:
    link = _within(_string(given).strip(), LINK_LENGTH)
    try:
        _https(link)
    except ValidationError:
        why = _("Enter a link that begins with https://, like https://example.org/me.")
        raise AnswerRefused(why) from None
    return link


def _check_phone(question: Question, given: Any) -> str:
    import phonenumbers  # its tables take a while to load, and few forms ask for a phone number

    why = _("Enter a phone number with its country code, like +49 30 901820.")
    try:
        number = phonenumbers.parse(_string(given)[:PHONE_LENGTH])
    except phonenumbers.NumberParseException:
        raise AnswerRefused(why) from None
    if not phonenumbers.is_valid_number(number):
        raise AnswerRefused(why)
    found: str = phonenumbers.format_number(number, phonenumbers.PhoneNumberFormat.E164)
    return found


def _check_files(question: Question, given: Any) -> list[str]:
    if not isinstance(given, list | tuple) or not all(isinstance(each, str) for each in given):
        raise AnswerRefused(_("Send a list of the ids of uploaded files."))
    if len(given) > question.file_count:
        why = ngettext(
            "Attach at most {count} file.", "Attach at most {count} files.", question.file_count
        ).format(count=question.file_count)
        raise AnswerRefused(why)
    return list(dict.fromkeys(given))


_CHECKS: dict[Kind, Callable[[Question, Any], Any]] = {
    Kind.SHORT_TEXT: _check_short,
    Kind.LONG_TEXT: _check_long,
    Kind.NUMBER: _check_number,
    Kind.DATE: _check_date,
    Kind.CHOICE: _check_choice,
    Kind.CHOICES: _check_choices,
    Kind.YES_NO: _check_yes_no,
    Kind.LINK: _check_link,
    Kind.PHONE: _check_phone,
    Kind.FILE: _check_files,
}
_YES, _NO = frozenset({"yes", "y", "true", "1"}), frozenset({"no", "n", "false", "0"})


def _string(given: Any) -> str:
    if not isinstance(given, str):
        raise AnswerRefused(_("Send a text."))
    if "\0" in given:
        raise AnswerRefused(_("Remove the invisible characters."))
    return given


def _within(text: str, length: int) -> str:
    if len(text) > length:
        why = _("Enter at most {length:,} characters; there are {now:,} now.")
        raise AnswerRefused(why.format(length=length, now=len(text)))
    return text


def _plain_number(given: float | Decimal) -> int | float:
    """Return a number as it is stored: whole if it is. Raises AnswerRefused."""
    number = Decimal(str(given))
    if not number.is_finite() or abs(number) > LARGEST:
        raise AnswerRefused(_("Enter a number up to a billion."))
    if number != round(number, DECIMALS):
        why = ngettext(
            "Enter a number with at most {decimals} digit after the point.",
            "Enter a number with at most {decimals} digits after the point.",
            DECIMALS,
        )
        raise AnswerRefused(why.format(decimals=DECIMALS))
    return int(number) if number == number.to_integral_value() else float(number)


def _parse_number(text: str) -> Decimal:
    try:
        return Decimal(text)
    except InvalidOperation:
        raise AnswerRefused(_("Enter a number, in digits.")) from None


def _shown_date(day: str) -> str:
    return date_format(date.fromisoformat(day), "j F Y")


# Questions as they are stored and sent.


def read_questions(stored: Iterable[Mapping[str, Any]]) -> tuple[Question, ...]:
    """Return questions that were checked before, from a stored form."""
    return tuple(_read_question(each) for each in stored)


def _read_question(stored: Mapping[str, Any]) -> Question:
    must = stored["must"]
    condition = must and Must(**{**must, "choices": tuple(must["choices"])})
    lists = {name: tuple(stored[name]) for name in ("choices", "file_kinds")}
    return Question(**{**stored, **lists, "kind": Kind(stored["kind"]), "must": condition})


def build_question(given: Mapping[str, Any]) -> Question:
    """Return the question that a company describes. Raises QuestionRefused.

    `given` has the fields of `Question.as_json`, each of the right type; those that do not fit the
    kind are left out.
    """
    return _Description(given).question()


def check_form(questions: Sequence[Question]) -> None:
    """Check what concerns all questions of a form. Raises QuestionRefused."""
    if len(questions) > MOST_QUESTIONS:
        why = ngettext(
            "A form can have {limit} question. Remove one first.",
            "A form can have {limit} questions. Remove one first.",
            MOST_QUESTIONS,
        )
        raise QuestionRefused({"questions": why.format(limit=MOST_QUESTIONS)})
    keys = [question.key for question in questions]
    if len(set(keys)) < len(keys):
        raise QuestionRefused({"key": _("Another question of the form has this key.")})
    if sum(question.in_summary for question in questions) > MOST_IN_SUMMARY:
        why = ngettext(
            "The board shows the answers to {limit} question. Take one off it first.",
            "The board shows the answers to {limit} questions. Take one off it first.",
            MOST_IN_SUMMARY,
        )
        raise QuestionRefused({"in_summary": why.format(limit=MOST_IN_SUMMARY)})


def suggest_key(label: str, taken: Iterable[str]) -> str:
    """Return a key for a question, made from its label, that is not taken."""
    words = re.sub(r"[^a-z0-9]+", "_", _ascii(label).lower()).strip("_")
    base = (words if words[:1].isalpha() else f"q_{words}")[: KEY_LENGTH - 3].strip("_")
    used = set(taken)
    numbers = (f"{base}_{number}" for number in range(2, MOST_QUESTIONS + 2))
    return base if base not in used else next(each for each in numbers if each not in used)


def _ascii(text: str) -> str:
    return unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()


@dataclass(slots=True)
class _Description:
    """Description of a question that is being checked, with what is wrong in it."""

    given: Mapping[str, Any]
    wrong: dict[str, str] = field(default_factory=dict)

    def question(self) -> Question:
        kind = Kind(self.given["kind"])
        key = str(self.given.get("key") or "")
        if not KEY.fullmatch(key):
            self.wrong["key"] = _("A key has lower-case letters, digits and underscores.")
        if not (label := self._text("label", QUESTION_LENGTH)):
            self.wrong["label"] = _("Enter the question.")
        choices = self._choices() if kind in CHOSEN else ()
        low, high = self._bounds(self.given, kind) if kind in RANGED else (None, None)
        must = self._must(kind, choices) if kind in DECISIVE else None
        question = Question(
            key=key,
            kind=kind,
            label=label,
            help=self._text("help", HELP_LENGTH),
            required=bool(self.given.get("required")) or must is not None,
            minimum=low,
            maximum=high,
            unit=self._text("unit", UNIT_LENGTH) if kind is Kind.NUMBER else "",
            choices=choices,
            other=bool(self.given.get("other")) and kind in CHOSEN,
            file_kinds=self._file_kinds() if kind is Kind.FILE else (),
            file_count=self._file_count() if kind is Kind.FILE else 1,
            must=must,
            in_summary=bool(self.given.get("in_summary")) and kind is not Kind.FILE,
            searchable=bool(self.given.get("searchable"))
            and kind in (Kind.SHORT_TEXT, Kind.LONG_TEXT, *CHOSEN),
        )
        if self.wrong:
            raise QuestionRefused(self.wrong)
        return question

    def _text(self, name: str, length: int) -> str:
        text = plain_text(str(self.given.get(name) or ""))
        text = text if name == "help" else cleaned_name(text.replace("\n", " "))
        if len(text) > length:
            why = _("Enter at most {length:,} characters; there are {now:,} now.")
            self.wrong[name] = why.format(length=length, now=len(text))
        return text

    def _choices(self) -> tuple[str, ...]:
        found = tuple(
            dict.fromkeys(filter(None, (cleaned_name(each) for each in self.given["choices"])))
        )
        if not 2 <= len(found) + bool(self.given.get("other")) <= MOST_CHOICES or not found:
            why = ngettext(
                "Enter 2 to {limit} option, one on each line.",
                "Enter 2 to {limit} options, one on each line.",
                MOST_CHOICES,
            )
            self.wrong["choices"] = why.format(limit=MOST_CHOICES)
        elif any(len(each) > CHOICE_LENGTH for each in found):
            why = ngettext(
                "Shorten each option to {length} character.",
                "Shorten each option to {length} characters.",
                CHOICE_LENGTH,
            )
            self.wrong["choices"] = why.format(length=CHOICE_LENGTH)
        return found

    def _bounds(self, given: Mapping[str, Any], kind: Kind, under: str = "") -> tuple[Any, Any]:
        """Return the two bounds of an answer, or of the answers with which one may apply."""
        plain = Question(key="bound", kind=kind, label="bound")
        found: list[Any] = [None, None]
        for at, name in enumerate(("minimum", "maximum")):
            try:
                found[at] = plain.check(given.get(name))
            except AnswerRefused as error:
                self.wrong[f"{under}{name}"] = str(error)
        low, high = found
        if low is not None and high is not None and low > high:
            self.wrong[f"{under}maximum"] = _("Enter a largest answer above the smallest.")
        return low, high

    def _file_kinds(self) -> tuple[str, ...]:
        found = tuple(dict.fromkeys(self.given.get("file_kinds") or ()))
        if not set(found) <= set(NAMES):
            why = _("Choose kinds of files from {names}.")
            self.wrong["file_kinds"] = why.format(names=", ".join(NAMES))
        return found

    def _file_count(self) -> int:
        count = self.given.get("file_count") or 1
        if not 1 <= count <= MOST_FILES:
            why = ngettext("Enter 1 to {limit} file.", "Enter 1 to {limit} files.", MOST_FILES)
            self.wrong["file_count"] = why.format(limit=MOST_FILES)
        return int(count)

    def _must(self, kind: Kind, choices: tuple[str, ...]) -> Must | None:
        given = self.given.get("must")
        if not given:
            return None
        refusal = cleaned_name(plain_text(str(given.get("refusal") or "")).replace("\n", " "))
        if not refusal:
            self.wrong["refusal"] = _("Enter the sentence for people who may not apply.")
        elif len(refusal) > SENTENCE_LENGTH:
            why = _("Enter at most {length:,} characters; there are {now:,} now.")
            self.wrong["refusal"] = why.format(length=SENTENCE_LENGTH, now=len(refusal))
        low, high = self._bounds(given, kind, "must_") if kind in RANGED else (None, None)
        needed = tuple(cleaned_name(each) for each in given.get("choices") or ())
        needed = needed if kind in CHOSEN else ()
        answer = given.get("answer") if kind is Kind.YES_NO else None
        if kind in CHOSEN and not (needed and set(needed) <= set(choices)):
            self.wrong["must_choices"] = _("Choose at least one of the options above.")
        if kind in RANGED and low is None and high is None:
            self.wrong["must_minimum"] = _("Enter a smallest or a largest answer.")
        if kind is Kind.YES_NO and not isinstance(answer, bool):
            self.wrong["must_answer"] = _("Choose the answer with which people may apply.")
        return Must(refusal, answer, low, high, needed)
