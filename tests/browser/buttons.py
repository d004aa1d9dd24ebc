"""Tests by the URL whose button they press: every form of every page is listed."""

from __future__ import annotations

from urllib.parse import urlsplit

from django.urls import resolve
from playwright.sync_api import Page, expect

STORIES = "test_stories.py"
PASSKEYS = "test_passkeys.py"
DEAD = "test_a_dead_letter_is_looked_into_edited_and_replayed"
TEMPLATES = "test_a_template_is_kept_used_renamed_and_deleted"
WEBHOOKS = "test_an_endpoint_is_added_tested_rotated_switched_and_deleted"
OWN_WORDS = "test_a_company_writes_its_own_words_and_signs_with_its_name"
MESSAGES = "test_a_template_is_added_used_and_deleted"
TO_SEVERAL = "test_several_people_are_written_to_and_it_is_stopped"
PRESSED = {
    "account_login": STORIES,
    "account_logout": "test_staff_sign_in_by_a_code_and_sign_out",
    "account_request_login_code": "test_staff_sign_in_by_a_code_and_sign_out",
    "account_confirm_login_code": "test_staff_sign_in_by_a_code_and_sign_out",
    "account_reset_password": "test_a_forgotten_password",
    "account_email": "test_an_address_is_changed",
    "account_change_password": "test_a_password_is_changed",
    "account_set_password": "test_a_first_password_is_chosen",
    "account_reauthenticate": PASSKEYS,
    "language": "test_a_language_is_chosen_at_the_foot_of_a_page",
    "mfa_login_webauthn": PASSKEYS,
    "mfa_activate_totp": "test_an_authenticator_app_is_added",
    "mfa_add_webauthn": PASSKEYS,
    "add_person": STORIES,
    **dict.fromkeys(("add_my_files", "remove_my_file"), "test_a_cv_is_added_read_and_removed"),
    **dict.fromkeys(("message_templates", "message_template"), MESSAGES),
    "application_messages": MESSAGES,
    "read_messages": "test_an_applicants_message_is_read_and_marked",
    **dict.fromkeys(("my_messages", "read_my_messages"), "test_an_applicant_reads_and_answers"),
    **dict.fromkeys(("write_bulk_message", "stop_bulk_message"), TO_SEVERAL),
    **dict.fromkeys(
        ("join_pool", "write_to_pool"), "test_a_person_agrees_to_hear_of_jobs_is_told_and_stops_it"
    ),
    "api_keys": "test_keys_are_made_and_revoked",
    **dict.fromkeys(
        ("job_access", "remove_job_access"), "test_a_colleague_gets_one_job_and_loses_it"
    ),
    **dict.fromkeys(
        ("invitations", "withdraw_invitation", "join"), "test_a_link_is_made_used_and_withdrawn"
    ),
    **dict.fromkeys(
        (
            *("identity_provider", "try_sign_on", "require_sign_on", "remove_identity_provider"),
            *("add_sign_on_domain", "sign_on_domain", "sign_on_usual_role", "add_sign_on_group"),
            *("remove_sign_on_group", "sign_on"),
        ),
        "test_an_owner_sets_single_sign_on_up_and_members_use_it",
    ),
    **dict.fromkeys(
        ("provisioning", "end_provisioning_token"), "test_an_owner_makes_a_token_and_ends_it"
    ),
    "activity": "test_a_colleague_gets_one_job_and_loses_it",
    "apply": STORIES,
    "check_receipt": "test_a_receipt_is_checked",
    "apply_as": "test_the_steps_of_the_readme_take_three_minutes",
    "add_my_device": "test_notifications_are_switched_on_shown_opened_and_off",
    "remove_my_device": "test_notifications_are_switched_on_shown_opened_and_off",
    "add_account_device": "test_a_member_switches_notifications_on_and_off",
    "remove_account_device": "test_a_member_switches_notifications_on_and_off",
    "contest_mine": "test_an_end_is_looked_at_again",
    "answer_contest": "test_an_end_is_looked_at_again",
    "job_form": "test_a_form_is_built_answered_and_asked_further",
    "add_question": "test_a_form_is_built_answered_and_asked_further",
    "edit_question": "test_a_form_is_built_answered_and_asked_further",
    "ask_question": "test_a_form_is_built_answered_and_asked_further",
    "withdraw_question": "test_a_form_is_built_answered_and_asked_further",
    "answers_mine": "test_answers_are_changed_and_a_question_is_answered",
    "answer_mine": "test_answers_are_changed_and_a_question_is_answered",
    "defer_mine": "test_an_applicant_wants_no_seat_before_a_date",
    "preaccept_mine": "test_an_applicant_says_yes_in_advance",
    "pass_mine": "test_an_applicant_passes_the_next_turn",
    "demo_sign_in": "test_the_steps_of_the_readme_take_three_minutes",
    "change_name": "test_a_member_says_their_name",
    "change_picture": "test_a_member_shows_a_picture_and_removes_it",
    "sign_up": "test_a_company_begins_with_its_first_job",
    "sign_up_code": "test_a_company_begins_with_its_first_job",
    "choose_company_emails": "test_a_member_chooses_their_emails",
    "confirm_mine": STORIES,
    "dead_ticked": "test_dead_letters_are_replayed_all_at_once_and_discarded",
    "run_schedule": "test_a_schedule_is_made_changed_switched_off_and_deleted",
    "dead_replay": "test_dead_letters_are_replayed_all_at_once_and_discarded",
    "decide": STORIES,
    "job_review": "test_a_review_is_set_up",
    "working_hours": "test_a_review_is_set_up",
    "give_scores": "test_a_reviewer_gives_scores_and_goes_to_the_next_person",
    "annotate": "test_notes_tags_and_links_are_added",
    "saved_view": "test_a_view_is_saved",
    "decide_many": "test_several_people_are_decided_on_and_it_is_undone",
    "undo_decision": "test_decisions_are_undone_where_people_are",
    **dict.fromkeys(("company_email", "company_email_html", "email_sender"), OWN_WORDS),
    "company_privacy": "test_a_company_publishes_its_notice_and_a_person_takes_a_consent_back",
    "withdraw_consent": "test_a_company_publishes_its_notice_and_a_person_takes_a_consent_back",
    "undo_time": "test_the_time_to_undo_is_chosen_and_a_person_gets_more_time",
    "extend_offer": "test_the_time_to_undo_is_chosen_and_a_person_gets_more_time",
    "edit_schedule": "test_a_schedule_is_made_changed_switched_off_and_deleted",
    **dict.fromkeys(
        ("new_chat", "edit_chat", "end_chat", "switch_chat", "test_chat"),
        "test_an_owner_connects_a_channel",
    ),
    "edit_webhook": WEBHOOKS,
    "end_schedule": "test_a_schedule_is_made_changed_switched_off_and_deleted",
    "end_webhook": WEBHOOKS,
    "enter_code": STORIES,
    "erase_me": "test_an_applicant_erases_themselves",
    "import_start": "test_a_file_is_checked_imported_and_undone",
    "import_undo": "test_a_file_is_checked_imported_and_undone",
    "import_applications": "test_a_file_is_imported_and_the_page_follows",
    **dict.fromkeys(("keep_template", "job_template", "delete_template"), TEMPLATES),
    "apply_embedded": "test_a_company_shows_its_jobs_and_the_form_in_a_frame_on_its_own_site",
    **dict.fromkeys(
        ("careers_domain", "careers_logo_settings", "careers_settings"),
        "test_an_owner_publishes_a_page",
    ),
    "job_capacity": "test_seats_are_changed",
    "job_hiring": "test_positions_and_a_closing_date_are_saved",
    "planned_seats": "test_seats_are_planned_and_cancelled",
    "cancel_planned_seats": "test_seats_are_planned_and_cancelled",
    "job_close": STORIES,
    "job_delete": "test_a_draft_is_deleted",
    "job_open": "test_a_draft_is_opened",
    "job_pause": STORIES,
    "job_retention": "test_retention_is_saved",
    "job_settings": "test_settings_are_saved",
    "make_report": "test_a_report_is_made_read_and_made_every_monday",
    "new_job": STORIES,
    "new_schedule": "test_a_schedule_is_made_changed_switched_off_and_deleted",
    "new_webhook": WEBHOOKS,
    "prepare_export": "test_a_long_log_is_prepared_and_taken_away",
    "redeliver_webhook": WEBHOOKS,
    "redeliver_webhooks": WEBHOOKS,
    "reinstate": "test_a_place_is_given_back",
    "reserved_seats": "test_a_seat_is_reserved_stated_and_confirmed",
    "state_group": "test_a_seat_is_reserved_stated_and_confirmed",
    "decide_group": "test_a_seat_is_reserved_stated_and_confirmed",
    "move_ahead": "test_a_person_is_moved_to_the_front",
    "report_schedule": "test_a_report_is_made_read_and_made_every_monday",
    "revoke_key": "test_keys_are_made_and_revoked",
    "rotate_webhook": WEBHOOKS,
    "second_step": "test_a_second_step_is_required_and_made_optional",
    "send_email_again": "test_an_email_is_sent_again",
    "sign_in": "test_an_applicant_signs_in_with_a_second_code_and_out",
    "sign_out": "test_an_applicant_signs_in_with_a_second_code_and_out",
    "switch_company": "test_somebody_acts_for_another_company",
    "switch_schedule": "test_a_schedule_is_made_changed_switched_off_and_deleted",
    "switch_webhook": WEBHOOKS,
    "system": "test_a_log_is_verified_from_the_system_page",
    "take_offer": STORIES,
    "take_over": "test_an_applicant_changes_their_name",
    "cancel_matching": "test_all_tasks_that_match_are_cancelled_after_a_question",
    "task_cancel": "test_a_task_is_started_seen_moving_and_cancelled",
    "task_discard": "test_dead_letters_are_replayed_all_at_once_and_discarded",
    "task_edit": DEAD,
    "task_replay": DEAD,
    "team": "test_the_team_grows_changes_and_shrinks",
    "team_member": "test_the_team_grows_changes_and_shrinks",
    "test_webhook": WEBHOOKS,
    "unsubscribe": "test_reminders_end_by_a_button",
    "usersessions_list": "test_other_sessions_are_ended",
    "type_pause": "test_a_type_is_paused_and_resumed",
    "type_resume": "test_a_type_is_paused_and_resumed",
    "verify_log": STORIES,
    "what_if": "test_other_rules_are_tried_on_the_past",
    "withdraw_mine": STORIES,
    "work": "test_a_task_is_started_seen_moving_and_cancelled",
}


def shows(page: Page, text: str) -> None:
    """Wait until the page's content has the text."""
    expect(page.locator("#main")).to_contain_text(text)


def buttons_of(page: Page) -> set[str]:
    """The names of the addresses to which the page's forms are posted."""
    actions = page.evaluate(
        "() => [...document.querySelectorAll('form[method=post]')].map(f => f.action)"
    )
    return {str(resolve(urlsplit(action).path).url_name) for action in actions}
