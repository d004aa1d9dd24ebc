"""Words about how an application ended, for its applicant: one table. Pure."""

from __future__ import annotations

from typing import NamedTuple

from pipeline.domain.states import Outcome


class EndingWords(NamedTuple):
    """An outcome as the applicant reads it: a headline, and what they can do now."""

    headline: str
    advice: str


ENDING_WORDS: dict[Outcome, EndingWords] = {
    Outcome.WITHDRAWN: EndingWords(
        "You withdrew this application.",
        "You left this line yourself. You can apply again while the job is open. You would join at"
        " the back, and earlier misses still count.",
    ),
    Outcome.REMOVED: EndingWords(
        "The company removed your application from the line.",
        "If you think this is a mistake, contact the company. You can also apply again while the"
        " job is open.",
    ),
    Outcome.REJECTED: EndingWords(
        "The company has decided not to continue with your application.",
        "For this job, only the company can add you again. You can apply to any other job at any"
        " time.",
    ),
    Outcome.HIRED: EndingWords(
        "You are hired. Congratulations!",
        "There is nothing more to do here. The company will contact you.",
    ),
    Outcome.LAPSED: EndingWords(
        "This application ended: too many deadlines were missed.",
        "You missed more deadlines than this job allows. You can apply again while the job is open."
        " The misses still count, so you would join at the back of the line, and newcomers would"
        " pass you.",
    ),
    Outcome.JOB_CLOSED: EndingWords(
        "The company closed this job, so your application ended.",
        "The job closed before you had a confirmed seat. You did nothing wrong. Have a look "
        "at the other open jobs.",
    ),
}

# The ending of an application that was never verified: LAPSED, without a miss.
NEVER_VERIFIED = EndingWords(
    "This application ended: nobody verified the email address in time.",
    "If you did not apply, someone else entered your address. It does not count as a miss. "
    "You can apply while the job is open.",
)
