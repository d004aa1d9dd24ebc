"""Words about contests, and about the reasons for giving a place back. Pure."""

from __future__ import annotations

from pipeline.domain.contests import REASONS_OF, ContestAnswer, ContestReason
from pipeline.domain.states import ReinstatementReason
from pipeline.wording.english import capitalized

# They include the reasons for giving a place back.
CONTEST_REASON_WORDS: dict[ContestReason, str] = {
    ContestReason.DECISION_STANDS: "the decision was right",
    ContestReason.NO_PLACE_LEFT: "there is no place left to give back",
    ContestReason.OUR_ERROR: "an error on the company’s side",
    ContestReason.NEW_INFORMATION: "the applicant’s explanation",
    ContestReason.MAIL_FAILURE: "an email that did not arrive in time",
    ContestReason.ACCOMMODATION: "an accommodation for the applicant",
    ContestReason.PERSON_ERASED: "the applicant’s data was erased",
}

# The answers that a company can give, in the order of the form.
ANSWER_WORDS: dict[ContestAnswer, str] = {
    ContestAnswer.UPHELD: "It stays as it is",
    ContestAnswer.CHANGED: "Give their place back",
}


def contest_reason_choices() -> list[tuple[str, str]]:
    """Return the reasons that a company can choose, as form choices that begin with the answer."""
    return [
        (reason.value, f"{words}: {CONTEST_REASON_WORDS[reason]}")
        for answer, words in ANSWER_WORDS.items()
        for reason in REASONS_OF[answer]
    ]


def reinstatement_reason_choices() -> list[tuple[str, str]]:
    """Return every reason for giving a place back with its label, as form choices."""
    return [
        (reason.value, capitalized(CONTEST_REASON_WORDS[ContestReason(reason)]))
        for reason in ReinstatementReason
    ]
