"""Schemas of the request fields that the framework cannot describe by itself."""

from __future__ import annotations

import json
from enum import Enum
from inspect import cleandoc, isclass
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

from drf_spectacular.extensions import OpenApiSerializerFieldExtension
from drf_spectacular.plumbing import ComponentRegistry, ResolvedComponent, resolve_type_hint

from jobs.policies import Policy
from pipeline.api.openapi import form_words
from pipeline.api.openapi.schemas import Schema
from pipeline.api.v1.fields import METADATA_KEY
from pipeline.domain.place import PUBLISHED
from pipeline.models import METADATA_KEYS, METADATA_VALUE_LENGTH

# Descriptions of the API's fields that mean something else in one type than in others.


# Where a field of a type has another meaning than elsewhere. Empty: the type's own description
# says it.
OF_TYPES = form_words.OF_TYPES | {
    "Application.position": "1 is the next in line; null outside the waitlist, until verified, in "
    "a job's list of applications, and in events.",
    "ActorRef.id": "Of COMPANY, the key or member; of APPLICANT, the person; null for SYSTEM.",
    "ApplicationChangeIn.external_id": "Your own id of the application, or null to remove it.",
    "ApplicationChangeIn.metadata": "Your own short texts by key. They replace the earlier ones.",
    "Applications.total": "The number of matching applications; null unless expanded.",
    "Change.application": "The changed application as it is now, without its `position`; null"
    " unless expanded.",
    "Change.application_id": "The changed or erased application; null for other changes.",
    "Change.at": "When it was recorded, by the real clock even in a sandbox.",
    "Change.job_id": "The job, or that of the application; null for a webhook endpoint.",
    "Change.kind": "What changed.",
    "Change.webhook_id": "The endpoint that was switched off; null for other changes.",
    "Changes.next_cursor": "Send it as `cursor` the next time. Always present.",
    "CodeIn.code": "The code from the email. Blanks between digits do not matter.",
    "Company.scopes": "The scopes of the key in use; null in a member's session.",
    "Conversion.applied": "Applications made.",
    "Conversion.hired": "Of these, those that ended as HIRED.",
    "Conversion.seated": "Of these, those that were ever ACTIVE.",
    "Decision.at": "When the company decided.",
    "Decision.outcome": "What the company decided.",
    "Decision.reason": "The code of the reason, if one was given.",
    "Decision.seq": "The decision's event in the job's log.",
    "DecisionIn.note": "Free text, stored beside the log, where it can be erased.",
    "DecisionIn.outcome": "What the company decides. HIRED is possible only from ACTIVE.",
    "DecisionIn.reason": "A code, kept in the log. Free text is still read as `note`.",
    "DecisionIn.reason_code": "The old name of `reason`. If both are sent, this one counts.",
    "Event.data": "What replay needs: ids, codes and numbers, never names.",
    "Email.seq": "The event that the email is about.",
    "Event.from_status": "The application's status before the event, or the job's if it is the"
    " job's event; null if there was none.",
    "Event.to_status": "The status after the event, likewise; null if the event concerns none.",
    "FeedOut.next_cursor": "Send it as `cursor` the next time. Always present.",
    "Feed.next_cursor": "Send it as `cursor` the next time. Always present.",
    "FieldError.code": "Why it was refused: one of the codes at `/problems/validation-error/`.",
    "FullTask.errors": "The errors of its failed attempts, oldest first.",
    "Head.hash": "The hash of the last event; it covers all events before it.",
    "Head.seq": "The seq of the last event.",
    "Job.seq": "The seq of the last event in the job's log; null for the public.",
    "ApplicationsImportIn.applications": "",
    "ImportedApplicationIn.email": "The person's address. A wrong one refuses this row alone.",
    "ImportedApplicationIn.external_id": "Your own id of the application. With it, an import can be"
    " repeated.",
    "ImportedApplicationIn.metadata": "Your own short texts by key.",
    "ImportedApplicationIn.name": "The person's name.",
    "ImportedRow.application_id": "The row's application; of a refused row, the one that is in its"
    " way, if any.",
    "ImportedRow.code": "The reason why the row was refused.",
    "ImportedRow.external_id": "Your own id of the row's application.",
    "ImportedRow.reason": "The reason for people: the cell, what it holds, and the cure.",
    "ImportedRow.row": "The row's number in a spreadsheet; in a list of JSON, counted from 1.",
    "ImportedRow.status": "ALREADY_THERE: an earlier request or import made its application.",
    "JobIn.external_id": "Your own id of the job, unique among your jobs.",
    "JobIn.metadata": "Your own short texts, by key.",
    "JobChangeIn.external_id": "Your own id of the job, or null to remove it.",
    "JobChangeIn.metadata": "Your own short texts by key. They replace the earlier ones.",
    "IdleSeatsOfCompany.zone": "The time zone in which weeks begin.",
    "IdleSeatsOfJob.zone": "The time zone in which weeks begin.",
    "IdleSeats.nobody": "Free seats while the job was open and no verified person waited.",
    "IdleSeats.cooldown": "Free seats while the job was open, and everyone verified on the "
    "waitlist was in a cool-down.",
    "IdleSeats.missed": "Seats on offer to people who did not answer, from the offer to the miss.",
    "IdleSeats.paused": "Free seats while the job was paused.",
    "IdleSeats.used": "Seats in review, and on offer unless the offer was missed.",
    "Line.as_of": "The time that was asked for, or that of the last event shown.",
    "Line.seq": "The last event that the line shows.",
    "OpaqueEvent.application": "The opaque id of the event's application; null for events of the "
    "job itself.",
    "Place.application_id": "The application that has this place.",
    "Receipt.application": "The id of the application.",
    "Receipt.test": "True in a sandbox, where a receipt proves nothing about a real line.",
    "ReinstatementIn.note": "Free text, stored beside the log, where it can be erased.",
    "ReportDay.acknowledged": "Seats acknowledged.",
    "ReportDay.applied": "Applications made.",
    "ReportDay.missed": "Offers that were not acknowledged in time.",
    "ReportDay.offered": "Seats offered, to people who applied or waited.",
    "ReportWeek.acknowledged": "Seats acknowledged.",
    "ReportWeek.applied": "Applications made.",
    "ReportWeek.closed_out": "Applications that ended with the job.",
    "ReportWeek.decided": "The company's decisions by outcome.",
    "ReportWeek.events": "All events of the week.",
    "ReportWeek.lapsed": "Misses that ended the application.",
    "ReportWeek.missed": "Offers that were not acknowledged in time: DECAYED events, and LAPSED "
    "ones without the reason UNVERIFIED.",
    "ReportWeek.offered": "Seats offered: those of `promoted`, and those that had to be "
    "acknowledged on applying.",
    "ReportWeek.promoted": "Seats offered to people who waited.",
    "ReportWeek.seated": "Applications that were ACTIVE as soon as they were made.",
    "ReportWeek.seats_held_at_end": "Seats confirmed or on offer when the week ended.",
    "ReportWeek.seats_held_at_start": "Seats confirmed or on offer when the week began.",
    "ReportWeek.seconds_to_acknowledge": "From an offer to its acknowledgement.",
    "ReportWeek.seconds_to_promotion": "From the application to its first offer.",
    "ReportWeek.withdrawn": "Applications that the person withdrew.",
    "RequestRecord.at": "When the request was made.",
    "SeatSeconds.cooldown": "Free seats while the job was open and people waited, all of them "
    "in a cool-down or unverified.",
    "Criterion.help": "What the criterion means; empty without help.",
    "Criterion.label": "The criterion in words.",
    "Score.label": "The criterion in words, as it was when the mark was given.",
    "Score.text": "The reviewer's reason; null without one.",
    "ScoreIn.text": "The reason for the mark.",
    "ScoreSummary.average": "The average of the marks.",
    "ScoreSummary.counts": "How often 1, 2, 3 and 4 were given.",
    "ScoreSummary.label": "The criterion in words.",
    "Scorecard.scores": "Their marks.",
    "ScorecardIn.scores": "One mark by each criterion that the job has now.",
    "Scorecards.summary": "The marks by each criterion; empty while they are hidden.",
    "SeatSeconds.nobody": "Free seats while the job was open and nobody waited, verified or not.",
    "SeatSeconds.offered": "Seats on offer, however the offer ended.",
    "SeatSeconds.paused": "Free seats while the job was paused.",
    "SeatSeconds.review": "Seats confirmed, until the company decides or the person leaves.",
    "SubmissionIn.external_id": "Your own id of the application, unique among your applications.",
    "SubmissionIn.metadata": "Your own short texts, by key.",
    **{
        f"Summary.{part}_seconds_to_{event}": f"{name} seconds from {since}."
        for part, name in (("average", "Average"), ("median", "Median"), ("p90", "90th percentile"))
        for event, since in (
            ("promotion", "the application to its first promotion from the waitlist"),
            ("acknowledge", "the offer of a seat to its acknowledgement"),
        )
    },
    "Summary.churn": "Seats freed per week since the job was first opened; an unfinished first "
    "week counts as a whole one.",
    "Summary.seat_idle_seconds": "Seconds times seats: free seats while the job was open.",
    "Summary.seat_idle_while_waiting_seconds": "The part of these while people waited, all of "
    "them in a cool-down.",
    "Summary.seats_freed": "Events that freed a seat: misses, withdrawals and decisions.",
    "TaskActor.id": "The key, member or schedule; null for a worker and the system.",
    "TaskError.at": "When the attempt failed.",
    "FullTaskError.at": "When the attempt failed.",
    "TaskError.attempt": "The number of the attempt that failed.",
    "FullTaskError.attempt": "The number of the attempt that failed.",
    "TaskError.kind": "The name of the error's Python class, for a report to the operator.",
    "FullTaskError.kind": "The name of the error's Python class, for a report to the operator.",
    "TaskEvent.at": "When it happened.",
    "TaskEvent.attempt": "The number of the attempt to which it belongs.",
    "TaskEvent.id": "A number that grows from event to event of a task.",
    "TaskProgress.note": "What the numbers count, in words of the type.",
    "TaskType.sensitive": "Whether replaying a dead letter of it must be confirmed.",
    "PlannedSeats.seats": "How many seats open, or close if negative.",
    "PlannedSeatsIn.seats": "How many seats open, or close if negative; not 0.",
    "PlannedSeats.first_at": "The first time at which they open.",
    "PlannedSeatsIn.first_at": "The first time at which they open, at most two years ahead.",
    "PlannedSeats.zone": "The time zone in which every week has the same local time.",
    "PlannedSeatsIn.zone": "The time zone in which every week has the same local time; else UTC.",
    "PlannedSeats.times": "How many times they open in all, once a week.",
    "PlannedSeatsIn.times": "How many times they open in all, once a week; else once.",
    "PlannedSeats.times_left": "How many of these times are still to come.",
    "PlannedSeats.next_at": "The next of these times.",
    "PlannedSeats.last_at": "The last of these times.",
    "Webhook.failures": "Failed attempts since the last success, at any deliveries.",
    "Webhook.off_reason": "BY_HAND: a member or key switched it off. GONE: it answered 410. "
    "FAILING: a tenth attempt failed, and no other delivery arrived meanwhile. Null if it is on.",
    "NewWebhook.failures": "Failed attempts since the last success, at any deliveries.",
    "NewWebhook.off_reason": "BY_HAND: a member or key switched it off. GONE: it answered 410. "
    "FAILING: a tenth attempt failed, and no other delivery arrived meanwhile. Null if it is on.",
    "WebhookAttempt.at": "When the request was made.",
    "WebhookAttempt.duration_ms": "Milliseconds from the start of our request to the end of your "
    "answer.",
    "FullWebhookDelivery.webhook_id": "The header `webhook-id`, the same in every attempt; not the "
    "endpoint's id.",
    "WebhookDelivery.webhook_id": "The header `webhook-id`, the same in every attempt; not the "
    "endpoint's id.",
    "WebhookAttempt.status": "The status of your program's answer; null without one.",
    "WeeklyReport.zone": "The time zone in which the week begins and ends.",
    "Contest.seq": "The event that asked.",
    "Contest.application_id": "The application that ended.",
    "Contest.text": "What the person wrote.",
    "ContestIn.text": "Why the company should look again, in the person's words.",
    "ContestAnswerIn.text": "What the applicant reads, also in the email. Not in the log.",
}


