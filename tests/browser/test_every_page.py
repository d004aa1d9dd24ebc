"""Every page, looked at by a browser in light and dark, by axe, and on the narrowest phone.

With SCREENSHOTS set the pictures land in screenshots/, for people to look at.
"""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.urls import URLPattern, get_resolver, reverse
from playwright.sync_api import Page, Response

from applicants.models import Applicant
from jobs.models import User
from pipeline.mail.links import LinkedOffer, make_offer_token
from pipeline.models import Event
from tests.browser.buttons import PRESSED, buttons_of
from tests.browser.helpers import (
    axe,
    narrow,
    no_sideways_scroll,
    shot,
    sign_in_applicant,
    sign_in_staff,
    usable_by_everybody,
)
from tests.browser.site import OpenPage, Site
from tests.browser.test_pages_of_accounts import AFTER_A_STEP, ENTRANCE, IN_ACCOUNT
from tests.browser.world import World

pytestmark = pytest.mark.slow

Where = Callable[[World], dict[str, Any]]


def _nothing(_world: World) -> dict[str, Any]:
    return {}


def _problem(_world: World) -> dict[str, Any]:
    return {"slug": "validation-error"}


def _careers(world: World) -> dict[str, Any]:
    return {"slug": world.careers.slug}


def _job(world: World) -> dict[str, Any]:
    return {"job_id": world.job}


def _offer(world: World) -> dict[str, Any]:
    seq = Event.objects.filter(application_id=world.offered.id).latest("seq").seq
    return {"token": make_offer_token(LinkedOffer(world.offered.id, seq))}


def _template(world: World) -> dict[str, Any]:
    return {"template_id": world.template}


def _mine(world: World) -> dict[str, Any]:
    return {"application_id": world.offered.id}


def _reviewed(world: World) -> dict[str, Any]:
    return {"application_id": world.reviewed.id}


def _offered(world: World) -> dict[str, Any]:
    return {"application_id": world.offered.id}


def _theirs(world: World) -> dict[str, Any]:
    return {"application_id": world.waiting.id}


ANYBODY: dict[str, Where] = {
    "openings": _nothing,
    "opening": _job,
    **dict.fromkeys(("job_facts", "job_embed"), _job),
    **dict.fromkeys(("careers", "careers_embed"), _careers),
    "careers_embedded_form": lambda world: {
        "slug": world.careers.slug,
        "job_id": world.careers.job,
    },
    **dict.fromkeys(("privacy", "accessibility", "terms", "language"), _nothing),
    "problems": _nothing,
    "problem": _problem,
    "sign_in": _nothing,
    "confirm_offer": _offer,
    **dict.fromkeys(("account_login", "account_request_login_code"), _nothing),
    **dict.fromkeys(("account_reset_password", "account_signup"), _nothing),
    **dict.fromkeys(("for_companies", "sign_up", "sign_up_asked"), _nothing),
}
# What a page may weigh. Styles and scripts are those of one page, compressed.
# In the dark only colours are others, which tests/house/test_tokens.py compares in each run.
DAYS_OF_DARK = 3
MOST_HTML_BYTES, MOST_PART_BYTES = 60_000, 40_000
STYLES_AND_SCRIPTS, IN_NO_TAB = {"stylesheet", "script"}, {"shortcuts"}
APPLICANT: dict[str, Where] = {
    "dashboard": _nothing,
    "my_application": _mine,
    "my_messages": _mine,
    "check_receipt": _mine,
    "answers_mine": World.ids_of_my_place,
    "answer_mine": lambda world: {"application_id": world.questioned.id},
    "contest_mine": lambda world: {"application_id": world.ended.id},
    **dict.fromkeys(("defer_mine", "preaccept_mine", "pass_mine"), World.ids_of_my_place),
    **dict.fromkeys(("my_places", "my_privacy", "my_receipt", "take_over"), _mine),
    "withdraw_mine": _mine,
    **dict.fromkeys(("my_data", "my_devices", "erase_me"), _nothing),
}
COMPANY: dict[str, Where] = {
    **dict.fromkeys(("company_jobs", "contests", "idle_seats", "new_job"), _nothing),
    "answer_contest": lambda world: world.names_of_contest,
    "what_if": _job,
    **dict.fromkeys(("board", "applications", "job_close", "job_delete"), _job),
    **dict.fromkeys(("job_capacity", "job_hiring", "planned_seats"), _job),
    **dict.fromkeys(("job_form", "form_preview"), _job),
    "edit_question": lambda world: {"job_id": world.job, "key": "town"},
    "add_question": lambda world: {"job_id": world.job, "kind": "NUMBER"},
    "ask_question": _reviewed,
    "add_person": _job,
    "import_applications": _job,
    **dict.fromkeys(("job_settings", "share_job", "keep_template", "job_review"), _job),
    "careers_settings": _nothing,
    "working_hours": _nothing,
    **dict.fromkeys(("company_emails", "email_sender"), _nothing),
    "company_email": lambda _world: {"kind": "offer"},
    **dict.fromkeys(("undo_time", "company_privacy", "company_sources"), _nothing),
    "decisions": _job,
    "extend_offer": _offered,
    "move_ahead": lambda world: {"application_id": world.last_in_line.id},
    "reserved_seats": _job,
    "job_templates": _nothing,
    **dict.fromkeys(("job_template", "delete_template"), _template),
    "application": _theirs,
    "application_messages": _theirs,
    **dict.fromkeys(("job_messages", "write_bulk_message"), _job),
    "message_templates": _nothing,
    "decide": _theirs,
    "decide_many": _job,
    **dict.fromkeys(("go", "shortcuts", "company_settings", "company_reports"), _nothing),
    "reinstate": lambda world: {"application_id": world.missed.id},
    **dict.fromkeys(("people", "talent_pool", "write_to_pool"), _nothing),
    "person": lambda world: {"applicant_id": world.applicant.id},
    **dict.fromkeys(("timeline", "verify_log", "replay", "figures", "reports"), _job),
    "job_sources": _job,
}


