"""Descriptions of the API's fields that mean something else in one type than in others."""

from __future__ import annotations

import json

from jobs.policies import Policy
from pipeline.api.openapi.descriptions import DESCRIPTIONS

# Where a field of a type means something else than the field of that name elsewhere. Empty: the
# type's own description says it.
OF_TYPES = {
    "Application.position": "1 is the next in line; null outside the waitlist, until verified, in "
    "a job's list of applications, and in events.",
    "ActorRef.id": "Of COMPANY, the key or member; of APPLICANT, the person; null for SYSTEM.",
    "ApplicationChangeIn.external_id": "Your own id of the application, or null to remove it.",
    "ApplicationChangeIn.metadata": "Your own short texts by key. They replace the earlier ones.",
    "Applications.total": "How many applications fit; null unless expanded.",
    "CodeIn.code": "The code from the email. Blanks between digits do not matter.",
    "Company.scopes": "The scopes of the key that asks; null in a member's session.",
    "Conversion.applied": "Applications made.",
    "Conversion.hired": "Of these, those that ended as HIRED.",
    "Conversion.seated": "Of these, those that were ever ACTIVE.",
    "Decision.at": "When the company decided.",
    "Decision.outcome": "What the company decided.",
    "Decision.reason": "The code of the reason, if one was given.",
    "Decision.seq": "The decision's event in the job's log.",
    "DecisionIn.note": "Free text, stored beside the log, where it can be erased.",
    "DecisionIn.outcome": "What the company decides. HIRED is possible only from ACTIVE.",
    "DecisionIn.reason": "A code, which the log keeps. Free text is still read as `note`.",
    "DecisionIn.reason_code": "The old name of `reason`. If both are sent, this one counts.",
    "Event.data": "What replay needs: ids, codes and numbers, never names.",
    "Email.seq": "The event that the email tells of.",
    "Event.from_status": "The status before the event, of the application, or of the job if it is "
    "the job's event; null if there was none.",
    "Event.to_status": "The status after the event, likewise; null if the event concerns none.",
    "FeedOut.next_cursor": "Send it as `cursor` the next time. Always present.",
    "Feed.next_cursor": "Send it as `cursor` the next time. Always present.",
    "FieldError.code": "Why it was refused: one of the codes at `/problems/validation-error/`.",
    "FullTask.errors": "The errors of its failed attempts, oldest first.",
    "Head.hash": "The hash of the last event; it covers all events before it.",
    "Head.seq": "The seq of the last event.",
    "Job.seq": "The seq of the last event in the job's log; null for the public.",
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
    **{
        f"PolicyIn.{name}": f"{DESCRIPTIONS[name]} {json.dumps(value)} in a new job, by default."
        for name, value in Policy().values().items()
    },
    "Receipt.application": "The id of the application.",
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
    "ReportWeek.lapsed": "Misses that ended the application: one too many.",
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
    "SeatSeconds.nobody": "Free seats while the job was open and nobody waited, verified or not.",
    "SeatSeconds.offered": "Seats on offer, whatever became of the offer.",
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


def field_description(owner: str, name: str) -> dict[str, str]:
    """Return the description of a type's field as a part of its schema, or nothing."""
    text = OF_TYPES.get(f"{owner}.{name}", DESCRIPTIONS.get(name))
    return {"description": text} if text else {}