# Descriptions of the API's fields by their name alone.


DESCRIPTIONS = form_words.DESCRIPTIONS | {
    "acknowledge_by": "The deadline for acknowledging the offered seat; null without an offer.",
    "acknowledge_first_seat": "Whether people must also acknowledge a seat that is free when"
    " they apply.",
    "acknowledged_at": "When the offer was acknowledged.",
    "acknowledgment_rate": "Share of ended offers that were acknowledged, 0 to 1.",
    "acknowledgment_window_seconds": "Seconds from the offer of a seat to its deadline. They do "
    "not run in quiet hours.",
    "quiet_from": "When quiet hours begin, like 22:00 in each person's time zone; null for"
    " none. Given together with `quiet_to`.",
    "quiet_to": "When quiet hours end, like 08:00. At least 4 hours of each day must not be quiet.",
    "quiet_weekends": "Whether Saturdays and Sundays are quiet too.",
    "quiet_time_zone": "The time zone for people whose own is not known.",
    "active": "People with a confirmed seat, longest first.",
    "active_count": "Number of people with a confirmed seat.",
    "age_seconds": "Seconds since the oldest of them became due.",
    "allowed": "Whether your credential may start this type.",
    "application_id": "The event's application; null for events of the job itself.",
    "applied_at": "When this application was made.",
    "as_of": "The moment that the response shows.",
    "at": "When it was recorded; never earlier than the event before it.",
    "attempt": "Number of the current or last attempt; 0 before the first.",
    "began_at": "The sandbox's time before the clock was moved.",
    "breaker": "OPEN while too many runs fail, yours or everyone's. One run a minute is "
    "tried meanwhile.",
    "capacity": "Number of seats.",
    "catch_up": "Whether to start work for missed times as well.",
    "cause_seq": "The seq of the event that caused this one, if one did.",
    "application": "The event's application as it is now, without its `position`; null unless "
    "expanded.",
    "decision": "The company's decision; null if there is none, or unless expanded.",
    "decision_due_at": "When a decision that a member made on a page takes effect, unless it is"
    " undone; null if none waits, for applicants, or unless expanded.",
    "existing_id": "The id of the object that causes the refusal, if there is one.",
    "extensions_count": "Deadlines of offers that the company extended.",
    "external_id": "The company's own id of it, unique among its kind; null for applicants.",
    "metadata": "The company's own short texts, by key; null for applicants.",
    "prev_hash": "The hash of the event before it; zeros for the first one.",
    "note": "Free text of the company, kept outside the log. Null for applicants.",
    "result_schema": "JSON schema of `result`.",
    "type_paused": "Whether it waits because its type is paused, by the company or the site.",
    "chain": "Whether every event's hash matches its content and the hash before it.",
    "chain_head": "Hash of the event `seq`, the last one.",
    "clock_offset_seconds": "Seconds by which the sandbox's clock is ahead of the live one.",
    "closed_at": "When the job was closed.",
    "code": "Machine-readable code of the problem or the refused field.",
    "concurrent_runs": "Limit of concurrent runs across all companies; null for no limit.",
    "confirmed": "Must be true for a sensitive type.",
    "cooldown_seconds": "Seconds after a miss or a pass in which a person cannot be promoted.",
    "max_passes": "Turns that a person can pass without a miss: 0, 1 or 2.",
    "count": "Their number.",
    "counted_events": "How many of the last events were counted.",
    "counted_since": "The time of the first of them.",
    "cron": "Five fields: minute, hour, day, month, day of the week.",
    "decay_count": "Misses that count; reinstated ones do not. They still count if the person"
    " applies again.",
    "decays_left": "Further misses that still keep a place in line; null for no limit.",
    "delay_seconds": "Seconds to wait before it starts; instead of `run_after`.",
    "depth": "Waiting tasks by type (key@version) and priority.",
    "detail": "A description for people.",
    "differences": "Where the live rows differ from the log; null for applicants.",
    "effective_at": "When it took effect, for example the deadline of a missed offer.",
    "duration_ms": "Milliseconds from the first line of our program to the response.",
    "updated_at": "When the line, its texts or the company's own ids and texts last changed.",
    "eligible_at": "The end of a cool-down that is still running.",
    **{name: field.notes.about for name, field in PUBLISHED.items()},
    "asked_at": "When the person asked.",
    "answer": "What the company answered: it stays (UPHELD) or changes (CHANGED). DROPPED: the "
    "person was erased before. Null while it is open.",
    "answer_by": "The time by which the company must answer.",
    "answer_seq": "The event of the answer; null while there is none.",
    "answer_text": "What the company wrote to the person; null without a text.",
    "answered_at": "When the company answered; null while it is open.",
    "contested_count": "How often someone asked the company to look again.",
    "contests_changed_count": "How many of them got their former place back.",
    "contests_overdue_count": "How many have an overdue answer now.",
    "contested_seq": "The event that ended the application.",
    "is_overdue": "Whether `answer_by` has passed without an answer.",
    "ended_at": "When the application ended.",
    "errors": "The fields that were refused, if any.",
    "event": "What happened.",
    "expires_at": "When it expires.",
    "first_bad_seq": "The seq of the first bad event; null if the log is sound.",
    "forecasts_counted": "How many of the job's last forecasts have come true or failed.",
    "forecasts_true_percent": "How many of them came true; null if too few have.",
    "half_wait_seconds": "Within this time, half of the people there were offered a seat.",
    "hash": "SHA-256 of the event and the hash before it, in hexadecimal.",
    "head": "Seq and hash of the last event. Note them to check later that they are unchanged.",
    "id": "Opaque id. Knowing it gives no access.",
    "idempotency_key": "Within a type, the same key returns the same task. Kept like the task.",
    "is_new": "Whether this request created the task; otherwise it is the first task with "
    "that key.",
    "is_portal": "Whether a portal token made by the key sent it, not the key itself.",
    "issued_at": "When the receipt was signed.",
    "issuer": "The site that signed it.",
    "jobs_behind": "Jobs with changes before the sandbox's time that are still being settled.",
    "known": "Whether the given hash is that of the given seq; null if none was given.",
    "last_enqueued_for": "The last scheduled time for which work was started.",
    "last_error": "Why the last failed attempt failed.",
    "leaf": "SHA-256 of this row without its leaf.",
    "lifetime_seconds": "Seconds for which the token is valid.",
    "log_digest": "Digest of the log without names, up to and including `seq`.",
    "max_attempts": "Number of attempts before it becomes a dead letter.",
    "max_decays": "Misses that still keep a place in line. The next one ends the application. "
    "Null: no limit.",
    "may_repeat": "Whether it can be sent again, judging by its own state.",
    "misses": "Misses that count.",
    "most_wait_seconds": "Within this time, four in five of them were.",
    "next_cursor": "Send it as `cursor` to get the next page; null on the last page.",
    "next_times": "The next five times at which it starts work; empty while it is switched off.",
    "offers_seen": "How many people there were offered a seat.",
    "oldest": "The waiting time of the oldest due task of each priority.",
    "positions_to_fill": "How many people the job hires; null: any number. Once they are hired,"
    " nobody is offered a seat.",
    "hired_count": "How many people the job has hired; null for strangers without a number of"
    " positions.",
    "opens_at": "When the draft opens by itself; null: when the company opens it.",
    "closes_at": "When the job closes by itself, and everyone without a confirmed seat is released;"
    " null: when the company closes it.",
    "close_job": "Only with HIRED, and needed if this fills the last position: whether the job then"
    " closes. False adds one position instead.",
    "draw_at": "When the order of the line is drawn by lot; null: first come, first served.",
    "drawn_at": "When the order was drawn; null before that, and without a draw.",
    "opened_at": "When the job was first opened.",
    "order_key": "The place in the order; null outside the waitlist.",
    "outcome": "How the application ended; null while it is live.",
    "paused_by": "Who paused it: a member or key of the company, or the site for everyone.",
    "payload": "The task's input, as its type's schema describes. Secrets are hidden in responses.",
    "payload_schema": "JSON schema of the payload.",
    "penalty_places": "After the n-th miss, n times this many newcomers pass the person at the "
    "back of the line.",
    "pending": "People with an open offer, by deadline.",
    "pending_count": "Number of people with an open offer.",
    "people_waiting": "Number of verified people on the job's waitlist.",
    "pointer": "Location in the request, as a JSON pointer (RFC 6901).",
    "policy_version": "The version of the policy that applied.",
    "position": "1 is the next in line; null outside the waitlist and until verified.",
    "priority": "Higher runs first; 0 by default.",
    "problem_detail": "A description of the problem for people.",
    "producer": "Who started it: `key:…`, `member:…` or `schedule:…`.",
    "progress": "Progress as last reported by the task.",
    "promoted_at": "When a seat was last offered.",
    "reason": "The reason as a code, kept in the log.",
    "reinstatements_by_reason": "Places given back, by reason code.",
    "removals_by_reason": "Removals, rejections and hires by reason code, or NONE.",
    "repetition": "0 for the first email, then how often it was sent again.",
    "replay_matches": "Whether the live rows equal the sum of the log.",
    "request_id": "The request's id, as in X-Request-ID and in the logs.",
    "result": "The task's result once it has succeeded; for a cancelled task, its return value"
    " if it finished.",
    "run_after": "Start at this time or later. A time in the past means now.",
    "seats_free": "Number of free seats.",
    "sensitive": "Whether running it again must be confirmed.",
    "seq": "Number of the event in the job's log: 1, 2, 3, without gaps.",
    "server_time": "The database's time when the content was read, or the change was made.",
    "signature": "Ed25519 signature of all other fields, in base64.",
    "review_target_seconds": "How soon the company aims to decide on people in seats; null: it does"
    " not say. If the company has working hours, a day is a working day. The line does not know"
    " it.",
    "review_since": "When the person took the seat; null unless ACTIVE.",
    "review_due_at": "When the review has taken the job's target; null without one.",
    "reviews_counted": "Decisions on people in seats in the last 180 days, and those that are"
    " overdue; null without a target, and if they are fewer than 10.",
    "reviews_within_target": "How many of them were made within the target.",
    "criteria": "The criteria that the job has now.",
    "criterion_id": "The criterion of the mark.",
    "reviewer_id": "The member who gave the marks; null once the account is deleted.",
    "reviewers_count": "How many reviewers have given marks.",
    "is_hidden": "Whether the marks are hidden from the caller.",
    "scorecards": "The marks of each reviewer; empty while they are hidden.",
    "given_at": "When the marks were given, or last changed.",
    "score": "The mark: 1 is the lowest, 4 the highest.",
    "state_at": "When it reached its state.",
    "status_since": "When the application reached its current status.",
    "time_in_status_seconds": "Seconds for which the application has had its status.",
    "waitlist": "People on the waitlist, in order.",
    "unverified_count": "Number of unverified people on the waitlist, in addition; null for "
    "the public.",
    "verified": "Whether the email address was proved or the company submitted the person, even"
    " if they had applied themselves.",
    "waitlist_count": "Number of verified people on the waitlist.",
    "workers_alive": "Number of the site's workers that were seen recently.",
    "zone": "The time zone of `cron`, like `Europe/Amsterdam`.",
    "key_id": "The id of the key in use, and the `actor.id` of its acts; null in a member's"
    " session.",
}