def _task(world: World) -> dict[str, Any]:
    return {"task_id": world.work.dead}


def _webhook(world: World) -> dict[str, Any]:
    return {"webhook_id": world.webhooks.endpoint}


def _schedule(world: World) -> dict[str, Any]:
    return {"schedule_id": world.work.schedule}


WORK: dict[str, Where] = {
    "work": _nothing,
    "cancel_matching": _nothing,
    "task": _task,
    "task_edit": _task,
    "task_discard": _task,
    "dead_letters": _nothing,
    "work_types": _nothing,
    "schedules": _nothing,
    "new_schedule": _nothing,
    "edit_schedule": _schedule,
    "end_schedule": _schedule,
    "schedule_history": _schedule,
    "chat": _nothing,
    "new_chat": _nothing,
    "webhooks": _nothing,
    "new_webhook": _nothing,
    "webhook": _webhook,
    "edit_webhook": _webhook,
    "rotate_webhook": _webhook,
    "end_webhook": _webhook,
    "webhook_delivery": lambda world: {
        "webhook_id": world.webhooks.endpoint,
        "delivery_id": world.webhooks.delivery,
    },
}
STAFF: dict[str, Where] = {
    "account": _nothing,
    "account_email": _nothing,
    "account_devices": _nothing,
    "usersessions_list": _nothing,
    "account_set_password": _nothing,
    "account_logout": _nothing,
    "mfa_activate_totp": _nothing,
    "mfa_list_webauthn": _nothing,
    "mfa_add_webauthn": _nothing,
    "team": _nothing,
    "activity": _nothing,
    "invitations": _nothing,
    "identity_provider": _nothing,
    "provisioning": _nothing,
    "job_access": _job,
    "team_member": lambda world: {"membership_id": world.colleague.id},
    "api_keys": _nothing,
    "key_requests": lambda world: {"key_id": world.key.id},
    "revoke_key": lambda world: {"key_id": world.key.id},
    "system": _nothing,
}
ONLY_POSTED_TO = set(
    """
    annotate saved_view apply apply_as change_name change_picture choose_company_emails confirm_mine
    create_sandbox dead_replay dead_ticked
    import_start import_undo job_open job_pause job_retention make_report move_clock
    prepare_export redeliver_webhook redeliver_webhooks report_schedule run_schedule second_step
    send_email_again sign_out switch_company switch_schedule switch_webhook take_offer task_cancel
    add_my_files discard_upload remove_my_file upload_file
    task_replay test_webhook type_pause type_resume undo_decision cancel_planned_seats
    withdraw_question company_email_html test_chat switch_chat sign_on_logout
    withdraw_consent join_pool state_group decide_group
    add_my_device remove_my_device task_run_now reset_sandbox give_scores
    add_account_device remove_account_device
    remove_job_access withdraw_invitation
    try_sign_on require_sign_on remove_identity_provider add_sign_on_domain sign_on_domain
    sign_on_usual_role add_sign_on_group remove_sign_on_group
    end_provisioning_token
    apply_embedded careers_domain careers_logo_settings
    read_messages read_my_messages stop_bulk_message
    """.split()
)
NO_PAGES = set(
    """
    attachment_file my_file
    careers_colours careers_feed careers_logo careers_preview colleague_picture job_picture
    site_feed
    company_report_file company_sources_file job_sources_file
    export favicon import_refused import_sample left_icon manifest my_data_download my_data_archive
    my_deadline_file my_line_log my_receipt_file offer_deadline_file qr_code receipt_keys report_csv
    robots sitemap stored_file service_worker rail_jobs
    """.split()
)
# Pages of the library for accounts that no link leads to, or that have no HTML.
UNUSED_OF_ACCOUNTS = {"mfa_download_recovery_codes", "mfa_index", "mfa_login_webauthn"}
# Pages that another test of this room looks at in the same way: they need something first.
ELSEWHERE = {
    **dict.fromkeys([*ENTRANCE, *IN_ACCOUNT, *AFTER_A_STEP], "test_pages_of_accounts.py"),
    **dict.fromkeys(("dev_mail", "dev_mail_html", "dev_mails", "unsubscribe"), "test_dev_mail.py"),
    "attachment": "test_attachments.py",
    **dict.fromkeys(
        ("sign_on", "begin_sign_on", "sign_on_callback", "sign_on_out"), "test_sign_on.py"
    ),
    "join": "test_colleagues.py",
    **dict.fromkeys(("bulk_message", "message_template"), "test_correspondence.py"),
    **dict.fromkeys(("chat_channel", "edit_chat", "end_chat"), "test_chat.py"),
    "decision": "test_deciding.py",
    "demo_sign_in": "test_three_minutes.py",
    "newest_story_email": "test_three_minutes.py",
    "enter_code": "test_stories.py",
    "gallery": "test_pictures.py",
    "import_result": "test_importing.py",
    "mail_preview": "test_dev_mail.py",
    "mfa_reauthenticate_webauthn": "test_passkeys.py",
    "sign_up_code": "test_signing_up.py",
    "mail_preview_html": "test_dev_mail.py",
    "report": "test_reports.py",
    "sandbox_email": "test_sandbox.py",
    "sandbox_emails": "test_sandbox.py",
    "test_mode": "test_sandbox.py",
}


