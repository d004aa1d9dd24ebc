"""Alerts to a company's members: their words, and the pages that they lead to."""

from __future__ import annotations

from dataclasses import dataclass

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy

from pipeline.domain.permissions import Action


@dataclass(frozen=True, slots=True)
class AlertWords:
    """An alert: its subject, the sentence below, and the path of the page it leads to."""

    subject: Promise
    text: Promise
    path: str
    label: Promise
    action: Action = Action.READ_COMPANY  # only members who may take it can open the page


ALERT_WORDS: dict[str, AlertWords] = {
    "DECAY_SILENT": AlertWords(
        gettext_lazy("Deadlines are not being enforced"),
        gettext_lazy(
            "The decay worker has not run for more than a minute. Deadlines still count, but the"
            " next person is not offered a seat until someone changes the job. Start the worker"
            " (manage.py run_decay)."
        ),
        "/company/system/",
        gettext_lazy("System status"),
    ),
    "LINE_EMPTY": AlertWords(
        gettext_lazy("A job has free seats and nobody waiting"),
        gettext_lazy("An open job has had free seats and an empty waitlist for a day."),
        "/company/",
        gettext_lazy("Your jobs"),
    ),
    "DEAD_LETTERS": AlertWords(
        gettext_lazy("A background task failed in all its attempts"),
        gettext_lazy(
            "At least one of your tasks failed in all its attempts. Look at its error, then run it"
            " again or discard it."
        ),
        "/company/work/dead/",
        gettext_lazy("Dead letters"),
    ),
    "EMAILS_FAILED": AlertWords(
        gettext_lazy("An email could not be delivered"),
        gettext_lazy(
            "At least one email to an applicant was refused or came back. The application’s page"
            " says which one, and why."
        ),
        "/company/",
        gettext_lazy("Your jobs"),
    ),
    "CONTEST_ASKED": AlertWords(
        gettext_lazy("An applicant has asked you to look again"),
        gettext_lazy(
            "An applicant whose application ended has asked you to look at it again. The list shows"
            " when your answer is due."
        ),
        "/company/look-again/?state=OPEN",
        gettext_lazy("Look again"),
        Action.ANSWER_CONTEST,
    ),
    "CONTEST_DUE": AlertWords(
        gettext_lazy("An applicant is waiting for your answer"),
        gettext_lazy(
            "You have less than three days left to answer someone who asked you to look again."
        ),
        "/company/look-again/?state=OPEN",
        gettext_lazy("Look again"),
        Action.ANSWER_CONTEST,
    ),
    "CONTEST_OVERDUE": AlertWords(
        gettext_lazy("An answer to an applicant is overdue"),
        gettext_lazy(
            "Someone asked you to look again, and your answer is overdue. Answer now. Everyone can"
            " see how many of a job’s answers are overdue."
        ),
        "/company/look-again/?state=OVERDUE",
        gettext_lazy("Look again"),
        Action.ANSWER_CONTEST,
    ),
    "SEATS_KEPT": AlertWords(
        gettext_lazy("A planned change of seats was skipped"),
        gettext_lazy(
            "A planned change would have closed seats that are reserved, so it was skipped. The"
            " job’s log says which. Change the plan, or reserve fewer seats."
        ),
        "/company/",
        gettext_lazy("Your jobs"),
    ),
    "WEBHOOK_DISABLED": AlertWords(
        gettext_lazy("A webhook endpoint was switched off"),
        gettext_lazy(
            "We switched off a webhook endpoint, because every delivery to it failed for three days"
            " or it answered 410 Gone."
        ),
        "/company/webhooks/",
        gettext_lazy("Webhooks"),
        Action.MANAGE_WEBHOOKS,
    ),
    "CHAT_DISABLED": AlertWords(
        gettext_lazy("A chat channel was switched off"),
        gettext_lazy(
            "We switched off a chat channel, because every message to it failed for three days or"
            " the chat says that its address is gone. Enter a new address, then switch it on."
        ),
        "/company/chat/",
        gettext_lazy("Chat"),
        Action.MANAGE_CHAT,
    ),
}