# A new job's policy has defaults.
_OF_POLICY = {
    f"PolicyIn.{name}": f"{DESCRIPTIONS[name]} {json.dumps(value)} in a new job, by default."
    for name, value in Policy().values().items()
}
_OF_TYPES = _OF_POLICY | OF_TYPES


def describe(owner: str, name: str) -> dict[str, str]:
    """Return the description of a type's field as a part of its schema, or nothing."""
    text = _OF_TYPES.get(f"{owner}.{name}", DESCRIPTIONS.get(name))
    return {"description": text} if text else {}


_ONE_LINE = "\\x00-\\x1f\\x7f-\\x9f\\u2028\\u2029"
_LINE = f"^[^{_ONE_LINE}]*[^\\s{_ONE_LINE}][^{_ONE_LINE}]*$"
_EMPTY_LINE = f"^[^{_ONE_LINE}]*$"
_TEXT = "^[^\\x00]*$"
_UNSEEN = "\\s\\x00-\\x1f\\x7f-\\x9f\\u202a-\\u202e\\u2066-\\u206f\\ufff9-\\ufffb"
_FILLED_TEXT = "^[^\\x00]*[^\\s\\x00][^\\x00]*$"


class OurField(OpenApiSerializerFieldExtension):
    """The framework's description of a field, with our text."""

    target_class = "rest_framework.serializers.Field"
    match_subclasses = True
    priority = -1

    def map_serializer_field(self, auto_schema: Any, direction: Any) -> Schema:
        """Return the field's schema."""
        schema = auto_schema._map_serializer_field(self.target, direction, bypass_extensions=True)
        schema.pop("x-spec-enum-id", None)
        if isinstance(schema.get("type"), list):  # "null" is added to fields that may be null
            schema["type"] = schema["type"][0]
        if "$ref" in schema:
            return schema
        owner = type(self.target.parent).__name__ if self.target.parent else ""
        old = self.target.field_name in getattr(type(self.target.parent), "deprecated", ())
        described = describe(owner, str(self.target.field_name))
        return schema | described | ({"deprecated": True} if old else {})


