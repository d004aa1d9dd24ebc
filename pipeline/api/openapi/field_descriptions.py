"""Descriptions of the API's fields by their name alone."""

from __future__ import annotations

import json

from jobs.policies import Policy
from pipeline.api.openapi.field_descriptions_of_types import OF_TYPES

DESCRIPTIONS = {
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
    "existing_id": "The id of the object that causes the refusal, if there is one.",
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
    "accept_until": "Until then, a seat for the person is confirmed at once; null if the time"
    " has passed.",
    "pass_next": "Whether the person passes the next turn.",
    "passes_used": "Turns that the person has passed. They still count if the person applies"
    " again.",
    "not_before": "Until then, the person wants no seat; null if it has passed or was never asked.",
    "asked_at": "When the person asked.",
    "answer": "What the company answered: it stays (UPHELD) or changes (CHANGED). DROPPED: the "
    "person was erased before. Null while it is open.",
    "answer_by": "The time by which the company must answer.",
    "answer_seq": "The event of the answer; null while there is none.",
    "answer_text": "What the company wrote to the person; null without a text.",
    "answered_at": "When the company answered; null while it is open.",
    "contested_count": "How often someone asked the company to look again at an end.",
    "contests_changed_count": "How many of them got their former place back.",
    "contests_overdue_count": "How many have an overdue answer now.",
    "contested_seq": "The event that ended the application.",
    "is_overdue": "Whether `answer_by` has passed without an answer.",
    "ended_at": "When the application ended.",
    "errors": "The fields that were refused, if any.",
    "event": "What happened.",
    "expires_at": "When it expires.",
    "first_bad_seq": "The seq of the first bad event; null if the log is sound.",
    "forecasts_counted": "How many of the job's last forecasts have an end.",
    "forecasts_true_percent": "How many of them came true; null if too few have an end.",
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


def field_description(owner: str, name: str) -> dict[str, str]:
    """Return the description of a type's field as a part of its schema, or nothing."""
    text = _OF_TYPES.get(f"{owner}.{name}", DESCRIPTIONS.get(name))
    return {"description": text} if text else {}
