"""Context of the frame around every page: the signed-in person and the time zone."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.http import HttpRequest
from django.utils import timezone
from django.utils.functional import SimpleLazyObject

from pipeline.config.demo_addresses import STORY_PEOPLE
from pipeline.pages.access import (
    current_applicant,
    current_member,
    current_memberships,
    current_sandbox_memberships,
)
from pipeline.web.addresses import has_story_access

# Links of the main navigation, and the names of the other pages that belong to each.
NAV_OF_MEMBERS = (
    (
        "company_jobs",
        "Jobs",
        "new_job board applications timeline verify_log replay figures reports report job_settings"
        " share_job job_capacity job_hiring job_close job_delete add_person import_applications"
        " import_result"
        " application decide decide_many decision idle_seats what_if job_templates job_template"
        " keep_template delete_template planned_seats reinstate contests answer_contest"
        " job_form form_preview add_question edit_question ask_question job_review working_hours"
        " attachment decisions undo_time extend_offer",
    ),
    ("people", "People", "person"),
    (
        "work",
        "Work",
        "dead_letters dead_replay work_types schedules new_schedule edit_schedule end_schedule"
        " schedule_history task"
        " task_edit task_discard cancel_matching",
    ),
    ("team", "Team", "team_member"),
    (
        "api_keys",
        "API",
        "webhooks new_webhook webhook edit_webhook rotate_webhook end_webhook webhook_delivery"
        " test_mode create_sandbox move_clock sandbox_emails sandbox_email",
    ),
    ("system", "System", ""),
)
NAV_OF_APPLICANTS = (
    (
        "dashboard",
        "My applications",
        "my_application my_places my_receipt check_receipt take_over defer_mine withdraw_mine"
        " my_devices",
    ),
    ("openings", "Open jobs", "opening job_facts"),
)


def frame(request: HttpRequest) -> dict[str, Any]:
    """Return the signed-in person and their memberships, read when a page uses them."""
    match = request.resolver_match
    zone = timezone.get_current_timezone_name()
    return {
        "applicant": SimpleLazyObject(lambda: current_applicant(request)),
        "member": SimpleLazyObject(lambda: current_member(request)),
        "memberships": SimpleLazyObject(lambda: current_memberships(request)),
        "sandbox_memberships": SimpleLazyObject(lambda: current_sandbox_memberships(request)),
        "main_nav": SimpleLazyObject(
            lambda: _main_navigation(request, match.url_name if match else "")
        ),
        "dev_mail": settings.DEV_MAIL,
        "has_push": bool(settings.VAPID_PRIVATE_KEY),
        "story_people": STORY_PEOPLE if has_story_access(request) else {},
        "server_time": timezone.now().isoformat(),
        "zone": zone,
        "zone_words": "UTC" if zone == "UTC" else f"your time zone, {zone.replace('_', ' ')}",
    }


def _main_navigation(request: HttpRequest, here: str | None) -> list[dict[str, str]]:
    """Return the links of the main navigation, and mark the one of the current page."""
    member = current_member(request)
    if member:
        links = [link for link in NAV_OF_MEMBERS if link[0] != "api_keys" or member.is_owner]
        if member.company.is_test:  # its members are those of the live company
            links = [link for link in links if link[0] != "team"]
    else:
        links = list(NAV_OF_APPLICANTS if current_applicant(request) else NAV_OF_APPLICANTS[1:])
    return [
        {
            "name": name,
            "label": label,
            "wider": "keys" if name == "api_keys" else "",
            "current": "page" if here == name else "true" if here in pages.split() else "",
        }
        for name, label, pages in links
    ]