def test_no_page_is_left_out() -> None:
    seen = {*ANYBODY, *APPLICANT, *COMPANY, *STAFF, *WORK}
    ours = {*_names("pipeline.pages."), *_names("allauth.")}

    assert len(ours) > 40
    left = ours - seen - ONLY_POSTED_TO - NO_PAGES - UNUSED_OF_ACCOUNTS - set(ELSEWHERE)
    assert left == set()
    assert all((Path(__file__).parent / name).exists() for name in ELSEWHERE.values())


def _names(package: str) -> Iterator[str]:
    def walk(patterns: list[Any]) -> Iterator[str]:
        for entry in patterns:
            if isinstance(entry, URLPattern):
                if entry.name and entry.lookup_str.startswith(package):
                    yield entry.name
            else:
                yield from walk(entry.url_patterns)

    return walk(get_resolver().url_patterns)


@pytest.mark.parametrize(
    "group", [ANYBODY, APPLICANT, COMPANY, STAFF, WORK], ids=["1", "2", "3", "4", "5"]
)
def test_every_page_can_be_used_by_everybody(
    browser_page: OpenPage,
    site: Site,
    world: World,
    group: dict[str, Where],
    request: pytest.FixtureRequest,
) -> None:
    page, turn = browser_page(), request.config.option.turn
    # What it kept it would ask for again after a minute, and an answer "not modified" has no size.
    network = page.context.new_cdp_session(page)
    network.send("Network.enable")
    network.send("Network.setCacheDisabled", {"cacheDisabled": True})
    sign_in(page, site, world, group)

    for number, (name, where) in enumerate(group.items()):
        address = reverse(name, kwargs=where(world))
        _is_small(page, address)
        assert page.title().endswith("Next in Line"), address
        assert page.locator("h1").count() == 1, address
        if group in (COMPANY, WORK):
            lit = page.locator(".rail-main [aria-current]").count()
            assert lit == (name not in IN_NO_TAB), address
        assert buttons_of(page) <= PRESSED.keys(), address
        in_the_dark = turn is None or (number + turn) % DAYS_OF_DARK == 0
        usable_by_everybody(page, name, in_the_dark=in_the_dark)


def _is_small(page: Page, address: str) -> None:
    """Open a page, and check the sizes of its HTML and of its styles and scripts, compressed."""
    answers: list[Response] = []

    def keep(answer: Response) -> None:
        answers.extend([answer] if answer.ok else [])

    page.on("response", keep)
    shown = page.goto(address)
    page.remove_listener("response", keep)
    assert shown
    assert len(shown.body()) <= MOST_HTML_BYTES, address
    parts = {each.url: each for each in answers if each.request.resource_type in STYLES_AND_SCRIPTS}
    assert parts, address
    assert sum(len(gzip.compress(each.body())) for each in parts.values()) <= MOST_PART_BYTES, (
        address,
        [*parts],
    )


def sign_in(page: Page, site: Site, world: World, group: dict[str, Where]) -> None:
    who: Applicant | User | None = {
        id(APPLICANT): world.applicant,
        id(COMPANY): world.owner,
        id(STAFF): world.owner,
        id(WORK): world.owner,
    }.get(id(group))
    if isinstance(who, Applicant):
        sign_in_applicant(page.context, site.url, who)
    elif who:
        sign_in_staff(page.context, site.url, who)


def test_jobs_in_every_state_can_be_looked_at(
    browser_page: OpenPage, site: Site, world: World
) -> None:
    page = browser_page()
    sign_in_staff(page.context, site.url, world.owner)

    for state in ("draft", "paused", "closed"):
        for name in ("board", "opening", "timeline", "figures", "replay", "job_settings"):
            address = reverse(name, kwargs={"job_id": getattr(world, state)})
            page.goto(address)
            axe(page)
            shot(page, f"{name}-{state}")
            with narrow(page):
                no_sideways_scroll(page)
