"""Dashboard: all applications of one person."""

from __future__ import annotations

from hashlib import blake2b
from typing import Any

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.views.decorators.http import require_safe

from pipeline.pages.access import current_applicant, for_applicants
from pipeline.pages.applicant.application_card import card_timeline_entry, sorted_cards
from pipeline.pages.live_page import live_page
from pipeline.selectors.my_applications import my_application_states, my_applications

LAST_EVENTS = 20


@require_safe
@for_applicants
def dashboard(request: HttpRequest) -> HttpResponseBase:
    """Show all of a person's applications, urgent ones first."""
    person = current_applicant(request)
    assert person is not None  # noqa: S101  for_applicants
    states = my_application_states(person.id)

    def build_dashboard() -> dict[str, Any]:
        mine, events = my_applications(person.id, events=LAST_EVENTS)
        cards = sorted_cards(mine)
        return {
            "live_cards": [card for card in cards if card.state != "ended"],
            "ended_cards": [card for card in cards if card.state == "ended"],
            "lacks_events": any(each.lacks_events for each in mine),
            "urgent": sum(card.is_urgent for card in cards),
            "lines": [
                card_timeline_entry(each.event, job_title=each.job.posting.title) for each in events
            ],
        }

    return live_page(
        request,
        "applicant/dashboard.html",
        "applicant/_dashboard.html",
        build=build_dashboard,
        tag=blake2b(repr(states).encode(), digest_size=12).hexdigest(),
        jobs=[state.job_id for state in states if state.is_live],
    )
