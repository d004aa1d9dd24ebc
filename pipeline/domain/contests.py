"""Contests: requests to look again at an application's end, and the answers. Pure.

The company answers within a stated time, which is a setting. The log holds these codes, never the
texts.
"""

from __future__ import annotations

from datetime import timedelta
from enum import StrEnum

from pipeline.domain.states import EventType, Outcome

# How long after its end an application can be contested, and the most characters of each text.
CONTEST_WITHIN = timedelta(days=30)
TEXT_LENGTH = 2_000
# The ends that can be contested: decisions of the company, and the last missed deadline.
CONTESTABLE = (Outcome.LAPSED, Outcome.REMOVED, Outcome.REJECTED)
# The names in an event's data of the contest's id, of the `seq` of the contested event, of
# the time by which it is to be answered, of the answer, and of the answer's `seq`.
CONTEST_ID, CONTESTED_SEQ, ANSWER_BY = "contest_id", "contested_seq", "answer_by"
ANSWER, ANSWER_SEQ = "answer", "answer_seq"
# The events about a contest. They leave the application as it ended.
OF_CONTESTS = (EventType.CONTESTED, EventType.CONTEST_ANSWERED)


class ContestAnswer(StrEnum):
    """Answer to a contest."""

    UPHELD = "UPHELD"  # the decision stands
    CHANGED = "CHANGED"  # the person has the former place back
    DROPPED = "DROPPED"  # not answered: the person's data was erased


class ContestReason(StrEnum):
    """Reason for the answer to a contest."""

    DECISION_STANDS = "DECISION_STANDS"
    NO_PLACE_LEFT = "NO_PLACE_LEFT"
    OUR_ERROR = "OUR_ERROR"
    NEW_INFORMATION = "NEW_INFORMATION"
    MAIL_FAILURE = "MAIL_FAILURE"
    ACCOMMODATION = "ACCOMMODATION"
    PERSON_ERASED = "PERSON_ERASED"


# The reasons that fit each answer.
REASONS_OF: dict[ContestAnswer, tuple[ContestReason, ...]] = {
    ContestAnswer.UPHELD: (ContestReason.DECISION_STANDS, ContestReason.NO_PLACE_LEFT),
    ContestAnswer.CHANGED: (
        ContestReason.OUR_ERROR,
        ContestReason.NEW_INFORMATION,
        ContestReason.MAIL_FAILURE,
        ContestReason.ACCOMMODATION,
    ),
    ContestAnswer.DROPPED: (ContestReason.PERSON_ERASED,),
}