class TextField(OurField):
    """A string of any number of lines, without NUL."""

    target_class = "pipeline.api.v1.fields.Text"
    priority = 0
    blank, filled = _TEXT, _FILLED_TEXT

    def map_serializer_field(self, auto_schema: Any, direction: Any) -> Schema:
        """Return the field's schema, with a pattern."""
        schema = super().map_serializer_field(auto_schema, direction)
        schema.pop("minLength", None)
        return schema | {"pattern": self.blank if self.target.allow_blank else self.filled}


class LetterField(TextField):
    """A string of any number of lines, with something that can be seen if it must not be blank."""

    target_class = "pipeline.api.v1.fields.Letter"
    priority = 1
    filled = f"^[^\\x00]*[^{_UNSEEN}][^\\x00]*$"


class LineField(TextField):
    """A string in one line, without control characters."""

    target_class = "pipeline.api.v1.fields.Line"
    priority = 1
    blank, filled = _EMPTY_LINE, _LINE


class ObjectField(OurField):
    """An object with any fields."""

    target_class = "pipeline.api.v1.fields.AnyObject"
    priority = 0

    def map_serializer_field(self, auto_schema: Any, direction: Any) -> Schema:
        """Return the field's schema: an object."""
        known = super().map_serializer_field(auto_schema, direction)
        return known | {"type": "object", "additionalProperties": {}}


