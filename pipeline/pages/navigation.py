"""Navigation of members and applicants, declared once for rail, top bar, Settings and palette.

A member sees only what the role may open: each place names the action that its page asks for.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

from django.conf import settings
from django.http import HttpRequest
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from pipeline.correspondence.threads import WRITE
from pipeline.domain.permissions import Action
from pipeline.pages.access import Member, current_applicant, current_member
from pipeline.selectors.jobs import OpenJob, read_newest_open_jobs

# How many open jobs the rail names.
MOST_JOBS = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Page that can be gone to. `about` is its sentence on the Settings page."""

    name: str  # of its URL
    label: str | Promise
    icon: str = ""  # of heroicons
    action: Action = Action.READ_COMPANY
    about: str | Promise = ""
    within: str = ""  # the names of the URLs of the pages below it
    key: str = ""  # goes there after "g"
    in_sandbox: bool = True
    needs_dev_mail: bool = False

    @property
    def url(self) -> str:
        """Return its address."""
        return reverse(self.name)

    def is_open_to(self, member: Member) -> bool:
        """Return whether the member may open it."""
        return (
            member.may(self.action)
            and (self.in_sandbox or not member.company.is_test)
            and (settings.DEV_MAIL or not self.needs_dev_mail)
        )

    def holds(self, name: str) -> bool:
        """Return whether a page is this place or below it, by the name of its URL."""
        return name == self.name or name in self.within.split()


@dataclass(frozen=True, slots=True)
class Section:
    """Part of the Settings page."""

    title: str | Promise
    places: tuple[Place, ...]


SECTIONS = (
    Section(
        pgettext_lazy("label", "Company"),
        (
            Place(
                name="team",
                label=pgettext_lazy("label", "Team"),
                icon="user-group",
                about=_("Who can act for your company, and in which role."),
                within="team_member invitations",
                in_sandbox=False,  # it has the members of the live company
            ),
            Place(
                name="identity_provider",
                label=_("Single sign-on"),
                icon="identification",
                action=Action.MANAGE_TEAM,
                about=_("Members sign in with the account that they have at work."),
                in_sandbox=False,
            ),
            Place(
                name="provisioning",
                label=_("Provisioning"),
                icon="arrow-path",
                action=Action.MANAGE_TEAM,
                about=_("Your identity provider adds members and ends their access."),
                in_sandbox=False,
            ),
            Place(
                name="activity",
                label=_("What the team did"),
                icon="clipboard-document-list",
                action=Action.MANAGE_TEAM,
                about=_("Sign-ins, roles, keys, rules, exports and looks at files."),
            ),
            Place(
                name="careers_settings",
                label=_("Careers page"),
                icon="globe-alt",
                about=_("Your own page with your jobs: logo, colour, words and domain."),
                in_sandbox=False,
            ),
            Place(
                name="working_hours",
                label=_("Working hours"),
                icon="clock",
                action=Action.CHANGE_REVIEW,
                about=_("The hours in which review targets count."),
            ),
            Place(
                name="undo_time",
                label=_("Time to undo"),
                icon="arrow-uturn-left",
                about=_("How long a decision waits, so that you can take it back."),
            ),
            Place(
                name="company_emails",
                label=pgettext_lazy("label", "Emails"),
                icon="envelope-open",
                about=_("Your name and your own words in emails to applicants."),
                within="company_email email_sender",
            ),
            Place(
                name="company_privacy",
                label=pgettext_lazy("label", "Privacy"),
                icon="lock-closed",
                about=_("Your privacy notice and consents, and how long data is kept."),
            ),
            Place(
                name="chat",
                label=_("Chat"),
                icon="chat-bubble-oval-left-ellipsis",
                action=Action.MANAGE_CHAT,
                about=_("Messages in Slack or Microsoft Teams when somebody waits for you."),
                within="new_chat chat_channel edit_chat end_chat",
                in_sandbox=False,  # nothing leaves a sandbox
            ),
            Place(
                name="job_templates",
                label=_("Job templates"),
                icon="bookmark",
                action=Action.CREATE_JOB,
                about=_("Texts, rules and questions to start new jobs from."),
                within="job_template delete_template",
            ),
            Place(
                name="message_templates",
                label=_("Message templates"),
                icon="chat-bubble-left-right",
                action=WRITE,
                about=_("Texts to start messages to applicants from."),
                within="message_template",
            ),
        ),
    ),
    Section(
        pgettext_lazy("label", "Developers"),
        (
            Place(
                name="api_keys",
                label=_("API keys"),
                icon="key",
                action=Action.MANAGE_KEYS,
                about=_("Let your own programs read and change your jobs."),
                within="key_requests revoke_key",
            ),
            Place(
                name="webhooks",
                label=pgettext_lazy("label", "Webhooks"),
                icon="bolt",
                action=Action.MANAGE_WEBHOOKS,
                about=_("Tell your own systems when something happens."),
                within="new_webhook webhook edit_webhook rotate_webhook end_webhook"
                " webhook_delivery",
            ),
            Place(
                name="test_mode",
                label=_("Test mode"),
                icon="beaker",
                about=_("A copy of the product with its own clock. Nothing in it is live."),
                within="create_sandbox move_clock sandbox_emails sandbox_email",
            ),
            Place(
                name="api_docs",
                label=_("API reference"),
                icon="code-bracket",
                about=_("Every request and answer, with examples."),
            ),
        ),
    ),
    Section(
        pgettext_lazy("label", "Operations"),
        (
            Place(
                name="work",
                label=_("Background work"),
                icon="queue-list",
                about=_("Imports, exports and reports: what runs, and what waits."),
                within="task task_edit task_discard cancel_matching",
                key="w",
            ),
            Place(
                name="dead_letters",
                label=_("Dead letters"),
                icon="archive-box-x-mark",
                about=_("Tasks that failed after every attempt. Correct them, and run them again."),
                within="dead_replay",
            ),
            Place(
                name="work_types",
                label=_("Task types"),
                icon="squares-2x2",
                about=_("What each kind of task does, and the switch to pause it."),
            ),
            Place(
                name="schedules",
                label=pgettext_lazy("label", "Schedules"),
                icon="calendar-days",
                about=_("Tasks that start by themselves, and when."),
                within="new_schedule edit_schedule end_schedule schedule_history",
            ),
            Place(
                name="system",
                label=pgettext_lazy("label", "System"),
                icon="server-stack",
                about=_("Whether the services run, and whether each log is unbroken."),
            ),
            Place(
                name="dev_mails",
                label=_("Emails (development)"),
                icon="envelope",
                about=_("Emails that this machine keeps instead of sending them."),
                needs_dev_mail=True,
            ),
        ),
    ),
)

