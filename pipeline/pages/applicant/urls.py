"""URLs of the applicants' pages."""

from django.urls import path

from pipeline.pages.applicant import (
    application,
    apply,
    confirm,
    contest,
    dashboard,
    defer,
    dev_mail,
    embed,
    facts,
    my_data,
    my_places,
    my_receipt,
    openings,
    privacy,
    receipt,
    sign_in,
    unsubscribe,
)

_MINE = "me/applications/<uuid:application_id>/"

urlpatterns = [
    path("", openings.openings, name="openings"),
    path("jobs/<uuid:job_id>/", openings.opening_page, name="opening"),
    path("jobs/<uuid:job_id>/apply/", apply.apply, name="apply"),
    path("jobs/<uuid:job_id>/embed/", embed.job_embed, name="job_embed"),
    path("jobs/<uuid:job_id>/facts/", facts.job_facts_page, name="job_facts"),
    path("code/", sign_in.enter_sign_in_code, name="enter_code"),
    path("sign-in/", sign_in.sign_in, name="sign_in"),
    path("sign-out/", sign_in.sign_out, name="sign_out"),
    path("me/", dashboard.dashboard, name="dashboard"),
    path(_MINE, application.my_application, name="my_application"),
    path(f"{_MINE}confirm/", application.confirm_my_application, name="confirm_mine"),
    path(f"{_MINE}not-before/", defer.defer_my_turn, name="defer_mine"),
    path(f"{_MINE}look-again/", contest.contest_my_end, name="contest_mine"),
    path(f"{_MINE}name/", application.take_over_my_application, name="take_over"),
    path(f"{_MINE}receipt/", receipt.check_receipt, name="check_receipt"),
    path(f"{_MINE}signed-receipt/", my_receipt.show_my_receipt, name="my_receipt"),
    path(f"{_MINE}places/", my_places.my_places, name="my_places"),
    path(f"{_MINE}receipt.json", my_receipt.download_my_receipt, name="my_receipt_file"),
    path(f"{_MINE}log.jsonl", my_receipt.download_log_for_my_receipt, name="my_line_log"),
    path(f"{_MINE}withdraw/", application.withdraw_my_application, name="withdraw_mine"),
    path("confirm/", confirm.confirm_by_button, name="take_offer"),
    path("confirm/<str:token>/", confirm.confirm_offer, name="confirm_offer"),
    path("privacy/", privacy.privacy, name="privacy"),
    path("me/data/", my_data.my_data, name="my_data"),
    path("me/data/download/", my_data.download_my_data, name="my_data_download"),
    path("me/data/erase/", my_data.erase_my_data, name="erase_me"),
    path("dev/mail/", dev_mail.dev_mails, name="dev_mails"),
    path("dev/mail/previews/<slug:kind>/", dev_mail.dev_mail_preview, name="mail_preview"),
    path(
        "dev/mail/previews/<slug:kind>/html/",
        dev_mail.dev_mail_preview_html,
        name="mail_preview_html",
    ),
    path("dev/mail/<str:name>/", dev_mail.dev_mail, name="dev_mail"),
    path("dev/mail/<str:name>/html/", dev_mail.dev_mail_html, name="dev_mail_html"),
    path("unsubscribe/<str:token>/", unsubscribe.unsubscribe, name="unsubscribe"),
]