class MetadataField(ObjectField):
    """An object with a few short texts."""

    target_class = "pipeline.api.v1.fields.Metadata"
    priority = 1

    def map_serializer_field(self, auto_schema: Any, direction: Any) -> Schema:
        """Return the field's schema, with its bounds."""
        return super().map_serializer_field(auto_schema, direction) | {
            "maxProperties": METADATA_KEYS,
            "propertyNames": {"pattern": f"^{METADATA_KEY.pattern}$"},
            "additionalProperties": {"type": "string", "maxLength": METADATA_VALUE_LENGTH},
        }


# JSON schemas of payload types, so that clients can check what a view returns.


_NAMES = {"Status": "ApplicationStatus", "EventType": "EventName", "Kind": "ProblemKind"}


# The note of an annotation with the codes that a string can be at present.
CODES = "codes"
_OTHER: Schema = {"type": "string"}


def open_codes(known: Schema) -> Schema:
    """Return the schema of an answer's code: one of those known, or one that is added later.

    With the codes alone, clients that a generator makes refuse a whole answer for a new one.
    """
    return {"anyOf": [known, _OTHER]}


class Types:
    """Converter of types to schemas. Named types become components of the document."""

    def __init__(self, registry: ComponentRegistry) -> None:
        self._registry = registry

    def schema_of(self, hint: Any) -> Schema:
        """Return the schema of a type. Raises UnableToProceedError for an unsupported type."""
        origin, arguments = get_origin(hint), get_args(hint)
        if is_typeddict(origin or hint):
            return self._component(schema_name(hint), hint, self._object)
        if isclass(hint) and issubclass(hint, Enum):
            about = cleandoc(hint.__doc__ or "").partition("\n")[0]
            schema = {"type": "string", "enum": [each.value for each in hint], "description": about}
            return open_codes(self._component(schema_name(hint), hint, lambda _: schema))
        if origin is Annotated:
            return self._annotated(arguments)
        if origin in (Union, UnionType):
            return self._union(arguments)
        if origin is list:
            return {"type": "array", "items": self.schema_of(arguments[0])}
        if origin is dict:
            values = {} if arguments[1] is Any else self.schema_of(arguments[1])
            return {"type": "object", "additionalProperties": values}
        if hint is NoneType:
            return {"type": "null"}
        schema = {} if hint is Any else dict(resolve_type_hint(hint))
        return schema | {"format": "int64"} if schema.get("type") == "integer" else schema

    def _component(self, name: str, hint: Any, build: Any) -> Schema:
        component = ResolvedComponent(name, ResolvedComponent.SCHEMA, object=name)
        if component not in self._registry:
            self._registry.register(component)
            component.schema = build(hint)
        return component.ref

    def _object(self, hint: Any) -> Schema:
        kind = get_origin(hint) or hint
        given = dict(zip(getattr(kind, "__parameters__", ()), get_args(hint), strict=True))
        fields = get_type_hints(kind, include_extras=True)
        return {
            "type": "object",
            "description": cleandoc(kind.__doc__ or ""),
            "properties": {
                name: self.schema_of(_filled_type(each, given)) | describe(schema_name(kind), name)
                for name, each in fields.items()
            },
            "required": sorted(kind.__required_keys__),
        }

    def _annotated(self, arguments: tuple[Any, ...]) -> Schema:
        hint, *notes = arguments
        words = tuple(note for note in notes if isclass(note))
        schema = self._union(words) if len(words) > 1 else self.schema_of(*words or [hint])
        for keyword, value in (note for note in notes if isinstance(note, tuple)):
            if keyword == CODES:
                return open_codes({"type": "string", "enum": list(value)})
            schema = schema | {keyword: list(value) if isinstance(value, tuple) else value}
        return schema

    def _union(self, arguments: tuple[Any, ...]) -> Schema:
        given = [self.schema_of(each) for each in arguments if each is not NoneType]
        some: list[Schema] = []
        for schema in given:
            parts = schema["anyOf"] if list(schema) == ["anyOf"] else [schema]
            some += [part for part in parts if part not in some]
        if NoneType not in arguments:
            return {"anyOf": sorted(some, key=_OTHER.__eq__)}
        if len(some) == 1 and isinstance(some[0].get("type"), str):
            return some[0] | {"type": [some[0]["type"], "null"]}
        return {"anyOf": sorted([*some, {"type": "null"}], key=_OTHER.__eq__)}


def schema_name(hint: Any) -> str:
    """Return a type's name in the document: Job for JobOut, JobPage for PageOf[JobOut]."""
    arguments = "".join(schema_name(each) for each in get_args(hint))
    own = (get_origin(hint) or hint).__name__.removesuffix("Out")
    return arguments + own.removesuffix("Of") if arguments else _NAMES.get(own, own)


def _filled_type(hint: Any, given: dict[Any, Any]) -> Any:
    """Return a generic's field type with its parameters replaced by the arguments."""
    if hint in given:
        return given[hint]
    inner = getattr(hint, "__parameters__", ())
    return hint[tuple(given[each] for each in inner)] if inner else hint