JOBS = Place(
    name="company_jobs",
    label=pgettext_lazy("label", "Jobs"),
    icon="briefcase",
    action=Action.READ_JOBS,
    within="new_job board applications timeline verify_log replay figures reports report"
    " job_settings share_job job_capacity job_hiring job_close job_delete add_person"
    " import_applications import_result application decide decide_many decision what_if"
    " keep_template planned_seats reinstate contests answer_contest job_form form_preview"
    " add_question edit_question ask_question job_review attachment decisions extend_offer"
    " job_access job_sources application_messages job_messages write_bulk_message bulk_message"
    " move_ahead reserved_seats",
    key="j",
)
MAIN = (
    JOBS,
    Place(
        name="people",
        label=pgettext_lazy("label", "People"),
        icon="users",
        within="person talent_pool write_to_pool",
        key="p",
    ),
    Place(
        name="company_reports",
        label=pgettext_lazy("label", "Reports"),
        icon="chart-bar",
        within="idle_seats company_sources",
        key="r",
    ),
    Place(
        name="company_settings",
        label=pgettext_lazy("label", "Settings"),
        icon="adjustments-horizontal",
        within=" ".join(
            f"{place.name} {place.within}" for section in SECTIONS for place in section.places
        ),
        key="s",
    ),
)
# Pages that the palette finds besides those above.
OTHERS = (
    Place(name="new_job", label=_("Create a job"), action=Action.CREATE_JOB),
    Place(name="contests", label=_("Look again"), action=Action.READ_JOBS),
    Place(name="idle_seats", label=_("Idle seats")),
    Place(name="talent_pool", label=_("Talent pool")),
    Place(name="company_sources", label=_("Where people came from")),
    Place(
        name="account",
        label=_("Your account"),
        action=Action.READ_JOBS,
        within="account_devices",
    ),
    Place(name="usersessions_list", label=_("Where you are signed in"), action=Action.READ_JOBS),
    Place(name="shortcuts", label=_("Keyboard shortcuts"), action=Action.READ_JOBS),
)
OF_APPLICANTS = (
    Place(
        name="dashboard",
        label=_("My applications"),
        within="my_application my_places my_receipt check_receipt take_over defer_mine"
        " withdraw_mine my_devices preaccept_mine pass_mine answers_mine answer_mine contest_mine"
        " my_privacy my_messages",
    ),
    Place(name="openings", label=_("Open jobs"), within="opening job_facts"),
)
OF_STRANGERS = (
    OF_APPLICANTS[1],
    Place(
        name="for_companies",
        label=_("For companies"),
        within="sign_up sign_up_code sign_up_asked account_login",
    ),
)


@dataclass(frozen=True, slots=True)
class Link:
    """Place in a navigation. `current`: its page, or one below it, is the one that is shown."""

    place: Place
    current: str  # of aria-current: "page", "true" or empty


@dataclass(frozen=True, slots=True)
class Rail:
    """Navigation of a member: the main places, and the newest open jobs."""

    links: list[Link]
    jobs: list[OpenJob]
    has_more_jobs: bool
    keys: str  # JSON: the address to which each key goes after "g"


def build_rail(request: HttpRequest) -> Rail | None:
    """Return the member's navigation, in one query; None if nobody acts for a company."""
    member = current_member(request)
    if member is None:
        return None
    among = member.jobs_allowing(Action.READ_JOB)
    jobs = read_newest_open_jobs(member.company.id, among=among, limit=MOST_JOBS + 1)
    return Rail(
        [_link(place, request) for place in MAIN if place.is_open_to(member)],
        jobs[:MOST_JOBS],
        len(jobs) > MOST_JOBS,
        json.dumps({place.key: place.url for place in all_places(member) if place.key}),
    )


def build_top_links(request: HttpRequest) -> list[Link]:
    """Return the links of an applicant, or of someone who is not signed in."""
    places = OF_APPLICANTS if current_applicant(request) else OF_STRANGERS
    return [_link(place, request) for place in places]


def open_sections(member: Member) -> list[Section]:
    """Return the sections of the Settings page, with what the member may open."""
    sections = [
        Section(each.title, tuple(place for place in each.places if place.is_open_to(member)))
        for each in SECTIONS
    ]
    return [each for each in sections if each.places]


def all_places(member: Member) -> Iterator[Place]:
    """Return every place that the member may open, as the palette lists them."""
    yield from (place for place in MAIN if place.is_open_to(member))
    yield from (place for section in open_sections(member) for place in section.places)
    yield from (place for place in OTHERS if place.is_open_to(member))


def _link(place: Place, request: HttpRequest) -> Link:
    here = (request.resolver_match and request.resolver_match.url_name) or ""
    return Link(place, "page" if here == place.name else "true" if place.holds(here) else "")
