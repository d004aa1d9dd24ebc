"""Check of passes in a log: who asks to pass their next turn, and each turn that is passed.

Like the rest of the fold, it shares no rule with the code that writes the log.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from pipeline.audit.wishes_fold import FoldedWish
from pipeline.domain.states import ActorKind, EventType, Status
from pipeline.models import Event
from pipeline.selectors.past_states import PastPlace


def pass_fault(
    event: Event, place: PastPlace, before: FoldedWish, policy: Mapping[str, Any]
) -> str:
    """Name the fault of a pass, or of an event that one forbids; empty if all is well.

    `place` is the one after the event. Rules that are older than passes allow none.
    """
    held, most = FoldedWish.of_place(place), policy.get("max_passes", 0)
    if event.event == EventType.PASS_ASKED:
        return pass_request_fault(event, place, held, before, most)
    if event.event == EventType.PASSED:
        return passed_turn_fault(event, held, before, policy)
    if event.from_status is None or event.event == EventType.PREACCEPTED:
        return "it passes a turn on joining" if held.pass_next and not event.from_status else ""
    seated, waits = place.status.holds_seat, place.status is Status.WAITLIST
    if held.passes_used != before.passes_used or held.pass_next != (before.pass_next and waits):
        return f"{event.event} must not change which turns are passed"
    if held.passed_at != (None if seated else before.passed_at):
        return f"{event.event} must not change when a turn was passed"
    if seated and before.pass_next:
        return "it offers a seat to a person who had asked to pass that turn"
    if seated and before.passed_at and before.eligible_at and before.eligible_at > event.at:
        return f"it offers a seat before the cool-down of a pass is over, at {before.eligible_at}"
    return ""


def pass_request_fault(
    event: Event, place: PastPlace, held: FoldedWish, before: FoldedWish, most: int
) -> str:
    """Name the fault of a person's request to pass the next turn."""
    kept = before._replace(pass_next=held.pass_next)
    if held.pass_next:
        kept = kept._replace(accept_until=None)
    if held != kept or held.pass_next == before.pass_next:
        return "it asks to pass a turn, or takes that back, and changes something else, or nothing"
    if event.actor_kind != ActorKind.APPLICANT or not place.is_verified:
        return "only the person, once verified, passes a turn"
    if held.pass_next and before.passes_used >= most:
        return f"it asks to pass a turn after {before.passes_used} passes, and {most} are allowed"
    return ""


def passed_turn_fault(
    event: Event, held: FoldedWish, before: FoldedWish, policy: Mapping[str, Any]
) -> str:
    """Name the fault of a turn that is passed."""
    until = event.at + timedelta(seconds=policy["cooldown_seconds"])
    passed = before._replace(
        passes_used=before.passes_used + 1,
        pass_next=False,
        passed_at=event.at,
        eligible_at=until,
        acknowledge_by=None,
    )
    if event.from_status == Status.WAITLIST:
        if not before.pass_next or event.actor_kind != ActorKind.SYSTEM:
            return "it passes a turn that the person did not ask to pass"
        held_back = [each for each in (before.eligible_at, before.not_before) if each]
        if any(each > event.at for each in held_back):
            return "it passes a turn that cannot have come yet"
        return "" if held == passed else "it passes a turn, and changes more than that"
    most = policy.get("max_passes", 0)
    if event.actor_kind != ActorKind.APPLICANT:
        return "only the person passes an offer"
    if before.passes_used >= most:
        return f"it passes an offer after {before.passes_used} passes, and {most} are allowed"
    if before.acknowledge_by is None or before.acknowledge_by <= event.at:
        return "it passes an offer after its deadline"
    if held != passed._replace(ticket=held.ticket, tie=held.tie):
        return "it passes an offer, and changes more than that"
    return ""
