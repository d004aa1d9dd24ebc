"""URLs of the applicants' pages."""

from django.urls import path

from pipeline.pages.applicant import (
    application,
    confirm,
    data,
    facts,
    home,
    openings,
    sign_in,
    wishes,
)

_MINE = "me/applications/<uuid:application_id>/"

urlpatterns = [
    path("", openings.index, name="openings"),
    path("jobs/<uuid:job_id>/", openings.show, name="opening"),
    path("jobs/<uuid:job_id>/apply/", openings.apply, name="apply"),
    path("jobs/<uuid:job_id>/embed/", facts.show_box, name="job_embed"),
    path("jobs/<uuid:job_id>/facts/", facts.show, name="job_facts"),
    path("code/", sign_in.enter_code, name="enter_code"),
    path("sign-in/", sign_in.ask_address, name="sign_in"),
    path("sign-out/", sign_in.sign_out, name="sign_out"),
    path("me/", home.dashboard, name="dashboard"),
    path(_MINE, application.show, name="my_application"),
    path(f"{_MINE}confirm/", application.confirm, name="confirm_mine"),
    path(f"{_MINE}not-before/", wishes.save_deferral_wish, name="defer_mine"),
    path(f"{_MINE}pass/", wishes.pass_my_turn, name="pass_mine"),
    path(f"{_MINE}yes/", wishes.save_acceptance_wish, name="preaccept_mine"),
    path(f"{_MINE}look-again/", application.ask_to_look_again, name="contest_mine"),
    path(f"{_MINE}name/", application.take_over, name="take_over"),
    path(f"{_MINE}receipt/", data.check_receipt, name="check_receipt"),
    path(f"{_MINE}signed-receipt/", data.show_my_receipt, name="my_receipt"),
    path(f"{_MINE}places/", data.my_places, name="my_places"),
    path(f"{_MINE}receipt.json", data.download_my_receipt, name="my_receipt_file"),
    path(f"{_MINE}log.jsonl", data.download_receipt_log, name="my_line_log"),
    path(f"{_MINE}deadline.ics", application.download_deadline, name="my_deadline_file"),
    path(f"{_MINE}withdraw/", application.withdraw_seat, name="withdraw_mine"),
    path("confirm/", confirm.answer, name="take_offer"),
    path("confirm/<str:token>/", confirm.show, name="confirm_offer"),
    path(
        "confirm/<str:token>/deadline.ics",
        application.download_linked_deadline,
        name="offer_deadline_file",
    ),
    path("privacy/", home.privacy, name="privacy"),
    path("me/data/", data.show, name="my_data"),
    path("me/data/download/", data.download, name="my_data_download"),
    path("me/data/erase/", data.erase, name="erase_me"),
    path("me/devices/", home.my_devices, name="my_devices"),
    path("me/devices/add/", home.add_my_device, name="add_my_device"),
    path("me/devices/<uuid:device_id>/remove/", home.remove_my_device, name="remove_my_device"),
    path("dev/mail/", home.dev_mails, name="dev_mails"),
    path("dev/mail/previews/<slug:kind>/", home.dev_mail_preview, name="mail_preview"),
    path(
        "dev/mail/previews/<slug:kind>/html/",
        home.dev_mail_preview_html,
        name="mail_preview_html",
    ),
    path("dev/mail/<str:name>/", home.dev_mail, name="dev_mail"),
    path("dev/mail/<str:name>/html/", home.dev_mail_html, name="dev_mail_html"),
    path("unsubscribe/<str:token>/", home.unsubscribe, name="unsubscribe"),
]
