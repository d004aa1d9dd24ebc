"""What must hold after the kills: every event has its email and its webhooks, and the log is sound.

The emails and webhooks that each event requires are listed here again, apart from the product's
own tables.
"""

from __future__ import annotations

from dataclasses import dataclass

from tests.faults.whole_site.ledger import Database, entries_of, ledger_faults, order_faults
from tests.faults.whole_site.people import Crowd
from tests.faults.whole_site.processes import Site
from tests.faults.whole_site.receivers import HookReceiver, MailReceiver

WITH_EMAIL = {"APPLIED", "PROMOTED", "ACKNOWLEDGED", "DECAYED", "DEADLINE_EXTENDED", "LAPSED"}
OFFERED = "PENDING_ACKNOWLEDGMENT"
OFFERS_ONLY = {"PROMOTED"}

_LOG = """
SELECT e.job_id::text, e.seq, e.application_id::text, e.event, e.from_status, e.to_status,
       encode(e.hash, 'hex'), p.email,
       EXISTS (SELECT FROM pipeline_event later WHERE later.application_id = e.application_id
               AND later.seq > e.seq),
       (SELECT m.state || ' ' || m.problem FROM pipeline_email m
        WHERE m.application_id = e.application_id AND m.seq = e.seq AND m.number = 0
          AND m.kind NOT LIKE 'REMINDER%%')
FROM pipeline_event e
LEFT JOIN pipeline_application a ON a.id = e.application_id
LEFT JOIN applicants_applicant p ON p.id = a.applicant_id
ORDER BY e.job_id, e.seq
"""


@dataclass(frozen=True)
class Logged:
    """Row of the log, with the address of the person and the record of its email."""

    job: str
    seq: int
    application: str | None
    event: str
    from_status: str | None
    to_status: str | None
    hash: str
    address: str | None
    is_past: bool  # something has happened to the application since
    email: str | None

    @property
    def is_emailed(self) -> bool:
        """Tell whether the person is owed an email."""
        return self.event in WITH_EMAIL or (
            self.event == "WITHDRAWN" and self.from_status == OFFERED
        )

    @property
    def may_be_unsent(self) -> bool:
        """Tell whether an email was rightly left out: it offered a seat that was gone by then."""
        is_offer = self.to_status == OFFERED
        return is_offer and self.is_past and self.email == "FAILED OVER"

    @property
    def webhook_type(self) -> str:
        """The type under which it is told."""
        return ("application." if self.application else "job.") + (
            self.event.removeprefix("JOB_").lower()
        )


def log_of(site: Database) -> list[Logged]:
    """The whole log."""
    return [Logged(*row) for row in site.rows(_LOG)]


@dataclass(frozen=True)
class Faults:
    """Lists of faults by kind; all empty if all is well."""

    missing_emails: list[Logged]
    needless_emails: list[str]
    misdirected_emails: list[str]
    doubtful_repeats: list[str]
    missing_webhooks: list[tuple[str, int, str]]
    needless_webhooks: list[tuple[str, int, str]]
    changing_ids: list[tuple[str, int, str]]
    invalid_webhooks: list[str]
    unlogged_acts: list[str]
    overtaken: list[str]

    @property
    def are_none(self) -> bool:
        """Tell whether nothing is wrong."""
        return not any(vars(self).values())


def faults_of(site: Site, crowd: Crowd, mail: MailReceiver, hooks: HookReceiver) -> Faults:
    """Compare the log with what people and receivers know."""
    log, copies = log_of(site), mail.by_event()
    owed = {each.hash: each for each in log if each.is_emailed}
    hook_faults = _hook_faults(log, hooks)
    return Faults(
        missing_emails=[
            each for each in owed.values() if each.hash not in copies and not each.may_be_unsent
        ],
        needless_emails=sorted(set(copies) - set(owed)),
        misdirected_emails=[
            copy.message_id
            for head, found in copies.items()
            for _, copy in found
            if head in owed
            and (copy.to != owed[head].address or copy.message_id != found[0][1].message_id)
        ],
        doubtful_repeats=mail.unexplained(),
        invalid_webhooks=hooks.invalid,
        unlogged_acts=ledger_faults(crowd.told, entries_of(site, crowd.job)),
        overtaken=order_faults(crowd.applied, entries_of(site, crowd.job)),
        missing_webhooks=hook_faults[0],
        needless_webhooks=hook_faults[1],
        changing_ids=hook_faults[2],
    )


def _hook_faults(
    log: list[Logged], hooks: HookReceiver
) -> tuple[list[tuple[str, int, str]], list[tuple[str, int, str]], list[tuple[str, int, str]]]:
    missing, needless, changing = [], [], []
    for path in hooks.secrets:
        events = [each for each in log if path.endswith("/all") or each.event in OFFERS_ONLY]
        owed = {(each.job, each.seq, each.webhook_type) for each in events}
        came = hooks.ids(path)
        missing += sorted(owed - set(came))
        needless += sorted(set(came) - owed)
        changing += [event for event, ids in came.items() if len(ids) != 1]
    return missing, needless, changing
